"""The scripted server of a check: what it accepts from a program, and what is unexpected."""

from __future__ import annotations

import gzip
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio

from spielleiter.match.checking.errors import InconclusiveError, UnexpectedBehaviourError
from spielleiter.match.checking.scripted_server import ScriptedServer
from spielleiter.match.checking.scripted_start import open_scripted_server
from spielleiter.match.games.stopwatch import Stopwatch
from spielleiter.match.programs.processes import find_processes
from spielleiter.match.programs.program import Command
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.protocol.messages import MoveData
from spielleiter.server.editions import choose_editions
from tests.interpreter import PYTHON
from tests.timeouts import HANG_TIMEOUT

EDITION = choose_editions({}, {})[DEFAULT_GAME_TYPE]


@pytest.fixture(autouse=True)
def _long_exit_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for a process that has closed its connection, however busy this machine is."""
    monkeypatch.setattr("spielleiter.match.checking.scripted_server._EXIT_TIMEOUT", HANG_TIMEOUT)


async def run_scripted(
    command: str,
    act: Callable[[ScriptedServer], Awaitable[object]],
    folder: Path,
    seat: int = 0,
    connect_timeout: float = HANG_TIMEOUT,
) -> object:
    """Start the program against a scripted server and return what `act` returns; afterwards no process is left."""
    try:
        with trio.fail_after(HANG_TIMEOUT):
            async with open_scripted_server(
                EDITION, Command.parse(command), seat, folder, str(folder), connect_timeout
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
    ("command", "problem"),
    [
        ("/nowhere/bot", "there is no such program"),
        ("sh -c 'exit 3' bot", "the process ended with exit code 3"),
        ("sh -c 'kill -TERM $$' bot", "the process ended by signal 15"),
        ("sleep 500 {port}", "nobody connected in 0.1 s"),
    ],
)
async def test_a_program_that_does_not_connect_is_unexpected(command: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(UnexpectedBehaviourError, match=problem):
        await run_scripted(command, connect, tmp_path, connect_timeout=0.1 if "sleep" in command else HANG_TIMEOUT)


@pytest.mark.slow
async def test_a_built_in_player_ignores_modules_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "game.py").write_text("raise SystemExit('the wrong module')\n")
    monkeypatch.chdir(tmp_path)
    await run_scripted("builtin:first", connect, tmp_path)


def sender(data: str, then: str = "") -> str:
    """Return the command of a program that connects, sends bytes and then executes a statement."""
    script = (
        f"import socket, sys, time; s = socket.create_connection((sys.argv[1], int(sys.argv[2]))); s.sendall({data})"
    )
    return f"""{PYTHON} -I -c "{script}; {then}" {{host}} {{port}}"""


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (sender("b'GET /'", "s.recv(1)"), "bytes came that cannot be understood: The stream has to begin"),
        (sender("b'<protocol>'", "s.recv(1)"), "no request for a seat came in 0.2 s"),
        (sender("b'<protocol><joinRoom roomId=\\'r\\'/>'", "s.recv(1)"), "^joinRoom came instead of joinPrepared"),
        (sender("b'<protocol><knock/>'", "s.recv(1)"), "bytes came that cannot be understood"),
        (
            sender("b'<protocol><joinPrepared>' + 65 * b'<x/>' + b'</joinPrepared>'", "s.recv(1)"),
            "bytes came that cannot be understood: Packet 1 has more than 64 elements",  # as at the server
        ),
        (
            sender("b'<protocol><join gameType=\\'chess\\'/>'", "s.recv(1)"),
            f"join came for gameType 'chess', but the game here is {DEFAULT_GAME_TYPE!r}; --game and --edition say",
        ),
        (sender("b''"), "it ended its connection; the process ended with exit code 0"),
        (
            sender("b'<protocol></protocol>'", "sys.exit(4)"),
            "it ended its connection; the process ended with exit code 4",
        ),
        (
            sender("b'<protocol><joinPrepared reservationCode=\\'mine\\'/>'", "s.recv(1)"),
            "joinPrepared came with reservation code 'mine'",
        ),
    ],
)
@pytest.mark.slow
async def test_a_program_that_does_not_take_its_seat_is_unexpected(command: str, problem: str, tmp_path: Path) -> None:
    async def act(scripted_server: ScriptedServer) -> None:
        await scripted_server.wait_for_connection()
        if problem.endswith("0.2 s"):
            scripted_server._connect_timeout = 0.2
        await scripted_server.take_seat()

    with pytest.raises(UnexpectedBehaviourError, match=problem):
        await run_scripted(command, act, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seat", [0, 1])
async def test_the_moves_of_a_program_are_played(seat: int, tmp_path: Path) -> None:
    async def act(scripted_server: ScriptedServer) -> None:
        await take_seat(scripted_server)
        await scripted_server.begin()
        for _ in range(3):
            answer = await scripted_server.ask(HANG_TIMEOUT)
            assert isinstance(answer.data, MoveData)
            assert 0 < answer.seconds <= scripted_server.longest < HANG_TIMEOUT
            turn = scripted_server.state.turn
            scripted_server.play(answer.data.move)
            assert scripted_server.state.turn == turn + 1
            with pytest.raises(UnexpectedBehaviourError):
                scripted_server.play(answer.data.move)
        await scripted_server.expect_silence(0.05)
        await scripted_server.finish(None)  # the built-in player reports a missing result by its exit code
        assert await scripted_server.expect_exit(HANG_TIMEOUT) == "the process ended with exit code 1"

    await run_scripted("builtin:first", act, tmp_path, seat)
    assert (tmp_path / "stdout.log").exists()


@pytest.mark.slow
async def test_a_packet_that_was_not_asked_for_is_unexpected(tmp_path: Path) -> None:
    async def act(scripted_server: ScriptedServer) -> None:
        await scripted_server.wait_for_connection()
        await scripted_server.expect_silence(HANG_TIMEOUT)

    with pytest.raises(UnexpectedBehaviourError, match=r"^joinPrepared came, though nothing had been"):
        await run_scripted("builtin:first", act, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (sender("b'<protocol>'", "s.recv(100); time.sleep(500)"), "the process still runs 0.1 s after the end"),
        (sender("b'<protocol>'", "s.recv(100); import os; os.abort()"), "the process ended by signal 6"),
    ],
)
async def test_a_program_that_does_not_end_is_unexpected(command: str, problem: str, tmp_path: Path) -> None:
    async def act(scripted_server: ScriptedServer) -> None:
        await scripted_server.wait_for_connection()
        await scripted_server.finish(None)
        await scripted_server.expect_exit(0.1 if "sleep" in command else HANG_TIMEOUT)

    with pytest.raises(UnexpectedBehaviourError, match=problem):
        await run_scripted(command, act, tmp_path)


@pytest.mark.slow
async def test_an_answer_that_cannot_be_parsed_is_in_time_but_not_a_move(tmp_path: Path) -> None:
    async def act(scripted_server: ScriptedServer) -> None:
        await take_seat(scripted_server)
        await scripted_server.begin()
        answer = await scripted_server.ask(HANG_TIMEOUT)
        assert answer.data is None
        assert "Not well-formed XML" in answer.problem

    await run_scripted("builtin:garbage", act, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("packet", "tag"),
    [
        ("<join/>", "join"),
        (f"<join gameType=\\'{DEFAULT_GAME_TYPE}\\'/>", "join"),
        ("<joinPrepared reservationCode=\\'5c00c0de-0000-4000-8000-000000000002\\'/>", "joinPrepared"),
    ],
)
async def test_a_plain_join_takes_the_seat_as_well(packet: str, tag: str, tmp_path: Path) -> None:
    async def act(scripted_server: ScriptedServer) -> None:
        await scripted_server.wait_for_connection()
        assert await scripted_server.take_seat() == tag

    await run_scripted(sender(f"b'<protocol>{packet}'", "s.recv(1)"), act, tmp_path)


@pytest.mark.slow
async def test_a_request_for_another_game_is_refused_at_once(tmp_path: Path) -> None:
    async def act(scripted_server: ScriptedServer) -> None:
        await scripted_server.wait_for_connection()
        with pytest.raises(UnexpectedBehaviourError):
            await scripted_server.take_seat()
        await scripted_server.program.exited.wait()

    sent = "b'<protocol><join gameType=\\'chess\\'/>'"
    await run_scripted(sender(sent, "print(s.makefile().read())"), act, tmp_path)
    output = (tmp_path / "stdout.log").read_text()
    assert f"Unknown GameType UUID: chess (available: {DEFAULT_GAME_TYPE})" in output
    assert "</protocol>" in output


@pytest.mark.slow
async def test_the_bytes_on_the_wire_are_logged(tmp_path: Path) -> None:
    async def act(scripted_server: ScriptedServer) -> None:
        await take_seat(scripted_server)
        await scripted_server.begin()
        await scripted_server.ask(HANG_TIMEOUT)

    await run_scripted("builtin:first", act, tmp_path)
    log = gzip.decompress((tmp_path / "wire.log.gz").read_bytes()).decode()
    positions = [
        log.index(text) for text in (" program > ", "<joinPrepared ", " program < ", "<joined ", "moveRequest")
    ]
    assert positions == sorted(positions)
    assert log.rindex(" program > ") > positions[-1]  # the move


@pytest.mark.slow
@pytest.mark.parametrize(("lost", "kind"), [(0.0, UnexpectedBehaviourError), (0.2, InconclusiveError)])
async def test_waiting_for_a_processor_makes_a_delay_inconclusive(
    lost: float, kind: type[UnexpectedBehaviourError], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Stopwatch, "seconds_lost", lambda _stopwatch, _pids=(): lost)
    raised: list[UnexpectedBehaviourError] = []

    async def act(scripted_server: ScriptedServer) -> None:
        await take_seat(scripted_server)
        await scripted_server.begin()
        for asking in (scripted_server.ask(0.2, limit=0.1), scripted_server.expect_exit(0.2)):
            with pytest.raises(UnexpectedBehaviourError) as caught:
                await asking
            raised.append(caught.value)

    await run_scripted("builtin:silent", act, tmp_path)
    assert [type(error) for error in raised] == [kind, kind]
    assert str(raised[0]) == "no answer came in 0.2 s" + ("; 0.200 s of it waiting for a processor" if lost else "")
