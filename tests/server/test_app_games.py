"""Complete games over real sockets: how they proceed and end, observers, replays, and the seed."""

from __future__ import annotations

import itertools
import os
import random
import re
import socket
import stat
import sys
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pytest
import trio

from spielleiter.client.player import GameEnd, GameReport
from spielleiter.game.api import State
from spielleiter.game.blokus.moves import SkipMove
from spielleiter.game.blokus.state import BLOKUS_2021
from spielleiter.protocol.connection import Connection, Role, StreamEnd
from spielleiter.protocol.messages import (
    Cause,
    ErrorMessage,
    Left,
    Memento,
    Message,
    MoveData,
    Observed,
    Prepared,
    Result,
    RoomMessage,
)
from spielleiter.server import archive
from spielleiter.server.app import Server
from tests.server.harness import END, GAME_TYPE, START, open_harness, packet
from tests.server.net.test_wire import read_late
from tests.server.serving import DIALECT, Serving, files_in, replays_in, serving
from tests.timeouts import retry_with_longer_limits


async def play_game(harness: Serving, first: str, second: str) -> tuple[list[GameReport], bytes, list[Any]]:
    """Play a prepared and observed game; return the players' reports, the observer's bytes and events."""
    received = bytearray()
    reports: dict[str, GameReport] = {}
    async with harness.admin(tap=received.extend) as admin:
        room = await admin.prepare(GAME_TYPE, ["Eins", "Zwei"])
        observation = await admin.observe(room.room_id)
        async with trio.open_nursery() as players:
            for code, strategy in zip(room.reservations, (first, second), strict=True):
                players.start_soon(harness.play, code, strategy, reports)
            seen = [event async for event in observation]
    return [reports[code] for code in room.reservations], bytes(received), seen


def start_state(start_piece: str = "PENTO_U") -> State:
    return BLOKUS_2021.with_options({"startPiece": start_piece}).new_state(random.Random(0))


# -- an observer's bytes ----------------------------------------------------------------------------------------------


def messages_of(stream: bytes) -> list[Message]:
    connection = Connection(Role.CLIENT, DIALECT)
    connection.receive_data(stream)
    messages: list[Message] = []
    while not isinstance(event := connection.next_event(), StreamEnd):
        assert event is not None
        messages.append(event)  # type: ignore[arg-type]
    return messages


@pytest.mark.slow
async def test_an_observer_receives_a_whole_game_of_two_built_in_players() -> None:
    async with serving(start_piece="PENTO_L") as harness:
        reports, received, seen = await play_game(harness, "greedy", "random")
    assert [report.end for report in reports] == [GameEnd.RESULT] * 2
    assert [report.cause for report in reports] == [Cause.REGULAR] * 2
    assert reports[0].result == reports[1].result == seen[-1]
    assert reports[0].state == reports[1].state == seen[-2].state

    states = [event.state for event in seen[:-1]]
    assert states[0].turn == 0
    assert len(states) == 1 + sum(report.moves_played for report in reports)
    assert all(before.turn < after.turn for before, after in itertools.pairwise(states))

    messages = messages_of(received)
    assert received == START + b"".join(DIALECT.encode(message) for message in messages) + END
    prepared, observed, *room_messages, result, left = messages
    assert isinstance(prepared, Prepared)
    room_id = prepared.room_id or ""
    assert (observed, left) == (Observed(room_id), Left(room_id))
    assert [*room_messages, result] == [RoomMessage(room_id, event) for event in seen]


# -- misbehaviour and time --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("strategy", "settings", "cause"),
    [
        ("slow", {"soft_timeout": 0.05}, Cause.SOFT_TIMEOUT),  # it answers after 80 ms
        ("silent", {"hard_timeout": 0.05}, Cause.HARD_TIMEOUT),
        ("crash", {}, Cause.LEFT),
        ("garbage", {}, Cause.LEFT),
        ("illegal", {}, Cause.RULE_VIOLATION),
    ],
)
async def test_a_player_that_misbehaves_loses_and_everybody_is_told_why(
    strategy: str, settings: dict[str, Any], cause: Cause
) -> None:
    async with serving(**settings) as harness:
        (offender, other), _, seen = await play_game(harness, strategy, "first")
    assert other.has_won
    assert other.result == seen[-1]
    assert [score.cause for score in seen[-1].scores] == [cause, Cause.REGULAR]
    assert [score.parts[0] for score in seen[-1].scores] == [0, 2]
    assert (offender.end is GameEnd.ABANDONED) == (strategy == "crash")
    assert any(isinstance(event, ErrorMessage) for event in seen) == (strategy == "illegal")
    assert (offender.errors != ()) == (strategy in ("illegal", "garbage"))
    for verdict in harness.logged("time_verdict"):
        assert verdict["source"] == ("kernel" if sys.platform == "linux" and strategy == "slow" else "monotonic")
        assert (verdict["limit"], verdict["is_hard"], verdict["seat"]) == (0.05, strategy == "silent", 0)
        assert verdict["think_time"] >= (0.08 if strategy == "slow" else 0.05)
        assert verdict["loop_lag"] >= 0
    assert len(harness.logged("time_verdict")) == (strategy in ("slow", "silent"))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux stamps what arrives on a TCP socket")
async def test_a_busy_server_loses_nobody_a_game(monkeypatch: pytest.MonkeyPatch) -> None:
    await retry_with_longer_limits(partial(_answer_a_busy_server, monkeypatch), 0.2)


async def _answer_a_busy_server(monkeypatch: pytest.MonkeyPatch, limit: float) -> None:
    """The answer arrives in time, while the server is busy, and is read only after the limit."""
    accepted: list[socket.socket] = []
    admit = Server.admit

    def note(server: Server, sock: socket.socket, address: tuple[str, int], sessions: trio.Nursery) -> None:
        accepted.append(sock)
        admit(server, sock, address, sessions)

    monkeypatch.setattr(Server, "admit", note)
    async with serving(soft_timeout=limit, start_piece="PENTO_U") as harness, harness.admin() as admin:
        room = await admin.prepare(GAME_TYPE, ["Eins", "Zwei"])
        async with await harness.connect() as one, await harness.connect() as two:
            for stream, code in zip((one, two), room.reservations, strict=True):
                await stream.send_all(f'<protocol><joinPrepared reservationCode="{code}"/>'.encode())
            received = b""
            while b"MoveRequest" not in received:
                received += await one.receive_some()
            move = next(iter(start_state().generate_legal_moves()))
            os.write(one.socket.fileno(), packet(RoomMessage(room.room_id, MoveData(move))))
            read_late(accepted[1], 1.25 * limit)  # the server runs in the same thread, so it has not run since
            while b'turn="1"' not in received and b"TIMEOUT" not in received:
                received += await one.receive_some()
    assert b"TIMEOUT" not in received


# -- replays ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_a_replay_is_written_and_can_be_started_from(tmp_path: Path) -> None:
    async with serving(replay_directory=tmp_path / "replays") as harness:
        _, _, seen = await play_game(harness, "random", "random")
    (path,) = replays_in(tmp_path / "replays")
    assert re.fullmatch(rf"replay_{GAME_TYPE}_\d{{4}}-\d\d-\d\d_\d\d-\d\d-\d\d_Eins_Zwei\.xml", path.name)
    assert [line["path"] for line in harness.logged("replay_saved")] == [str(path)]
    content = path.read_bytes()
    assert messages_of(content) == [RoomMessage(harness.logged("game_ended")[0]["room"], event) for event in seen]
    state = seen[20].state
    async with serving(load_game_file=path, turn=state.turn) as harness:
        _, _, seen = await play_game(harness, "first", "first")
    assert seen[0] == Memento(state, ("Eins", "Zwei"))
    assert isinstance(seen[-1], Result)


@pytest.mark.parametrize("error", [OSError("disk full"), RuntimeError("a bug")])
async def test_a_replay_that_cannot_be_written_is_reported_without_other_effects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object) -> NoReturn:
        raise error

    monkeypatch.setattr(archive, "save_replay", fail)
    async with serving(replay_directory=tmp_path) as harness:
        for _ in range(2):
            reports, _, _ = await play_game(harness, "crash", "first")
            assert reports[1].has_won
    assert [line["error"] for line in harness.logged("replay_failed")] == [str(error)] * 2
    assert files_in(tmp_path) == [tmp_path / ".lock", tmp_path / "results.jsonl"]


# -- random sources ---------------------------------------------------------------------------------------------------


async def heard_with(seed: int) -> list[bytes]:
    """Return everything that is sent to an administrator and the players of a prepared and a joined game."""
    async with open_harness(seed=seed, seeds_ids=True, start_piece=None, soft_timeout=1e6, hard_timeout=1e6) as harness:
        admin = await harness.admin()
        room_id, codes = await harness.prepare(admin)
        await admin.send(f'<observe roomId="{room_id}"/>')
        callers = [admin, *[await harness.take_seat(code) for code in codes]]
        for _ in range(2):
            caller = await harness.call()
            await caller.send(f'<protocol><join gameType="{GAME_TYPE}"/>')
            callers.append(caller)
        for index, room in enumerate(harness.server.lobby.rooms.values()):
            players = callers[1 + 2 * index : 3 + 2 * index]
            for ply in range(6):
                move = next(iter(room.state.generate_legal_moves())) if ply < 4 else SkipMove(None)
                await players[room.state.seat_on_turn].send(packet(RoomMessage(room.id, MoveData(move))))
        await admin.send(f'<cancel roomId="{room_id}"/>')
        return [await caller.receive() for caller in callers]


async def test_the_same_seed_and_the_same_moves_give_the_same_bytes(autojump_clock: object) -> None:
    first = await heard_with(7)
    assert all(first)
    assert await heard_with(7) == first
    assert await heard_with(8) != first


def modes_of_files_with(secrets: list[bytes], folder: Path) -> dict[str, int]:
    """Return the permissions of the files in which one of `secrets` is, by the name of their folder."""
    return {
        path.parent.name: stat.S_IMODE(path.stat().st_mode)
        for path in folder.rglob("*")
        if path.is_file() and any(secret in path.read_bytes() for secret in secrets)
    }


@pytest.mark.skipif(os.name == "nt", reason="Windows has other rights")
async def test_only_the_owner_can_read_the_files_that_have_reservation_codes(tmp_path: Path) -> None:
    reports: dict[str, GameReport] = {}
    results = tmp_path / "results.jsonl"
    async with serving(
        replay_directory=tmp_path / "replays", results_file=results, trace_directory=tmp_path / "traces"
    ) as harness:
        async with harness.admin() as admin:
            room = await admin.prepare(GAME_TYPE, ["Eins", "Zwei"])
        async with trio.open_nursery() as players:
            for code in room.reservations:
                players.start_soon(harness.play, code, "random", reports)
        while not harness.logged("replay_saved"):  # noqa: ASYNC110 - the log has no event
            await trio.sleep(0.01)
    secrets = [code.encode() for code in room.reservations]
    assert not any(secret in harness.log.getvalue().encode() for secret in secrets)
    assert modes_of_files_with(secrets, tmp_path) == {"traces": 0o600}
    assert results.stat().st_size > 0
