from __future__ import annotations

import random
import shlex
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from client.editions import DEFAULT_GAME_TYPE
from match.processes import find_processes
from match.program import Command
from match.stage import Stage, SurpriseError, in_fragments, in_one_piece, open_stage, with_unknown_elements
from protocol.connection import Connection, Role
from protocol.messages import Memento, MoveData, RoomMessage
from server.editions import choose_editions
from tests.patience import PATIENCE

EDITION = choose_editions({}, {})[DEFAULT_GAME_TYPE]
STATE = EDITION.game.new_state(random.Random(1))
POSITION = EDITION.dialect.encode(RoomMessage("room", Memento(STATE, ("Größe", "<b>"))))


@given(data=st.binary(max_size=400), seed=st.integers(0, 5), cut=st.sampled_from([in_one_piece, in_fragments]))
def test_whatever_is_cut_up_is_whole_together(data: bytes, seed: int, cut: Any) -> None:
    assert b"".join(cut(data, random.Random(seed))) == data


def test_fragments_cut_tags_apart() -> None:
    pieces = in_fragments(POSITION, random.Random(1))
    assert len(pieces) > 60
    assert all(pieces)
    assert any(piece.count(b"<") > piece.count(b">") for piece in pieces)


def test_unknown_elements_change_nothing_for_whoever_ignores_them() -> None:
    spoilt = with_unknown_elements(POSITION)
    assert etree.fromstring(spoilt).findall(".//unknownElement")
    read = []
    for packet in (POSITION, spoilt):
        connection = Connection(Role.CLIENT, EDITION.dialect)
        connection.receive_data(b"<protocol>" + packet)
        read.append(connection.next_event())
    assert read[0] == read[1]
    assert isinstance(read[0], RoomMessage)


@pytest.fixture(autouse=True)
def _time_to_die(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has closed its connection is waited for, however busy this machine is."""
    monkeypatch.setattr("match.stage._LAST_BREATH", PATIENCE)


async def meet(
    command: str, act: Callable[[Stage], Awaitable[object]], folder: Path, seat: int = 0, patience: float = PATIENCE
) -> object:
    """What `act` gives before this program; afterwards the program is gone."""
    try:
        with trio.fail_after(PATIENCE):
            async with open_stage(EDITION, Command.parse(command), seat, folder, str(folder), patience) as stage:
                return await act(stage)
    finally:
        assert find_processes(str(folder)) == ()
    raise AssertionError("a stage hides no surprise")


async def connect(stage: Stage) -> None:
    await stage.wait_for_connection()


async def take_seat(stage: Stage) -> None:
    await stage.wait_for_connection()
    await stage.take_seat()


@pytest.mark.parametrize(
    ("command", "surprise"),
    [
        ("/nowhere/bot", "there is no such program"),
        ("sh -c 'exit 3' bot", "the process ended with exit code 3"),
        ("sh -c 'kill -TERM $$' bot", "the process ended by signal 15"),
        ("sleep 500 {port}", "nobody connected in 0.1 s"),
    ],
)
async def test_a_program_that_does_not_come_is_a_surprise(command: str, surprise: str, tmp_path: Path) -> None:
    with pytest.raises(SurpriseError, match=surprise):
        await meet(command, connect, tmp_path, patience=0.1 if "sleep" in command else PATIENCE)


def saying(what: str, then: str = "") -> str:
    """A program that connects, sends bytes and does something then."""
    script = (
        f"import socket, sys, time; s = socket.create_connection((sys.argv[1], int(sys.argv[2]))); s.sendall({what})"
    )
    return f"""{shlex.quote(sys.executable)} -c "{script}; {then}" {{host}} {{port}}"""


@pytest.mark.parametrize(
    ("command", "surprise"),
    [
        (saying("b'GET /'", "s.recv(1)"), "bytes came that cannot be understood: The stream has to begin"),
        (saying("b'<protocol>'", "s.recv(1)"), "no request for a seat came in 0.2 s"),
        (saying("b'<protocol><join/>'", "s.recv(1)"), "a packet of the kind JoinRequest came instead of joinPrepared"),
        (saying("b''"), "it ended its connection; the process ended with exit code 0"),
        (
            saying("b'<protocol></protocol>'", "sys.exit(4)"),
            "it ended its connection; the process ended with exit code 4",
        ),
        (
            saying("b'<protocol><joinPrepared reservationCode=\\'mine\\'/>'", "s.recv(1)"),
            "joinPrepared came with reservation code 'mine'",
        ),
    ],
)
@pytest.mark.slow
async def test_a_program_that_does_not_take_its_seat_is_a_surprise(command: str, surprise: str, tmp_path: Path) -> None:
    async def act(stage: Stage) -> None:
        await stage.wait_for_connection()
        if surprise.endswith("0.2 s"):
            stage._patience = 0.2
        await stage.take_seat()

    with pytest.raises(SurpriseError, match=surprise):
        await meet(command, act, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seat", [0, 1])
async def test_a_program_that_plays_is_answered(seat: int, tmp_path: Path) -> None:
    async def act(stage: Stage) -> None:
        await take_seat(stage)
        await stage.begin()
        for _ in range(3):
            answer = await stage.ask(PATIENCE)
            assert isinstance(answer.data, MoveData)
            assert 0 < answer.seconds <= stage.longest < PATIENCE
            turn = stage.state.turn
            stage.play(answer.data.move)
            assert stage.state.turn == turn + 1
            with pytest.raises(SurpriseError):
                stage.play(answer.data.move)
        await stage.expect_silence(0.05)
        await stage.finish(None)  # our own player says by its exit code that there was no result
        assert await stage.expect_exit(PATIENCE) == "the process ended with exit code 1"

    await meet("builtin:first", act, tmp_path, seat)
    assert (tmp_path / "stdout.log").exists()


@pytest.mark.slow
async def test_whoever_talks_without_being_asked_is_a_surprise(tmp_path: Path) -> None:
    async def act(stage: Stage) -> None:
        await stage.wait_for_connection()
        await stage.expect_silence(PATIENCE)

    with pytest.raises(SurpriseError, match="a packet of the kind JoinPreparedRequest came, though nothing had been"):
        await meet("builtin:first", act, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "surprise"),
    [
        (saying("b'<protocol>'", "s.recv(100); time.sleep(500)"), "the process still runs 0.1 s after the end"),
        (saying("b'<protocol>'", "s.recv(100); import os; os.abort()"), "the process ended by signal 6"),
    ],
)
async def test_a_program_that_does_not_end_itself_is_a_surprise(command: str, surprise: str, tmp_path: Path) -> None:
    async def act(stage: Stage) -> None:
        await stage.wait_for_connection()
        await stage.finish(None)
        await stage.expect_exit(0.1 if "sleep" in command else PATIENCE)

    with pytest.raises(SurpriseError, match=surprise):
        await meet(command, act, tmp_path)


@pytest.mark.slow
async def test_what_cannot_be_understood_is_an_answer_in_time_but_no_move(tmp_path: Path) -> None:
    async def act(stage: Stage) -> None:
        await take_seat(stage)
        await stage.begin()
        answer = await stage.ask(PATIENCE)
        assert answer.data is None
        assert "Not well-formed XML" in answer.problem

    await meet("builtin:garbage", act, tmp_path)
