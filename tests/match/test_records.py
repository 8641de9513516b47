"""The record of a game, the journal and the file with the setup."""

from __future__ import annotations

import dataclasses
import errno
import io
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
    Journal,
    RecordError,
    load_setup,
    mirrored,
    open_journal,
    read_journal,
    save_setup,
)
from spielleiter.match.verdict import (
    BAD_MESSAGE_VERDICTS,
    CRASH_VERDICTS,
    ILLEGAL_VERDICTS,
    LEFTOVER_VERDICTS,
    TIMEOUT_VERDICTS,
    UNCOUNTED_VERDICTS,
    VERDICTS,
    Verdict,
)
from tests.match.sample_records import game as make_game

RECORD = GameRecord(
    game=3,
    pair=2,
    game_type="swc_2021_blokus",
    seed=17,
    start="PENTO_L",
    seats=(1, 0),
    names=("new", "old"),
    verdict=Verdict.REGULAR,
    offender=None,
    reason="",
    winner=0,
    is_counted=True,
    points=(70, 65),
    causes=("REGULAR", "REGULAR"),
    plies=84,
    think_times=((0.01, 0.02), (0.5,)),
    cpu_seconds=(1.5, 2.0),
    wall_seconds=3.25,
    started_at="2026-01-02T03:04:05+00:00",
    folder="games/0003",
    replay="replay.xml.gz",
)
_seconds = st.floats(0, 1e6)
_two_times = st.tuples(st.lists(_seconds, max_size=3).map(tuple), st.lists(_seconds, max_size=3).map(tuple))


@settings(deadline=None, max_examples=50)
@given(
    name=st.text(max_size=20),
    winner=st.none() | st.integers(0, 1),
    points=st.tuples(st.none() | st.integers(), st.none() | st.integers()),
    think_times=_two_times,
    start=st.none() | st.text(max_size=10),
    is_counted=st.booleans(),
)
def test_a_record_survives_json(name: str, **changes: Any) -> None:
    record = dataclasses.replace(RECORD, names=(name, "old"), reason=name, **changes)
    assert GameRecord.from_json(json.loads(json.dumps(record.to_json()))) == record


def test_integers_are_accepted_for_seconds() -> None:
    value = {**RECORD.to_json(), "wall_seconds": 3, "cpu_seconds": [1, 2], "think_times": [[1], []]}
    record = GameRecord.from_json(value)
    assert (record.wall_seconds, record.cpu_seconds) == (3.0, (1.0, 2.0))
    assert [list(times) for times in record.think_times] == [[1.0], []]


HAS_DEFAULT: dict[str, object] = {
    field.name: field.default for field in dataclasses.fields(GameRecord) if field.default is not dataclasses.MISSING
} | {"attempts": ({}, {})}
"""Keys that are missing in journals of earlier versions."""


@pytest.mark.parametrize(
    "key", [field.name for field in dataclasses.fields(GameRecord) if field.name not in HAS_DEFAULT]
)
def test_every_key_is_required(key: str) -> None:
    value = RECORD.to_json()
    del value[key]
    with pytest.raises(RecordError, match=key):
        GameRecord.from_json(value)


@pytest.mark.parametrize("key", HAS_DEFAULT)
def test_a_journal_of_an_earlier_version_can_be_read(key: str) -> None:
    value = RECORD.to_json()
    del value[key]
    assert getattr(GameRecord.from_json(value), key) == HAS_DEFAULT[key]


@pytest.mark.parametrize("key", [field.name for field in dataclasses.fields(GameRecord)])
def test_no_field_accepts_an_object(key: str) -> None:
    with pytest.raises(RecordError):
        GameRecord.from_json({**RECORD.to_json(), key: {}})


@pytest.mark.parametrize(
    "change",
    [
        {"game": True},
        {"wall_seconds": True},
        {"is_counted": 1},
        {"seats": [0]},
        {"seats": [0, 1, 0]},
        {"points": [1]},
        {"think_times": [[1.0], ["x"]]},
        {"cpu_seconds": "ab"},
        {"names": ["one", 2]},
    ],
)
def test_values_of_other_types_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(RecordError, match="not the record of a game"):
        GameRecord.from_json({**RECORD.to_json(), **change})


@pytest.mark.parametrize("value", [None, 3, [], "record"])
def test_a_record_must_be_an_object(value: Any) -> None:
    with pytest.raises(RecordError):
        GameRecord.from_json(value)


def test_a_draw_is_a_counted_game_without_a_winner() -> None:
    assert not RECORD.is_draw
    assert dataclasses.replace(RECORD, winner=None).is_draw
    assert not dataclasses.replace(RECORD, winner=None, is_counted=False).is_draw


def test_each_fault_belongs_to_one_column() -> None:
    columns = [CRASH_VERDICTS, TIMEOUT_VERDICTS, ILLEGAL_VERDICTS, BAD_MESSAGE_VERDICTS, LEFTOVER_VERDICTS]
    assert sum(len(column) for column in columns) == len(frozenset().union(*columns))
    costless = UNCOUNTED_VERDICTS | {Verdict.REGULAR}
    assert frozenset().union(*columns) == set(VERDICTS) - costless


@given(
    winner=st.none() | st.integers(0, 1),
    offender=st.none() | st.integers(0, 1),
    seats=st.permutations((0, 1)),
    times=_two_times,
    counts=st.tuples(*[st.dictionaries(st.text(max_size=3), st.integers(1, 9), max_size=2)] * 2),
)
def test_the_mirrored_record_is_that_of_the_match_in_the_other_order(
    winner: int | None, offender: int | None, seats: list[int], times: Any, counts: Any
) -> None:
    record = dataclasses.replace(
        RECORD,
        winner=winner,
        offender=offender,
        seats=(seats[0], seats[1]),
        think_times=times,
        attempts=counts,
        remarks=(("one",), ()),
        exit_codes=(1, None),
        program_starts=(0.5, None),
    )
    other = mirrored(record)
    assert mirrored(other) == record
    for field in dataclasses.fields(record):
        own, mirror = getattr(record, field.name), getattr(other, field.name)
        if field.name == "seats":
            # each program, by its name, sits where it sat
            assert [other.names[program] for program in mirror] == [record.names[program] for program in own]
        elif field.name in {"winner", "offender"}:
            named = [
                None if program is None else names[program]
                for program, names in zip((own, mirror), (record.names, other.names), strict=True)
            ]
            assert named[0] == named[1]
        elif isinstance(own, tuple):
            assert mirror == own[::-1]
        else:
            assert mirror == own


RECORD_JOURNAL = make_game(3)
GAMES = [dataclasses.replace(RECORD_JOURNAL, game=game) for game in (2, 1, 3)]


def write(folder: Path, text: str) -> None:
    (folder / JOURNAL).write_text(text, encoding="utf-8")


def line(game: int) -> str:
    return json.dumps(dataclasses.replace(RECORD_JOURNAL, game=game).to_json()) + "\n"


def test_appended_records_are_there_when_the_journal_is_opened_again(tmp_path: Path) -> None:
    for record in GAMES:
        with open_journal(tmp_path) as journal:
            journal.append(record)
    with open_journal(tmp_path) as journal:
        assert list(journal.records.items()) == [(record.game, record) for record in GAMES]
    assert read_journal(tmp_path) == tuple(sorted(GAMES, key=lambda record: record.game))


def test_a_record_is_in_the_file_at_once(tmp_path: Path) -> None:
    with open_journal(tmp_path) as journal:
        journal.append(RECORD_JOURNAL)
        assert read_journal(tmp_path) == (RECORD_JOURNAL,)


@pytest.mark.parametrize("torn", ['{"game": 7', "{", "\x00\x00", line(7)[:-1]])
def test_an_incomplete_last_line_is_removed(torn: str, tmp_path: Path) -> None:
    write(tmp_path, line(1) + torn)
    assert [record.game for record in read_journal(tmp_path)] == [1]
    with open_journal(tmp_path) as journal:
        assert list(journal.records) == [1]
        journal.append(dataclasses.replace(RECORD_JOURNAL, game=2))
    assert [record.game for record in read_journal(tmp_path)] == [1, 2]


def test_no_game_is_counted_twice(tmp_path: Path) -> None:
    with open_journal(tmp_path) as journal:
        journal.append(RECORD_JOURNAL)
        with pytest.raises(JournalError, match="game 3 is in the journal already"):
            journal.append(RECORD_JOURNAL)
    write(tmp_path, line(1) + line(1))
    with pytest.raises(JournalError, match=r"games.jsonl:2: game 1 is there twice"):
        read_journal(tmp_path)


@pytest.mark.parametrize("broken", ["{}\n", "oh\n", "[]\n", "\n", "[" * 100_000 + "\n"])
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


def test_an_unusable_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(JournalError, match="cannot be opened"), open_journal(tmp_path / "file"):
        pass
    with pytest.raises(JournalError, match="cannot be read"):
        read_journal(tmp_path / "nothing")
    with pytest.raises(JournalError, match="cannot be written"):
        save_setup(tmp_path / "file" / "below", {})


def test_errors_raised_while_the_journal_is_open_are_not_taken_for_its_own(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), open_journal(tmp_path):
        (tmp_path / "nothing").read_text()


def test_a_full_disk_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left")

    with open_journal(tmp_path) as journal:
        monkeypatch.setattr("os.fsync", fail)
        with pytest.raises(JournalError, match=r"cannot be written \(No space left\)"):
            journal.append(RECORD_JOURNAL)
        assert journal.records == {}


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
    tmp_path: Path, limit_files: Callable[[int | None], None]
) -> None:
    first, second, third = GAMES
    with open_journal(tmp_path) as journal:
        journal.append(first)
        length = (tmp_path / JOURNAL).stat().st_size
        limit_files(length + 10)
        with pytest.raises(JournalError, match="cannot be written"):
            journal.append(second)
        limit_files(None)
        assert (tmp_path / JOURNAL).stat().st_size == length
        journal.append(third)
        journal.append(second)
    assert read_journal(tmp_path) == tuple(sorted(GAMES, key=lambda record: record.game))


def test_an_incomplete_line_is_removed_before_the_next_record_at_the_latest(
    tmp_path: Path, limit_files: Callable[[int | None], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_journal(tmp_path) as journal:
        with monkeypatch.context() as patched:
            patched.setattr(Journal, "_cut", lambda _journal: None)
            limit_files(10)
            with pytest.raises(JournalError, match="cannot be written"):
                journal.append(GAMES[0])
            limit_files(None)
        assert (tmp_path / JOURNAL).stat().st_size == 10
        journal.append(GAMES[1])
    assert read_journal(tmp_path) == (GAMES[1],)


def test_a_file_that_accepts_no_bytes_is_reported(tmp_path: Path) -> None:
    class Full(io.FileIO):
        def write(self, _data: object) -> int:
            return 0

    with Full(tmp_path / JOURNAL, "w") as file, pytest.raises(JournalError, match="No space left"):
        Journal(file, {}, b"").append(RECORD_JOURNAL)


def test_a_setup_can_be_loaded_and_is_never_overwritten(tmp_path: Path) -> None:
    save_setup(tmp_path / "new", {"games": 4, "name": "Größe"})
    assert load_setup(tmp_path / "new") == {"games": 4, "name": "Größe"}
    with pytest.raises(JournalError, match="holds a match already"):
        save_setup(tmp_path / "new", {})


@pytest.mark.parametrize(
    ("content", "problem"), [(None, "is there a match"), ("{", "match.json"), ("[]", "not the setup")]
)
def test_an_invalid_setup_is_reported(content: str | None, problem: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / SETUP).write_text(content)
    with pytest.raises(JournalError, match=problem):
        load_setup(tmp_path)


@pytest.mark.parametrize(
    "tamper",
    [
        lambda path: path.write_text(line(1).replace('"winner": 0', '"winner": 1')),
        lambda path: path.write_text(""),
        lambda path: path.unlink(),
        lambda path: path.write_text(path.read_text() + line(9)),
        lambda path: path.rename(path.with_name("gone")) and path.write_text(line(9)),
    ],
    ids=["changed", "emptied", "removed", "extended", "replaced"],
)
def test_what_another_program_changes_during_the_match_is_undone(
    tamper: Callable[[Path], object], tmp_path: Path
) -> None:
    with open_journal(tmp_path) as journal:
        journal.append(dataclasses.replace(RECORD_JOURNAL, game=1))
    with open_journal(tmp_path) as journal:
        journal.append(dataclasses.replace(RECORD_JOURNAL, game=2))
        before = (tmp_path / JOURNAL).read_bytes()
        tamper(tmp_path / JOURNAL)
    assert journal.was_restored
    assert (tmp_path / JOURNAL).read_bytes() == before
    with open_journal(tmp_path) as journal:
        assert list(journal.records) == [1, 2]
    assert not journal.was_restored
