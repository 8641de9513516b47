"""Every fault is named by its own code, and a sound package raises no alarm."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from spielleiter.match.packages.faults import FAULTS, Level
from spielleiter.match.packages.inspection import Inspection, inspect_package
from tests.match.packages.broken_packages import BROKEN, SOUND, Sample
from tests.match.packages.making import BOT, shell, zipped
from tests.timeouts import HANG_TIMEOUT


def inspect(folder: Path, sample: Sample) -> Inspection:
    path = folder / "player.zip"
    path.write_bytes(sample.content)
    return inspect_package(path, sample.main)


LARGE = {"too many files", "ZIP bomb", "ZIP bomb of smaller files"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in LARGE else ()) for name in BROKEN]
)
def test_a_planted_fault_is_found_and_no_other(name: str, tmp_path: Path) -> None:
    sample = BROKEN[name]
    inspection = inspect(tmp_path, sample)
    assert [each.code for each in inspection.findings] == [sample.code], inspection.findings
    (finding,) = inspection.findings
    assert finding.level is FAULTS[sample.code].level
    assert finding.text.isprintable()
    assert "{" not in finding.text
    assert inspection.is_startable == (finding.level is not Level.RED)


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_package_raises_no_alarm(name: str, tmp_path: Path) -> None:
    inspection = inspect(tmp_path, SOUND[name])
    assert inspection.findings == ()
    assert inspection.main is not None
    assert inspection.is_startable


def test_there_is_a_broken_package_for_every_fault() -> None:
    made_elsewhere = {"unreadable-file", "too-large", "uninspectable"}
    assert {each.code for each in BROKEN.values()} == set(FAULTS) - made_elsewhere


@pytest.mark.parametrize("error", [RecursionError("too deep"), MemoryError(), KeyError("x")])
def test_whatever_goes_wrong_is_a_finding(error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("spielleiter.match.packages.inspection.choose_main", fail)
    (tmp_path / "player.zip").write_bytes(zipped(BOT))
    [finding] = inspect_package(tmp_path / "player.zip").findings
    assert (finding.code, finding.level) == ("uninspectable", Level.RED)
    assert type(error).__name__ in finding.text


@pytest.mark.parametrize(
    "body",
    [
        "a=x\n" + "a=$a$a\n" * 60 + "$a",
        "a=x\n" + "a=$a$a\n" * 16 + "$a" * 50_000,
        "env " * 60_000,
        "./a;" * 60_000,
        "$(" * 60_000,
    ],
    ids=["doubling", "repeating", "wrappers", "commands", "nesting"],
)
def test_a_script_that_expands_endlessly_takes_limited_time_and_memory(body: str, tmp_path: Path) -> None:
    folders = {f"folder{number}/": "" for number in range(15_000)}
    (tmp_path / "player.zip").write_bytes(shell(body, folders))
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31));"
        "from pathlib import Path; from spielleiter.match.packages.inspection import inspect_package;"
        "started = sum(resource.getrusage(resource.RUSAGE_SELF)[:2]);"
        "print([each.code for each in inspect_package(Path(sys.argv[1])).findings if each.code == 'uninspectable']);"
        "assert sum(resource.getrusage(resource.RUSAGE_SELF)[:2]) - started < 20"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "player.zip")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_TIMEOUT, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")
