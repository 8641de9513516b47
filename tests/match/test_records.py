"""The record of a game, the journal and the file with the setup."""

from __future__ import annotations

import dataclasses
import errno
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spielleiter.common.errors import JournalError
from spielleiter.match.records import (
    JOURNAL,
    SETUP,
    GameRecord,
    RecordError,
    load_setup,
    mirrored,
    open_journal,
    read_journal,
    save_setup,
)
from tests.match.sample_records import game

RECORD = game(3, remarks=(("one",), ()), exit_codes=(1, None), program_starts=(0.5, None))
_seconds = st.floats(0, 1e6)
_two_times = st.tuples(st.lists(_seconds, max_size=3).map(tuple), st.lists(_seconds, max_size=3).map(tuple))


@settings(max_examples=50)
@given(
    name=st.text(max_size=20),
    winner=st.none() | st.integers(0, 1),
    offender=st.none() | st.integers(0, 1),
    seats=st.sampled_from([(0, 1), (1, 0)]),
    points=st.tuples(st.none() | st.integers(), st.none() | st.integers()),
    think_times=_two_times,
    start=st.none() | st.text(max_size=10),
    is_counted=st.booleans(),
    attempts=st.tuples(*[st.dictionaries(st.text(max_size=3), st.integers(1, 9), max_size=2)] * 2),
)
def test_a_record_survives_json_and_is_the_same_game_if_it_is_mirrored(name: str, **changes: Any) -> None:
    record = dataclasses.replace(RECORD, names=(name, "old"), reason=name, **changes)
    assert GameRecord.from_json(json.loads(json.dumps(record.to_json()))) == record
    assert record.is_draw == (record.is_counted and record.winner is None)
    other = mirrored(record)
    assert mirrored(other) == record
    for field in dataclasses.fields(record):
        own, mirror = getattr(record, field.name), getattr(other, field.name)
        if field.name == "seats":  # each program sits where it sat
            assert mirror == (1 - own[0], 1 - own[1])
        elif field.name in {"winner", "offender"}:
            assert mirror == {None: None, 0: 1, 1: 0}[own]
        else:
            assert mirror == (own[::-1] if isinstance(own, tuple) else own)


HAS_DEFAULT: dict[str, object] = {
    field.name: field.default for field in dataclasses.fields(GameRecord) if field.default is not dataclasses.MISSING
} | {"attempts": ({}, {}), "figures": ({}, {})}
"""Keys that are missing in journals of earlier versions."""


@pytest.mark.parametrize("key", [field.name for field in dataclasses.fields(GameRecord)])
def test_every_key_is_required_except_those_that_earlier_versions_did_not_have(key: str) -> None:
    value = RECORD.to_json()
    with pytest.raises(RecordError):
        GameRecord.from_json({**value, key: {}})
    del value[key]
    if key in HAS_DEFAULT:
        assert getattr(GameRecord.from_json(value), key) == HAS_DEFAULT[key]
    else:
        with pytest.raises(RecordError, match=key):
            GameRecord.from_json(value)


@pytest.mark.parametrize(
    "change",
    [
        {"game": True},
        {"is_counted": 1},
        {"seats": [0, 1, 0]},
        {"think_times": [[1.0], ["x"]]},
        {"cpu_seconds": "ab"},
    ],
)
def test_values_of_other_types_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(RecordError, match="not the record of a game"):
        GameRecord.from_json({**RECORD.to_json(), **change})


def test_integers_are_accepted_for_seconds() -> None:
    record = GameRecord.from_json({**RECORD.to_json(), "cpu_seconds": [1, 2], "think_times": [[1], []]})
    assert record.cpu_seconds == (1.0, 2.0)
    assert [list(times) for times in record.think_times] == [[1.0], []]


# -- the journal ------------------------------------------------------------------------------------------------------

GAMES = [dataclasses.replace(RECORD, game=number) for number in (2, 1, 3)]
SORTED = (GAMES[1], GAMES[0], GAMES[2])


def write(folder: Path, text: str) -> None:
    (folder / JOURNAL).write_text(text, encoding="utf-8")


def line(number: int) -> str:
    return json.dumps(dataclasses.replace(RECORD, game=number).to_json()) + "\n"


def test_appended_records_are_in_the_file_at_once_and_when_it_is_opened_again(tmp_path: Path) -> None:
    for record in GAMES:
        with open_journal(tmp_path) as journal:
            journal.extend([record])
            assert record in read_journal(tmp_path)
    with open_journal(tmp_path) as journal:
        assert list(journal.records.items()) == [(record.game, record) for record in GAMES]
    assert read_journal(tmp_path) == SORTED


@pytest.mark.parametrize("torn", ['{"game": 7', "\x00\x00", line(7)[:-1]])
def test_an_incomplete_last_line_is_removed(torn: str, tmp_path: Path) -> None:
    write(tmp_path, line(1) + torn)
    assert [record.game for record in read_journal(tmp_path)] == [1]
    with open_journal(tmp_path) as journal:
        assert list(journal.records) == [1]
        journal.extend([GAMES[0]])
    assert [record.game for record in read_journal(tmp_path)] == [1, 2]


def test_no_game_is_counted_twice(tmp_path: Path) -> None:
    with open_journal(tmp_path) as journal:
        journal.extend([RECORD])
        with pytest.raises(JournalError, match="game 3 is in the journal already"):
            journal.extend([RECORD])
    write(tmp_path, line(1) + line(1))
    with pytest.raises(JournalError, match=r"games.jsonl:2: game 1 is there twice"):
        read_journal(tmp_path)


@pytest.mark.parametrize("broken", ["{}\n", "oh\n", "\n", "[" * 100_000 + "\n"])
def test_an_invalid_line_is_reported_with_its_number(broken: str, tmp_path: Path) -> None:
    write(tmp_path, line(1) + broken + line(2))
    with pytest.raises(JournalError, match=r"games\.jsonl:2: "), open_journal(tmp_path):
        pass


def test_two_matches_cannot_share_a_folder(tmp_path: Path) -> None:
    second = open_journal(tmp_path)
    with open_journal(tmp_path), pytest.raises(JournalError, match="another match is being played"):
        second.__enter__()
    with open_journal(tmp_path):
        pass


def test_an_unusable_folder_is_reported_and_other_errors_are_not_taken_for_it(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(JournalError, match="cannot be opened"), open_journal(tmp_path / "file"):
        pass
    with pytest.raises(JournalError, match="cannot be read"):
        read_journal(tmp_path / "nothing")
    with pytest.raises(JournalError, match="cannot be written"):
        save_setup(tmp_path / "file" / "below", {})
    with pytest.raises(FileNotFoundError), open_journal(tmp_path):
        (tmp_path / "nothing").read_text()


@pytest.fixture
def limit_files() -> Iterator[Callable[[int | None], None]]:
    """A function that limits the size of files, as a full disk does: the part of a line that fits is written."""
    resource = pytest.importorskip("resource", reason="Windows has no such limits")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(size: int | None) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, before if size is None else (size, before[1]))

    yield limit
    limit(None)


def test_a_record_is_not_appended_to_an_incomplete_line(
    tmp_path: Path, limit_files: Callable[[int | None], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = GAMES
    with open_journal(tmp_path) as journal:
        journal.extend([first])
        length = (tmp_path / JOURNAL).stat().st_size
        limit_files(length + 10)
        with pytest.raises(JournalError, match="cannot be written"):
            journal.extend([second])
        limit_files(None)
        assert (tmp_path / JOURNAL).stat().st_size == length
        with (tmp_path / JOURNAL).open("a") as file:  # as if the part could not be removed then
            file.write('{"game": 7')
        journal.extend([third])

        def fail(_handle: int) -> None:
            raise OSError(errno.ENOSPC, "No space left")

        with monkeypatch.context() as patched:
            patched.setattr("os.fsync", fail)
            with pytest.raises(JournalError, match=r"cannot be written \(No space left"):
                journal.extend([second])
        assert list(journal.records) == [2, 3]
        journal.extend([second])
    assert read_journal(tmp_path) == SORTED


@pytest.mark.parametrize(
    "tamper",
    [
        lambda path: path.write_text(line(1).replace('"winner": 0', '"winner": 1')),
        lambda path: path.unlink(),
        lambda path: path.write_text(path.read_text() + line(9)),
        lambda path: path.rename(path.with_name("gone")) and path.write_text(line(9)),
    ],
    ids=["changed", "removed", "extended", "replaced"],
)
def test_what_another_program_changes_during_the_match_is_undone(
    tamper: Callable[[Path], object], tmp_path: Path
) -> None:
    with open_journal(tmp_path) as journal:
        journal.extend([dataclasses.replace(RECORD, game=1)])
    with open_journal(tmp_path) as journal:
        journal.extend([dataclasses.replace(RECORD, game=2)])
        before = (tmp_path / JOURNAL).read_bytes()
        tamper(tmp_path / JOURNAL)
    assert journal.was_restored
    assert (tmp_path / JOURNAL).read_bytes() == before
    with open_journal(tmp_path) as journal:
        assert list(journal.records) == [1, 2]
    assert not journal.was_restored


# -- the setup --------------------------------------------------------------------------------------------------------


def test_a_setup_can_be_loaded_and_is_never_overwritten(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    save_setup(folder, {"games": 4, "name": "Größe"})
    assert load_setup(folder) == {"games": 4, "name": "Größe"}
    with pytest.raises(JournalError, match="holds a match already"):
        save_setup(folder, {})


@pytest.mark.parametrize(
    ("content", "problem"), [(None, "is there a match"), ("{", "match.json"), ("[]", "not the setup")]
)
def test_an_invalid_setup_is_reported(content: str | None, problem: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / SETUP).write_text(content)
    with pytest.raises(JournalError, match=problem):
        load_setup(tmp_path)
