"""A scripted server and programs of a few lines: what each does wrong is said in terms of the protocol."""

from __future__ import annotations

import gzip
import os
import random
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, Final

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from spielleiter.contest.check import move_data
from spielleiter.contest.scripted_server import (
    EARLY_ENDINGS,
    UNFINISHED_SHARE,
    InconclusiveError,
    ScriptedServer,
    Stopwatch,
    UnexpectedBehaviourError,
    open_scripted_server,
    result_of,
    split_into_fragments,
    too_slow,
    unsplit,
    with_unknown_elements,
)
from spielleiter.programs.command import Command
from spielleiter.programs.linux_processes import ThreadUsage, Usage
from spielleiter.programs.this_platform import PLATFORM
from spielleiter.protocol.connection import Connection, Role
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.protocol.messages import Cause, Memento, MoveData, Result, RoomMessage
from spielleiter.server.core.policy import Edition
from spielleiter.server.editions import EDITIONS, choose_editions
from tests.interpreter import PYTHON
from tests.match.answering import answering_program
from tests.match.players import LIGHT
from tests.timeouts import HANG_TIMEOUT

EDITION = choose_editions({}, {})[DEFAULT_GAME_TYPE]
UNTIL_THE_END: Final = "b''.join(iter(lambda: s.recv(65536), b''))"
"""An expression of `sender` that reads everything up to the end of the server's stream."""


async def run_scripted(
    command: str,
    act: Callable[[ScriptedServer], Awaitable[object]],
    folder: Path,
    seat: int = 0,
    connect_timeout: float = HANG_TIMEOUT,
    edition: Edition = EDITION,
) -> object:
    """Start the program against a scripted server and return what `act` returns; afterwards no process is left."""
    try:
        with trio.fail_after(HANG_TIMEOUT):
            async with open_scripted_server(
                edition, Command.parse(command), seat, folder, str(folder), connect_timeout
            ) as scripted_server:
                return await act(scripted_server)
    finally:
        assert PLATFORM.find_tagged(str(folder)) == ()
    raise AssertionError("a scripted server suppresses no exception")


def sender(data: str, then: str = "") -> str:
    """Return the command of a program that connects, sends bytes and then executes a statement."""
    script = (
        f"import socket, sys, time; s = socket.create_connection((sys.argv[1], int(sys.argv[2]))); s.sendall({data})"
    )
    return f"""{PYTHON} -I -c "{script}; {then}" {{host}} {{port}}"""


BOT, LATER = 77, 78


@pytest.fixture
def wait_times(monkeypatch: pytest.MonkeyPatch) -> dict[int, float]:
    """Seconds that each process has waited for a processor so far."""
    so_far = {os.getpid(): 5.0, BOT: 7.0}

    def usage_of(pids: Iterable[int]) -> Usage:
        return Usage({pid: ThreadUsage(0, so_far[pid]) for pid in pids if pid in so_far})

    monkeypatch.setattr(Usage, "of", usage_of)
    return so_far


async def test_waiting_time_counts_from_the_start(
    wait_times: dict[int, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("trio.current_time", lambda: now)
    stopwatch = Stopwatch([BOT])
    now += 10
    assert (stopwatch.seconds, stopwatch.seconds_lost()) == (10.0, 0.0)
    wait_times[BOT] += 2
    wait_times[os.getpid()] += 1
    assert stopwatch.seconds_lost() == pytest.approx(3.0)
    wait_times[LATER] = 4
    assert stopwatch.seconds_lost([LATER]) == pytest.approx(5.0)
    wait_times[BOT] += 50  # never more than the elapsed time
    assert stopwatch.seconds_lost() == pytest.approx(10.0)


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
        *(
            (
                sender(f"b'<protocol><joinPrepared{code}><foo/></joinPrepared>'", "s.recv(1)"),
                "<foo> in <joinPrepared>.*official server ends the connection",
            )
            for code in ("", " reservationCode=\\'5c00c0de-0000-4000-8000-000000000002\\'")
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
            scripted_server.connect_timeout = 0.2
        await scripted_server.take_seat()

    with pytest.raises(UnexpectedBehaviourError, match=problem):
        await run_scripted(command, act, tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("players")
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
        await scripted_server.finish(result_of(EDITION, scripted_server, EARLY_ENDINGS[0]))
        assert await scripted_server.expect_exit(HANG_TIMEOUT) == "the process ended with exit code 0"

    await run_scripted(f"{LIGHT} first", act, tmp_path, seat)
    assert (tmp_path / "stdout.log").exists()


@pytest.mark.slow
async def test_a_packet_that_was_not_asked_for_is_unexpected(tmp_path: Path) -> None:
    async def act(scripted_server: ScriptedServer) -> None:
        await scripted_server.wait_for_connection()
        await scripted_server.expect_silence(HANG_TIMEOUT)

    with pytest.raises(UnexpectedBehaviourError, match=r"^join came, though nothing had been"):
        await run_scripted(sender("b'<protocol><join/>'", "s.recv(1)"), act, tmp_path)


def told_of_a_violation(scripted_server: ScriptedServer, edition: Edition) -> Result:
    """Let the program's last move be an illegal one; return the result that it receives."""
    scripted_server.last_move = next(iter(scripted_server.state.generate_legal_moves()))
    ending = next(each for each in EARLY_ENDINGS if each.own is Cause.RULE_VIOLATION)
    return result_of(edition, scripted_server, ending)


@pytest.mark.slow
@pytest.mark.parametrize("name", EDITIONS)
async def test_after_an_illegal_move_a_program_receives_what_the_edition_sends(name: str, tmp_path: Path) -> None:
    edition = EDITIONS[name]
    policy = edition.policy

    async def act(scripted_server: ScriptedServer) -> None:
        await scripted_server.wait_for_connection()
        await scripted_server.finish_violation(told_of_a_violation(scripted_server, edition))
        await scripted_server.expect_exit(HANG_TIMEOUT)

    goodbye = "b'<protocol>" + ("<close/>" if policy.keeps_violators else "") + "'"
    command = sender(goodbye, f"sys.stdout.buffer.write({UNTIL_THE_END})")
    await run_scripted(command, act, tmp_path, edition=edition)
    received = (tmp_path / "stdout.log").read_text("utf-8")
    assert 'class="error"' in received
    has_result = policy.keeps_violators or policy.tells_violators_the_result
    assert ('class="result"' in received, "<left " in received) == (has_result, has_result)
    assert ("CloseConnection/>" in received) == (not policy.keeps_violators)
    assert received.endswith("</protocol>")


@pytest.mark.parametrize("name", ["blokus-2027", "blokus-2021-r1"])
async def test_a_program_that_leaves_while_it_is_told_the_end_is_judged_by_its_exit_code(
    name: str, tmp_path: Path
) -> None:
    """The first packet is still sent, those after it find the connection closed."""

    async def act(scripted_server: ScriptedServer) -> str:
        await scripted_server.wait_for_connection()
        await scripted_server.program.exited.wait()
        result = told_of_a_violation(scripted_server, EDITIONS[name])
        await scripted_server.finish_violation(result)
        await scripted_server.finish(result)
        return await scripted_server.expect_exit(HANG_TIMEOUT)

    how = await run_scripted(sender("b''"), act, tmp_path, edition=EDITIONS[name])
    assert how == "the process ended with exit code 0"


async def test_a_failure_of_this_machine_is_inconclusive(tmp_path: Path) -> None:
    folder = tmp_path / "step01"
    folder.touch()
    with pytest.raises(InconclusiveError, match=r"^this machine failed: .*step01"):
        await run_scripted(sender("b''"), connect, folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (
            '<data class="sc.plugin2027.SkipMove"/>',
            "^incomplete skip: im Element data fehlt das Element color$",
        ),
        (
            '<data class="sc.plugin2027.SetMove"><piece color="BLUE"/></data>',
            "^<room> cannot be read: im Element piece fehlt das Attribut rotation",
        ),
        (
            '<data class="sc.plugin2027.SkipMove"><color>BLUE</color><hint content="x"/></data>',
            "^<room> cannot be read: unbekanntes Element <hint> in <data>; the official server ends the connection",
        ),
    ],
)
async def test_an_answer_that_the_release_does_not_accept_is_named(data: str, problem: str, tmp_path: Path) -> None:
    async def act(scripted_server: ScriptedServer) -> None:
        await take_seat(scripted_server)
        await scripted_server.begin()
        answer = await scripted_server.ask(HANG_TIMEOUT)
        scripted_server.play(move_data(answer).move)

    with pytest.raises(UnexpectedBehaviourError, match=problem):
        await run_scripted(answering_program(tmp_path, data), act, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("packet", "tag"),
    [
        ("<join/>", "join"),
        (f"<join gameType=\\'{DEFAULT_GAME_TYPE}\\'/>", "join"),
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
        with pytest.raises(UnexpectedBehaviourError, match=rf"'chess', but .* '{DEFAULT_GAME_TYPE}'; --game"):
            await scripted_server.take_seat()
        await scripted_server.program.exited.wait()

    sent = "b'<protocol><join gameType=\\'chess\\'/>'"
    await run_scripted(sender(sent, "print(s.makefile().read())"), act, tmp_path)
    output = (tmp_path / "stdout.log").read_text()
    assert f"Unknown GameType UUID: chess (available: {DEFAULT_GAME_TYPE})" in output
    assert "</protocol>" in output


@pytest.mark.slow
@pytest.mark.usefixtures("players")
async def test_the_bytes_on_the_wire_are_logged(tmp_path: Path) -> None:
    async def act(scripted_server: ScriptedServer) -> None:
        await take_seat(scripted_server)
        await scripted_server.begin()
        await scripted_server.ask(HANG_TIMEOUT)

    await run_scripted(f"{LIGHT} first", act, tmp_path)
    log = gzip.decompress((tmp_path / "wire.log.gz").read_bytes()).decode()
    positions = [
        log.index(text) for text in (" program > ", "<joinPrepared ", " program < ", "<joined ", "moveRequest")
    ]
    assert positions == sorted(positions)
    assert log.rindex(" program > ") > positions[-1]  # the move


@pytest.mark.slow
@pytest.mark.usefixtures("players")
@pytest.mark.parametrize("lost", [0.0, 0.2])
async def test_waiting_for_a_processor_makes_a_delay_inconclusive(
    lost: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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

    await run_scripted(f"{LIGHT} silent", act, tmp_path)
    # whether the process ends soon enough after the stream depends on this machine
    assert [isinstance(error, InconclusiveError) for error in raised] == [lost > 0] * 2
    assert str(raised[0]) == "no answer came in 0.2 s" + ("; 0.200 s of it waiting for a processor" if lost else "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (
            sender("b'<protocol>'", "s.recv(100); time.sleep(500)"),
            "the process still runs 0.1 s after the end of the stream",
        ),
        (
            sender("b'<protocol></protocol>'", "s.recv(100); time.sleep(500)"),
            "the process still runs 0.1 s after the end of the game",
        ),
        (sender("b'<protocol>'", "s.recv(100); import os; os.abort()"), "the process ended by signal 6"),
    ],
)
async def test_a_program_that_does_not_end_is_unexpected(
    command: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Stopwatch, "seconds_lost", lambda _stopwatch, _pids=(): 0.0)

    async def act(scripted_server: ScriptedServer) -> None:
        await scripted_server.wait_for_connection()
        await scripted_server.finish(result_of(EDITION, scripted_server, EARLY_ENDINGS[0]))
        await scripted_server.expect_exit(0.1 if "sleep" in command else HANG_TIMEOUT)

    with pytest.raises(UnexpectedBehaviourError, match=problem):
        await run_scripted(command, act, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("goodbye", ["<close/>", "</protocol>", "<close/></protocol>"])
async def test_a_goodbye_is_answered_with_the_end_of_the_stream(goodbye: str, tmp_path: Path) -> None:
    async def act(scripted_server: ScriptedServer) -> None:
        await scripted_server.wait_for_connection()
        await scripted_server.finish(result_of(EDITION, scripted_server, EARLY_ENDINGS[0]))
        assert await scripted_server.expect_exit(HANG_TIMEOUT) == "the process ended with exit code 0"

    await run_scripted(sender(f"b'<protocol>{goodbye}'", UNTIL_THE_END), act, tmp_path)


@pytest.mark.parametrize(
    ("seconds", "lost", "share", "kind", "text"),
    [
        (3.0, 0.0, 0.02, UnexpectedBehaviourError, "late"),
        (
            3.0,
            0.9,
            0.02,
            UnexpectedBehaviourError,
            "late; 0.900 s of it waiting for a processor",
        ),
        (3.0, 1.0, 0.02, InconclusiveError, "late; 1.000 s of it waiting for a processor"),
        (
            2.01,
            0.02,
            0.02,
            UnexpectedBehaviourError,
            "late; 0.020 s of it waiting for a processor",
        ),  # as if idle
        (2.0, 0.19, UNFINISHED_SHARE, UnexpectedBehaviourError, "late; 0.190 s of it waiting for a processor"),
        (2.0, 0.21, UNFINISHED_SHARE, InconclusiveError, "late; 0.210 s of it waiting for a processor"),
    ],
)
def test_a_delay_is_inconclusive_if_the_program_would_have_been_in_time_otherwise(
    seconds: float, lost: float, share: float, kind: type[UnexpectedBehaviourError], text: str
) -> None:
    error = too_slow("late", seconds, lost, 2.0, share)
    assert (type(error), str(error)) == (kind, text)


STATE = EDITION.game.new_state(random.Random(1))
POSITION = EDITION.dialect.encode(RoomMessage("room", Memento(STATE, ("Größe", "<b>"))))


@given(data=st.binary(max_size=400), seed=st.integers(0, 5), split=st.sampled_from([unsplit, split_into_fragments]))
def test_the_pieces_together_are_the_original_bytes(data: bytes, seed: int, split: Any) -> None:
    assert b"".join(split(data, random.Random(seed))) == data


def test_fragments_split_tags() -> None:
    pieces = split_into_fragments(POSITION, random.Random(1))
    assert len(pieces) > 60
    assert all(pieces)
    assert any(piece.count(b"<") > piece.count(b">") for piece in pieces)


def test_unknown_elements_do_not_change_the_meaning() -> None:
    changed = with_unknown_elements(POSITION)
    assert etree.fromstring(changed).findall(".//unknownElement")
    messages = []
    for packet in (POSITION, changed):
        connection = Connection(Role.CLIENT, EDITION.dialect)
        connection.receive_data(b"<protocol>" + packet)
        messages.append(connection.next_event())
    assert messages[0] == messages[1]
    assert isinstance(messages[0], RoomMessage)
