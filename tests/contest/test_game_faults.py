"""Findings from the records of games."""

from __future__ import annotations

from pathlib import Path

import pytest

from spielleiter.contest.contest_conditions import CODE_OF_VERDICT, FAULTS, fault
from spielleiter.contest.package_games import (
    affects_game,
    game_findings,
    is_machines_fault,
    merged,
    size_text,
    was_delayed,
)
from spielleiter.match.referee import output_files
from spielleiter.match.verdict import UNCOUNTED_VERDICTS, VERDICTS, Verdict
from spielleiter.programs.machine_delay import AnswerTimes
from spielleiter.programs.sandbox.run import Observations
from tests.match.sample_records import fault as faulty
from tests.match.sample_records import game

TITLE = "game 1 as first player"


def test_every_verdict_is_a_fault_the_machines_or_none() -> None:
    assert set(CODE_OF_VERDICT) == set(VERDICTS) - UNCOUNTED_VERDICTS - {Verdict.REGULAR}
    assert set(CODE_OF_VERDICT.values()) <= set(FAULTS)


@pytest.mark.parametrize("verdict", sorted(CODE_OF_VERDICT))
def test_a_verdict_gives_one_finding_with_its_reason(verdict: str, tmp_path: Path) -> None:
    record = faulty(1, 0, verdict, reason="because\x1b of that")
    [finding] = game_findings(record, None, TITLE, tmp_path / "upload-test")
    assert finding.code == CODE_OF_VERDICT[verdict]
    assert finding.text.startswith(f"{TITLE}: ")
    assert r"because\x1b of that" in finding.text
    assert finding.file == f"upload-test/{record.folder}"


@pytest.mark.parametrize("verdict", sorted(UNCOUNTED_VERDICTS))
def test_faults_of_the_machine_are_none_of_the_program(verdict: str, tmp_path: Path) -> None:
    record = game(1, None, verdict=verdict, is_counted=False)
    assert is_machines_fault(record)
    assert game_findings(record, None, TITLE, tmp_path) == ()


def test_a_fault_of_the_opponent_says_nothing_about_the_program(tmp_path: Path) -> None:
    record = faulty(1, 1, Verdict.CRASH)
    assert is_machines_fault(record)
    assert game_findings(record, None, TITLE, tmp_path) == ()
    assert not is_machines_fault(game(1))


def test_what_the_sandbox_observed_explains_a_crash(tmp_path: Path) -> None:
    record = faulty(1, 0, Verdict.CRASH, reason="ended by signal 9")
    memory = Observations("none", peak_memory=2 * 2**30, exceeded_memory=True)
    window = Observations("none", window_attempts=("Error: cannot open display: ",))
    assert [each.code for each in game_findings(record, memory, TITLE, tmp_path)] == ["too-much-memory"]
    assert "2.00 GB" in game_findings(record, memory, TITLE, tmp_path)[0].text
    assert [each.code for each in game_findings(record, window, TITLE, tmp_path)] == ["needs-window"]
    assert [each.code for each in game_findings(record, Observations("none"), TITLE, tmp_path)] == ["crash"]


WHEEL = "ERROR: socha-5.1.0-cp312-cp312-manylinux1_x86_64.whl is not a supported wheel on this platform."


@pytest.mark.parametrize(
    ("line", "code", "text"),
    [
        (WHEEL, "wheel-for-other-python", "--image python:3.12, or build it again with the version of that image"),
        (WHEEL.replace("312", "311"), "does-not-start", "game 1 as first player"),  # a wheel for another system
        (WHEEL.replace("socha", "s" * 5000), "does-not-start", "game 1 as first player"),
        ("SyntaxError: invalid syntax", "other-python", "not valid for Python 3.11.7, which the check used"),
        ("ModuleNotFoundError: No module named 'Book'", "other-spelling", "looks for Book, but the ZIP has book.py"),
        ("ModuleNotFoundError: No module named 'numpy'", "missing-when-run", "neither in the ZIP nor in the image"),
    ],
)
def test_the_last_words_name_what_to_do(line: str, code: str, text: str, tmp_path: Path) -> None:
    record = faulty(1, 0, Verdict.NO_START, reason="ended with exit code 1")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "book.py").touch()
    _, error = output_files(tmp_path / record.folder, 0)
    error.parent.mkdir(parents=True)
    error.write_text(f"    0.010  {line}\n")
    [finding] = game_findings(
        record, None, TITLE, tmp_path, program_folder=tmp_path / "package", python="Python 3.11.7"
    )
    assert finding.code == code
    assert text in finding.text


@pytest.mark.parametrize(
    ("verdict", "offender", "answers", "is_delayed"),
    [
        (Verdict.TIMEOUT, 0, [AnswerTimes(0.1, 0.1), AnswerTimes(2.05, 0.01, waited=0.12)], True),  # it sleeps 1.9 s
        (Verdict.TIMEOUT, 0, [AnswerTimes(2.05, 2.0, waited=0.02)], False),  # as on an idle machine
        (Verdict.TIMEOUT, 0, [AnswerTimes(2.5, 2.2, waited=0.3)], False),  # too slow without waiting, too
        (Verdict.TIMEOUT, 0, [], False),
        (Verdict.TIMEOUT, 1, [AnswerTimes(2.05, 0.01, waited=0.12)], False),
        (Verdict.ILLEGAL_MOVE, 0, [AnswerTimes(2.05, 0.01, waited=0.12)], False),
    ],
)
def test_a_late_answer_of_a_program_that_had_to_wait_says_nothing(
    verdict: str, offender: int, answers: list[AnswerTimes], is_delayed: bool
) -> None:
    assert was_delayed(faulty(1, offender, verdict), answers, limit=2.0) == is_delayed


def test_only_the_end_does_not_affect_the_game() -> None:
    assert affects_game(fault("crash", game=TITLE, reason="x"))
    assert affects_game(fault("needs-input", reason="x"))
    assert not affects_game(fault("does-not-end", game=TITLE, reason="x"))


def test_equal_faults_are_merged() -> None:
    one, two = (fault("crash", game=f"game {number}", reason="x") for number in (1, 2))
    other = fault("does-not-end", game="game 1", reason="y")
    assert merged([]) == ()
    assert merged([one, other]) == (one, other)
    first, second = merged([one, other, two])
    assert first.text == f"{one.text}; the same happened once more"
    assert second == other
    assert merged([one, two, two])[0].text.endswith("; the same happened 2 more times")


@pytest.mark.parametrize(
    ("size", "text"),
    [(1, "1 byte"), (1023, "1023 bytes"), (2048, "2 kB"), (5 * 2**20, "5 MB"), (1536 * 2**20, "1.50 GB")],
)
def test_sizes_are_readable(size: int, text: str) -> None:
    assert size_text(size) == text
