from __future__ import annotations

import gzip
import shlex
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio

from spielleiter.client.editions import DEFAULT_GAME_TYPE
from spielleiter.match.checking.scripted_server import ScriptedServer, open_scripted_server
from spielleiter.match.checking.surprise import SpoiltError, SurpriseError
from spielleiter.match.games.stopwatch import Stopwatch
from spielleiter.match.programs.processes import find_processes
from spielleiter.match.programs.program import Command
from spielleiter.protocol.messages import MoveData
from spielleiter.server.editions import choose_editions
from tests.patience import PATIENCE

EDITION = choose_editions({}, {})[DEFAULT_GAME_TYPE]


@pytest.fixture(autouse=True)
def _time_to_die(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has closed its connection is waited for, however busy this machine is."""
    monkeypatch.setattr("spielleiter.match.checking.scripted_server._LAST_BREATH", PATIENCE)


async def meet(
    command: str,
    act: Callable[[ScriptedServer], Awaitable[object]],
    folder: Path,
    seat: int = 0,
    patience: float = PATIENCE,
) -> object:
    """What `act` gives before this program; afterwards the program is gone."""
    try:
        with trio.fail_after(PATIENCE):
            async with open_scripted_server(
                EDITION, Command.parse(command), seat, folder, str(folder), patience
            ) as scripted_server:
                return await act(scripted_server)
    finally:
        assert find_processes(str(folder)) == ()
    raise AssertionError("a scripted server suppresses no exception")


async def connect(scripted_server: ScriptedServer) -> None:
    await scripted_server.wait_for_connection()


async def take_seat(scripted_server: ScriptedServer) -> None:
    await scripted_server.wait_for_connection()
    await scripted_server.take_seat()


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


@pytest.mark.slow
async def test_a_builtin_player_starts_in_a_folder_with_modules_of_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "game.py").write_text("raise SystemExit('the wrong module')\n")
    monkeypatch.chdir(tmp_path)
    await meet("builtin:first", connect, tmp_path)


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
        (saying("b'<protocol><joinRoom roomId=\\'r\\'/>'", "s.recv(1)"), "^joinRoom came instead of joinPrepared"),
        (saying("b'<protocol><knock/>'", "s.recv(1)"), "bytes came that cannot be understood"),
        (
            saying("b'<protocol><joinPrepared>' + 65 * b'<x/>' + b'</joinPrepared>'", "s.recv(1)"),
            "bytes came that cannot be understood: Packet 1 has more than 64 elements",  # as the server says
        ),
        (
            saying("b'<protocol><join gameType=\\'chess\\'/>'", "s.recv(1)"),
            f"join came for gameType 'chess', but the game here is {DEFAULT_GAME_TYPE!r}; --game and --edition say",
        ),
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
    async def act(scripted_server: ScriptedServer) -> None:
        await scripted_server.wait_for_connection()
        if surprise.endswith("0.2 s"):
            scripted_server._patience = 0.2
        await scripted_server.take_seat()

    with pytest.raises(SurpriseError, match=surprise):
        await meet(command, act, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seat", [0, 1])
async def test_a_program_that_plays_is_answered(seat: int, tmp_path: Path) -> None:
    async def act(scripted_server: ScriptedServer) -> None:
        await take_seat(scripted_server)
        await scripted_server.begin()
        for _ in range(3):
            answer = await scripted_server.ask(PATIENCE)
            assert isinstance(answer.data, MoveData)
            assert 0 < answer.seconds <= scripted_server.longest < PATIENCE
            turn = scripted_server.state.turn
            scripted_server.play(answer.data.move)
            assert scripted_server.state.turn == turn + 1
            with pytest.raises(SurpriseError):
                scripted_server.play(answer.data.move)
        await scripted_server.expect_silence(0.05)
        await scripted_server.finish(None)  # our own player says by its exit code that there was no result
        assert await scripted_server.expect_exit(PATIENCE) == "the process ended with exit code 1"

    await meet("builtin:first", act, tmp_path, seat)
    assert (tmp_path / "stdout.log").exists()


@pytest.mark.slow
async def test_whoever_talks_without_being_asked_is_a_surprise(tmp_path: Path) -> None:
    async def act(scripted_server: ScriptedServer) -> None:
        await scripted_server.wait_for_connection()
        await scripted_server.expect_silence(PATIENCE)

    with pytest.raises(SurpriseError, match=r"^joinPrepared came, though nothing had been"):
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
    async def act(scripted_server: ScriptedServer) -> None:
        await scripted_server.wait_for_connection()
        await scripted_server.finish(None)
        await scripted_server.expect_exit(0.1 if "sleep" in command else PATIENCE)

    with pytest.raises(SurpriseError, match=surprise):
        await meet(command, act, tmp_path)


@pytest.mark.slow
async def test_what_cannot_be_understood_is_an_answer_in_time_but_no_move(tmp_path: Path) -> None:
    async def act(scripted_server: ScriptedServer) -> None:
        await take_seat(scripted_server)
        await scripted_server.begin()
        answer = await scripted_server.ask(PATIENCE)
        assert answer.data is None
        assert "Not well-formed XML" in answer.problem

    await meet("builtin:garbage", act, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "how"),
    [
        ("<join/>", "join"),
        (f"<join gameType=\\'{DEFAULT_GAME_TYPE}\\'/>", "join"),
        ("<joinPrepared reservationCode=\\'5c00c0de-0000-4000-8000-000000000002\\'/>", "joinPrepared"),
    ],
)
async def test_a_plain_join_takes_the_seat_as_well(words: str, how: str, tmp_path: Path) -> None:
    async def act(scripted_server: ScriptedServer) -> None:
        await scripted_server.wait_for_connection()
        assert await scripted_server.take_seat() == how

    await meet(saying(f"b'<protocol>{words}'", "s.recv(1)"), act, tmp_path)


@pytest.mark.slow
async def test_who_asks_for_another_game_is_told_at_once(tmp_path: Path) -> None:
    async def act(scripted_server: ScriptedServer) -> None:
        await scripted_server.wait_for_connection()
        with pytest.raises(SurpriseError):
            await scripted_server.take_seat()
        await scripted_server.program.exited.wait()

    said = "b'<protocol><join gameType=\\'chess\\'/>'"
    await meet(saying(said, "print(s.makefile().read())"), act, tmp_path)
    told = (tmp_path / "stdout.log").read_text()
    assert f"Unknown GameType UUID: chess (available: {DEFAULT_GAME_TYPE})" in told
    assert "</protocol>" in told


@pytest.mark.slow
async def test_the_bytes_on_the_wire_are_kept(tmp_path: Path) -> None:
    async def act(scripted_server: ScriptedServer) -> None:
        await take_seat(scripted_server)
        await scripted_server.begin()
        await scripted_server.ask(PATIENCE)

    await meet("builtin:first", act, tmp_path)
    log = gzip.decompress((tmp_path / "wire.log.gz").read_bytes()).decode()
    places = [log.index(text) for text in (" program > ", "<joinPrepared ", " program < ", "<joined ", "moveRequest")]
    assert places == sorted(places)
    assert log.rindex(" program > ") > places[-1]  # the move


@pytest.mark.slow
@pytest.mark.parametrize(("lost", "kind"), [(0.0, SurpriseError), (0.2, SpoiltError)])
async def test_what_waits_for_a_processor_is_not_to_blame(
    lost: float, kind: type[SurpriseError], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Stopwatch, "seconds_lost", lambda _watch, _pids=(): lost)
    raised: list[SurpriseError] = []

    async def act(scripted_server: ScriptedServer) -> None:
        await take_seat(scripted_server)
        await scripted_server.begin()
        for asking in (scripted_server.ask(0.2, limit=0.1), scripted_server.expect_exit(0.2)):
            with pytest.raises(SurpriseError) as caught:
                await asking
            raised.append(caught.value)

    await meet("builtin:silent", act, tmp_path)
    assert [type(error) for error in raised] == [kind, kind]
    assert str(raised[0]) == "no answer came in 0.2 s" + ("; 0.200 s of it waiting for a processor" if lost else "")
