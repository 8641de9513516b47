"""The audit of a match finds wrong records and damaged files."""

from __future__ import annotations

import dataclasses
import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from spielleiter.match.game_folder import REPLAY, WIRE_LOG
from spielleiter.match.plan import Entrant
from spielleiter.match.records import GameRecord, open_journal
from spielleiter.match.referee import VERDICT, play_game
from tests.interpreter import PYTHON
from tests.match.audit import check_game, check_match
from tests.match.setups import lenient_setup
from tests.timeouts import HANG_TIMEOUT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def match(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A match of a program and a player without a connection; both games are played to their end."""
    folder = tmp_path_factory.mktemp("match")

    async def play() -> None:
        setup = lenient_setup(
            folder, Entrant("new", f"{PYTHON} -m spielleiter play -s first"), Entrant("old", "builtin:random")
        )
        with open_journal(folder) as journal, trio.fail_after(HANG_TIMEOUT):
            for planned in setup.plan():
                journal.append(await play_game(setup, planned, folder))

    trio.run(play)
    return folder


def records(folder: Path) -> Iterator[GameRecord]:
    for line in (folder / "games.jsonl").read_text(encoding="utf-8").splitlines():
        yield GameRecord.from_json(json.loads(line))


def test_every_record_is_exact(match: Path) -> None:
    assert check_match(match) == {"regular": 2}


def one_more(times: tuple[float, ...]) -> tuple[float, ...]:
    return (*times, 0.001)


@pytest.mark.parametrize(
    "change",
    [
        lambda record: {"plies": record.plies + 1},
        lambda record: {"winner": 1 - record.winner},
        lambda record: {"winner": None},
        lambda record: {"points": record.points[::-1]},
        lambda _record: {"causes": ("REGULAR", "LEFT")},
        lambda record: {"think_times": (one_more(record.think_times[0]), record.think_times[1])},
        lambda record: {"names": record.names[::-1]},
    ],
    ids=["plies", "winner", "draw", "points", "causes", "think times", "names"],
)
def test_a_wrong_record_is_found(change: Callable[[GameRecord], dict[str, Any]], match: Path) -> None:
    record = next(records(match))
    wrong = dataclasses.replace(record, **change(record))
    verdict = match / record.folder / VERDICT
    before = verdict.read_bytes()
    try:
        verdict.write_text(json.dumps(wrong.to_json()), encoding="utf-8")
        with pytest.raises((AssertionError, ValueError)):
            check_game(match, wrong)
    finally:
        verdict.write_bytes(before)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        (REPLAY, lambda data: data.replace(b"</protocol>", data[data.rindex(b"<room") :], 1)),
        (REPLAY, lambda data: data[: data.index(b"<room", 5000)] + data[data.index(b"<room", 20000) :]),
        (WIRE_LOG, lambda data: data[: data.rindex(b"\n--- ", 0, data.rindex(b'"result"'))]),
    ],
    ids=["the result twice", "a position less", "a piece less"],
)
def test_a_damaged_file_is_found(name: str, damage: Callable[[bytes], bytes], match: Path) -> None:
    record = next(records(match))
    path = match / record.folder / name
    before = path.read_bytes()
    try:
        path.write_bytes(gzip.compress(damage(gzip.decompress(before))))
        with pytest.raises((AssertionError, ValueError)):
            check_game(match, record)
    finally:
        path.write_bytes(before)
