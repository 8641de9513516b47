"""The journal of a match: complete lines, one writer, and errors of the disk."""

from __future__ import annotations

import dataclasses
import errno
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spielleiter.common.errors import JournalError
from spielleiter.match.records import JOURNAL, SETUP, Journal, load_setup, open_journal, read_journal, save_setup
from tests.match.sample_records import game as make_game

RECORD = make_game(3)

GAMES = [dataclasses.replace(RECORD, game=game) for game in (2, 1, 3)]


def write(folder: Path, text: str) -> None:
    (folder / JOURNAL).write_text(text, encoding="utf-8")


def line(game: int) -> str:
    return json.dumps(dataclasses.replace(RECORD, game=game).to_json()) + "\n"


def test_appended_records_are_there_when_the_journal_is_opened_again(tmp_path: Path) -> None:
    for record in GAMES:
        with open_journal(tmp_path) as journal:
            journal.append(record)
    with open_journal(tmp_path) as journal:
        assert list(journal.records.items()) == [(record.game, record) for record in GAMES]
    assert read_journal(tmp_path) == tuple(sorted(GAMES, key=lambda record: record.game))


def test_a_record_is_in_the_file_at_once(tmp_path: Path) -> None:
    with open_journal(tmp_path) as journal:
        journal.append(RECORD)
        assert read_journal(tmp_path) == (RECORD,)


@pytest.mark.parametrize("torn", ['{"game": 7', "{", "\x00\x00", line(7)[:-1]])
def test_an_incomplete_last_line_is_removed(torn: str, tmp_path: Path) -> None:
    write(tmp_path, line(1) + torn)
    assert [record.game for record in read_journal(tmp_path)] == [1]
    with open_journal(tmp_path) as journal:
        assert list(journal.records) == [1]
        journal.append(dataclasses.replace(RECORD, game=2))
    assert [record.game for record in read_journal(tmp_path)] == [1, 2]


def test_no_game_is_counted_twice(tmp_path: Path) -> None:
    with open_journal(tmp_path) as journal:
        journal.append(RECORD)
        with pytest.raises(JournalError, match="game 3 is in the journal already"):
            journal.append(RECORD)
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
            journal.append(RECORD)
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
        Journal(file, {}, b"").append(RECORD)


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
        journal.append(dataclasses.replace(RECORD, game=1))
    with open_journal(tmp_path) as journal:
        journal.append(dataclasses.replace(RECORD, game=2))
        before = (tmp_path / JOURNAL).read_bytes()
        tamper(tmp_path / JOURNAL)
    assert journal.was_restored
    assert (tmp_path / JOURNAL).read_bytes() == before
    with open_journal(tmp_path) as journal:
        assert list(journal.records) == [1, 2]
    assert not journal.was_restored
