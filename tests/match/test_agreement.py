"""The files of a game agree: its record, its replay, its logs, and the results and replays of the server."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any, Final

import pytest
import trio

from spielleiter.match.game_folder import REPLAY, SERVER_LOG, WIRE_LOG
from spielleiter.match.match_server import open_match_server
from spielleiter.match.plan import Entrant, MatchSetup, ProgramTimeouts
from spielleiter.match.records import GameRecord, open_journal, read_journal
from spielleiter.match.referee import VERDICT, play_game
from spielleiter.match.verdict import Verdict
from spielleiter.protocol.connection import Connection, Role
from spielleiter.protocol.messages import Memento, Result, RoomData, RoomMessage
from spielleiter.server.app import RESULTS_NAME
from spielleiter.server.core.policy import Edition
from spielleiter.server.editions import EDITIONS
from tests.interpreter import PYTHON
from tests.match.setups import lenient_setup
from tests.protocol.streams import all_events
from tests.timeouts import HANG_TIMEOUT

_ENTRY: Final = re.compile(rb"--- [0-9.]+ program ([12]) ([<>]) ([0-9]+)(?:, the first ([0-9]+) as above)?")


_known: dict[tuple[str, bytes, tuple[str, ...]], list[bytes]] = {}
"""The packets of each game that was played again by the rules, by edition, last position and moves."""


def check_game(folder: Path, record: GameRecord) -> None:
    """Assert that the record of a finished game agrees with the game's files."""
    game_folder = folder / record.folder
    assert json.loads((game_folder / VERDICT).read_text(encoding="utf-8")) == record.to_json()
    events = [json.loads(line) for line in _unpacked(game_folder / SERVER_LOG).decode().splitlines()]
    (ended,) = (event for event in events if event["event"] == "game_ended")
    moves = [event for event in events if event["event"] == "move_played"]
    _check_events(record, moves, ended)
    edition = EDITIONS[ended["edition"]]
    data = room_data(_unpacked(game_folder / REPLAY), edition)
    _check_replay(record, moves, data, edition)
    _check_wire(record, _unpacked(game_folder / WIRE_LOG), ended["room"], edition)


def room_data(replay: bytes, edition: Edition) -> list[RoomData]:
    """Return the room packets of a replay."""
    events = all_events(Connection(Role.CLIENT, edition.dialect), iter([replay]))
    return [event.data for event in events if isinstance(event, RoomMessage) and event.data is not None]


def _unpacked(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


def _check_events(record: GameRecord, moves: list[dict[str, Any]], ended: dict[str, Any]) -> None:
    assert [move["ply"] for move in moves] == list(range(record.plies))
    assert ended["plies"] == record.plies
    for seat, program in enumerate(record.seats):
        times = record.think_times[program]
        played = [move["think_time"] for move in moves if move["seat"] == seat]
        # the last request may have no answer, or one that was refused
        assert played == list(times[: len(played)])
        assert len(times) - len(played) == (record.offender == program)
        assert ended["names"][seat] == record.names[program]
        assert ended["causes"][seat] == record.causes[program]
        assert ended["parts"][seat][1] == record.points[program]
    winners = [record.seats[seat] for seat in ended["winners"]]
    assert winners == ([0, 1] if record.winner is None else [record.winner])


def _check_replay(record: GameRecord, moves: list[dict[str, Any]], data: list[RoomData], edition: Edition) -> None:
    positions = [each.state for each in data if isinstance(each, Memento)]
    results = [each for each in data if isinstance(each, Result)]
    assert len(positions) == record.plies + 1
    assert results == [data[-1]]
    assert [record.seats[seat] for seat in results[0].winners] == ([0, 1] if record.winner is None else [record.winner])
    assert [score.cause.value for score in results[0].scores] == [record.causes[program] for program in record.seats]
    assert [score.parts[1] for score in results[0].scores] == [record.points[program] for program in record.seats]
    logged_moves = [move["move"] for move in moves]
    assert len(logged_moves) == record.plies
    key = edition.name, edition.dialect.encode(RoomMessage("", data[-2])), tuple(logged_moves)
    if key in _known:  # programs with scripted moves play the same game repeatedly
        assert _known[key] == [edition.dialect.encode(RoomMessage("", each)) for each in data[:-1]]
        return
    _known[key] = [edition.dialect.encode(RoomMessage("", each)) for each in data[:-1]]
    state = edition.game.resume(positions[0])
    for position, text in zip(positions[1:], logged_moves, strict=True):
        assert state.outcome() is None
        (move,) = (each for each in state.generate_legal_moves() if str(each) == text)
        state = state.play(move)
        assert edition.dialect.encode(RoomMessage("", Memento(state))) == edition.dialect.encode(
            RoomMessage("", Memento(edition.game.resume(position)))
        )
    assert (state.outcome() is not None) == (record.offender is None)


def _check_wire(record: GameRecord, log: bytes, room: str, edition: Edition) -> None:
    """Assert that every program with a connection was sent each position, the result and each request once."""
    for program in (0, 1):
        sent = _sent(log, program)
        if not sent:  # a built-in player has no connection
            continue
        assert room.encode() in sent
        data = room_data(sent, edition)
        assert sum(isinstance(each, Memento) for each in data) == record.plies + 1
        assert sum(isinstance(each, Result) for each in data) == 1
        requests = sum(type(each).__name__ == "MoveRequest" for each in data)
        assert requests == len(record.think_times[program])


def _sent(log: bytes, program: int) -> bytes:
    """Return all bytes that the server has sent to `program`."""
    sent, previous, position = [], b"", 1
    while found := _ENTRY.match(log, position):
        number, direction, length, shared = found.groups()
        rest = int(length) - int(shared or 0)
        piece = previous[: int(shared or 0)] + log[found.end() + 1 : found.end() + 1 + rest]
        assert len(piece) == int(length)
        previous, position = piece, found.end() + 1 + rest + 1
        if direction == b"<" and int(number) == program + 1:
            sent.append(piece)
    assert position >= len(log)
    return b"".join(sent)


PLAYERS = {
    "a whole game": ("builtin:greedy", "builtin:random"),
    "an illegal move": ("builtin:random", "builtin:illegal"),
}


@pytest.mark.slow
@pytest.mark.parametrize("players", PLAYERS.values(), ids=PLAYERS)
@pytest.mark.parametrize("edition", EDITIONS.values(), ids=EDITIONS)
async def test_record_replay_and_the_servers_results_agree(
    edition: Edition, players: tuple[str, str], tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    setup = MatchSetup(
        entrants=(Entrant("new", players[0]), Entrant("old", players[1])),
        game_type=edition.game_type,
        edition=edition.name,
        games=2,
        seed=1,
        run_id=str(tmp_path),
        timeouts=ProgramTimeouts(start=HANG_TIMEOUT, exit=HANG_TIMEOUT, game=HANG_TIMEOUT),
        server_options={"replay_directory": kept, "soft_timeout": HANG_TIMEOUT, "hard_timeout": HANG_TIMEOUT},
    )
    with trio.fail_after(HANG_TIMEOUT):
        async with open_match_server(setup) as match_server:
            records = [await play_game(setup, planned, tmp_path, match_server=match_server) for planned in setup.plan()]
    lines = [json.loads(line) for line in (kept / RESULTS_NAME).read_text().splitlines()]
    assert len(lines) == len(records) == 2
    for record, line in zip(records, lines, strict=True):
        folder = tmp_path / record.folder
        assert json.loads((folder / VERDICT).read_text()) == record.to_json()
        by_seat = list(record.seats)
        assert line["edition"] == edition.name
        assert line["names"] == [record.names[program] for program in by_seat]
        assert line["plies"] == record.plies
        assert record.plies > 0 or record.offender is not None
        assert line["think_times"] == [list(record.think_times[program]) for program in by_seat]
        assert line["causes"] == [record.causes[program] for program in by_seat]
        assert [parts[1] for parts in line["parts"]] == [record.points[program] for program in by_seat]
        winners = [by_seat[seat] for seat in line["winners"]]
        assert winners == ([0, 1] if record.winner is None else [record.winner])
        replay, own_replay = gzip.decompress((folder / REPLAY).read_bytes()), (kept / line["replay"]).read_bytes()
        assert own_replay.replace(line["room"].encode(), b"") == replay.replace(b"\n  ", b"\n")
        assert len(re.findall(rb"<protocol", replay)) == 1
        data = room_data(replay, edition)
        assert [type(each) for each in data].count(Memento) == record.plies + 1
        assert [type(each) for each in data].count(Result) == 1
        assert isinstance(data[-1], Result)
        requests = sum(len(times) for times in record.think_times)
        assert requests == record.plies + (record.offender is not None)


@pytest.mark.slow
async def test_every_record_is_exact(tmp_path: Path) -> None:
    """A match of a program and a player without a connection; both games are played to their end."""
    setup = lenient_setup(
        tmp_path, Entrant("new", f"{PYTHON} -m spielleiter play -s first"), Entrant("old", "builtin:random")
    )
    with open_journal(tmp_path) as journal, trio.fail_after(HANG_TIMEOUT):
        for planned in setup.plan():
            journal.append(await play_game(setup, planned, tmp_path))
    records = read_journal(tmp_path)
    assert [record.game for record in records] == [1, 2]
    for record in records:
        check_game(tmp_path, record)
        assert record.verdict == Verdict.REGULAR
