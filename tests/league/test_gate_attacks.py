"""Attacks on the gate, by strangers, by PCs that lie, and by somebody who pretends to be the league."""

from __future__ import annotations

import hashlib
import os
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import psutil
import pytest
import trio

from spielleiter.common.errors import first_error
from spielleiter.league.certificate import open_certificate
from spielleiter.league.frames import FrameStream, framed
from spielleiter.league.gate import (
    BURST,
    FAILURE_PAUSE,
    JOIN_PAUSE,
    MAX_STRANGERS_PER_ADDRESS,
    MESSAGE_COST,
    RATE,
)
from spielleiter.league.gate_client import PairLostError, RemoteProgram
from spielleiter.league.gate_messages import (
    MAX_HELLO,
    AllowedHelper,
    BeginRun,
    Bytes,
    Closed,
    Connected,
    Exited,
    FetchPackage,
    FromRun,
    LeasePrepared,
    NotStarted,
    Pong,
    PrepareLease,
    Refused,
    StartRun,
    TakeSeat,
    Welcome,
    Written,
)
from spielleiter.league.helper import Helper, LeagueAddress, NotWantedError
from spielleiter.league.helper_code import HelperCode, new_secret
from spielleiter.programs.sandbox.plain import PlainSandbox
from tests.contest.packages import Planted
from tests.league.remote_league import (
    LOOPBACK,
    RemoteLeague,
    Stranger,
    joined_stranger,
    machine_with,
    open_remote_league,
    play_pair,
    stranger_at,
)
from tests.league.test_lost_pcs import take_seats
from tests.timeouts import HANG_TIMEOUT

pytestmark = pytest.mark.slow  # real processes

MOST_AT_LOOPBACK = MAX_STRANGERS_PER_ADDRESS + 2 * 2 + 1
"""The most connections from this machine: strangers, further ones for the two places of a PC, and that PC."""
UNKNOWN = "this code is unknown or was revoked; ask the teacher for another one"


# -- somebody who pretends to be the league ---------------------------------------------------------------------------


async def test_a_pc_says_nothing_to_a_league_with_another_certificate(tmp_path: Path) -> None:
    impostor = open_certificate(tmp_path)
    heard: list[bytes] = []

    async def serve(raw: trio.SocketStream) -> None:
        stream = trio.SSLStream(raw, impostor.server_context(), server_side=True, https_compatible=True)
        with trio.fail_after(HANG_TIMEOUT):
            try:
                heard.append(bytes(await stream.receive_some(1000)))
            except trio.BrokenResourceError:
                heard.append(b"")

    code = HelperCode(new_secret(), bytes(16))
    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host=LOOPBACK)
        nursery.start_soon(trio.serve_listeners, serve, listeners)
        port = listeners[0].socket.getsockname()[1]
        sandbox = PlainSandbox()
        helper = Helper(LeagueAddress(LOOPBACK, port, code), sandbox, machine_with(sandbox), 1)
        with pytest.raises((NotWantedError, ExceptionGroup)) as caught:
            await helper.run()
        assert "its certificate is another one" in str(first_error(caught.value))
        with trio.fail_after(HANG_TIMEOUT):
            while not heard:
                await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    assert heard == [b""]


# -- strangers --------------------------------------------------------------------------------------------------------


async def test_without_a_code_that_is_valid_nobody_learns_or_gets_anything(tmp_path: Path) -> None:
    async with open_remote_league(tmp_path) as league:
        await league.start_helper()
        program = league.program("bot")
        wrong = new_secret()
        async with league.gate.lease(1, [program, None]):
            async with stranger_at(league) as stranger:
                await stranger.join(wrong)
                assert await stranger.receive() == Refused(UNKNOWN)
            async with stranger_at(league) as stranger:
                await stranger.send(FetchPackage(wrong, program.sha256))
                assert await stranger.receive_package() == UNKNOWN
            async with stranger_at(league) as stranger:
                await stranger.send(BeginRun(wrong, 1))
                assert await stranger.receive() == Refused(UNKNOWN)
        assert len(league.gate.helpers()) == 1


GARBAGE = {
    "no message": b"\x00\x00\x00\x04\xff\xff\xff\xff",
    "too long": struct.pack("!I", MAX_HELLO + 1),
    "much too long": b"\xff" * 100_000,
    "another message": framed(Welcome("x", may_run_unconfined=True)),
    "HTTP": b"GET / HTTP/1.1\r\nHost: league\r\n\r\n",
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
async def test_garbage_ends_the_connection_and_nothing_else(tmp_path: Path, garbage: bytes) -> None:
    async with open_remote_league(tmp_path) as league:
        await league.start_helper()
        async with stranger_at(league) as stranger:
            await stranger.send(garbage)
            assert await stranger.receive() is None
        raw = await trio.open_tcp_stream(LOOPBACK, league.gate.port)
        async with raw:
            with trio.fail_after(HANG_TIMEOUT):  # without TLS
                try:
                    await raw.send_all(garbage)
                    while await raw.receive_some(1000):
                        pass
                except trio.BrokenResourceError:
                    pass
        async with league.gate.lease(1, [league.program("bot"), None]):
            assert league.gate.restarts == 0


async def test_silent_strangers_are_few_and_disturb_nobody(tmp_path: Path) -> None:
    async with open_remote_league(tmp_path) as league, AsyncExitStack() as stack:
        await league.start_helper()
        silent = [
            await stack.enter_async_context(await trio.open_tcp_stream(LOOPBACK, league.gate.port))
            for _ in range(4 * MAX_STRANGERS_PER_ADDRESS)
        ]
        closed = 0
        for each in silent[MAX_STRANGERS_PER_ADDRESS:]:
            with trio.fail_after(HANG_TIMEOUT):
                try:
                    closed += not await each.receive_some(1)
                except trio.BrokenResourceError:
                    closed += 1
        assert closed == 3 * MAX_STRANGERS_PER_ADDRESS
        assert league.gate.helpers()[0].problem == ""


async def test_guesses_of_codes_take_few_places_and_leave_room_for_pcs(tmp_path: Path) -> None:
    async with open_remote_league(tmp_path) as league, AsyncExitStack() as stack:
        await league.start_helper()
        answers = []
        for _ in range(4 * MAX_STRANGERS_PER_ADDRESS):
            stranger = await stack.enter_async_context(stranger_at(league))
            with suppress(trio.BrokenResourceError):
                await stranger.join(new_secret())
                answers.append(await stranger.receive())
        ends = [
            each
            for each in psutil.Process().net_connections("tcp")
            if each.raddr[1:] == (league.gate.port,)  # () where there is no other end
        ]
        assert len([each for each in ends if each.status == psutil.CONN_ESTABLISHED]) <= MOST_AT_LOOPBACK + 1
        assert set(answers) <= {Refused(UNKNOWN), None}
        assert league.gate.restarts == 0


async def test_connections_that_are_reset_are_no_bugs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async with open_remote_league(tmp_path) as league:
        for _ in range(50):
            with socket.create_connection((LOOPBACK, league.gate.port)) as sock:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        await league.start_helper()
    assert "Traceback" not in capfd.readouterr().err


async def test_somebody_on_the_leagues_machine_without_a_ticket_gets_nothing(tmp_path: Path) -> None:
    async with open_remote_league(tmp_path) as league:
        await league.start_helper()
        async with league.gate.lease(1, [league.program("bot"), None]) as lease:
            entrant = lease.entrants[0]
            assert entrant is not None
            [(_, seat)] = entrant.environment.items()
            port, _, ticket = seat.partition(":")
            assert ticket not in entrant.command
            for guess in ("", "x" * len(ticket), ticket[:-1], ticket + "x"):
                stream = await trio.open_tcp_stream(LOOPBACK, int(port))
                async with stream:
                    await stream.send_all(framed(TakeSeat(guess, "r", "1", "game")))
                    with trio.fail_after(HANG_TIMEOUT):
                        assert await stream.receive_some(1000) == b""
        assert league.running == 0


# -- codes ------------------------------------------------------------------------------------------------------------


async def test_a_revoked_code_is_cut_off_at_once(tmp_path: Path) -> None:
    async with open_remote_league(tmp_path) as league:
        code = league.add_code()
        await league.start_helper(code=code)
        async with league.gate.lease(1, [league.program("bot"), None]) as lease:
            league.gate.allow([])
            assert league.gate.helpers() == []
            with pytest.raises(PairLostError, match="its code was revoked"):
                await lease.settle()
        await league.wait_until(lambda: any("was revoked" in each for each in league.told))
        async with stranger_at(league) as stranger:
            await stranger.join(code.secret)
            assert await stranger.receive() == Refused(UNKNOWN)


async def test_of_two_pcs_with_one_code_the_second_helps(tmp_path: Path) -> None:
    async with open_remote_league(tmp_path) as league:
        code = league.add_code()
        await league.start_helper(code=code)
        async with stranger_at(league) as second:
            await second.join(code.secret)
            assert isinstance(await second.receive(), Welcome)
            await league.wait_until(lambda: any("another PC" in each for each in league.told))
            assert len(league.gate.helpers()) == 1


async def test_a_pc_without_a_sandbox_gets_nothing_unless_the_teacher_allows_it(tmp_path: Path) -> None:
    async with open_remote_league(tmp_path) as league:
        await league.start_helper(may_run_unconfined=False)
        [helper] = league.gate.helpers()
        assert helper.free == 0
        assert "no sandbox" in helper.problem
        with pytest.raises(PairLostError, match="no sandbox"):
            async with league.gate.lease(1, [league.program("bot"), None]):
                pass
        assert league.running == 0
        allowed = league.allowed[0]
        league.gate.allow([AllowedHelper(allowed.id, allowed.name, allowed.secret_hash, may_run_unconfined=True)])
        await league.wait_until(lambda: [each.problem for each in league.gate.helpers()] == [""])


# -- PCs that lie -----------------------------------------------------------------------------------------------------


async def test_a_pc_fetches_only_what_it_is_to_run_now(tmp_path: Path) -> None:
    async with open_remote_league(tmp_path) as league, joined_stranger(league) as (liar, secret):
        await league.start_helper()
        mine, other, never = (league.program(each, Planted(f"# {each}")) for each in ("mine", "other", "never"))

        async def fetch(sha256: str) -> bytes | str:
            async with stranger_at(league) as fetcher:
                await fetcher.send(FetchPackage(secret, sha256))
                return await fetcher.receive_package()

        async def answer() -> None:
            message = await liar.receive(answers=True)
            assert isinstance(message, PrepareLease)
            await liar.send(LeasePrepared(message.lease))

        async with league.gate.lease(2, [other, None]), trio.open_nursery() as nursery:
            nursery.start_soon(answer)
            async with league.gate.lease(1, [mine, None]):
                assert await fetch(mine.sha256) == mine.package.read_bytes()
                for each in (other, never):
                    assert await fetch(each.sha256) == "this PC is not to run that package now"
            assert await fetch(mine.sha256) == "this PC is not to run that package now"


async def test_a_revoked_code_ends_a_transfer(tmp_path: Path) -> None:
    async with open_remote_league(tmp_path) as league, joined_stranger(league) as (liar, secret):
        content = os.urandom(32 * 1024 * 1024)
        package = tmp_path / "large.zip"
        package.write_bytes(content)
        program = RemoteProgram("large", hashlib.sha256(content).hexdigest(), package)

        async def fetch() -> None:
            assert isinstance(await liar.receive(answers=True), PrepareLease)
            async with stranger_at(league) as fetcher:
                await fetcher.send(FetchPackage(secret, program.sha256))
                received = len(await fetcher.stream.receive_some(1))
                league.gate.allow([])
                with trio.fail_after(HANG_TIMEOUT), suppress(trio.BrokenResourceError):
                    while data := await fetcher.stream.receive_some(1 << 16):
                        received += len(data)
                assert received < len(content)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(fetch)
            with pytest.raises(PairLostError):
                async with league.gate.lease(1, [program, None]):
                    pass


async def test_an_answer_about_no_lease_ends_the_connection(tmp_path: Path) -> None:
    async with open_remote_league(tmp_path) as league, joined_stranger(league) as (liar, _):
        await liar.send(LeasePrepared(999))
        assert await liar.receive(answers=True) is None
        await league.wait_until(lambda: not league.gate.helpers())


async def test_a_pc_gets_one_pair_until_a_game_has_counted(tmp_path: Path) -> None:
    async with open_remote_league(tmp_path) as league, joined_stranger(league):
        assert league.gate.helpers()[0].free == 1
        assert league.gate.helpers()[0].places == 2


async def lying_run(league: RemoteLeague, folder: Path, *said: object) -> str:
    """Play a game with a PC that says this about its program; return why it does not count."""
    async with joined_stranger(league) as (liar, secret), stranger_at(league) as run:

        async def lie() -> None:
            while True:
                match await liar.receive(answers=True):
                    case PrepareLease(key):
                        await liar.send(LeasePrepared(key))
                    case StartRun(number):
                        await run.send(BeginRun(secret, number))
                        for each in said:
                            await run.send(each)  # type: ignore[arg-type]
                    case None:
                        return

        async with trio.open_nursery() as nursery:
            nursery.start_soon(lie)
            with pytest.raises(PairLostError) as caught:
                async with league.gate.lease(1, [league.program("bot"), None]) as lease:
                    await play_pair(lease, folder, games=1)
            assert "pauses" in league.gate.helpers()[0].problem
            nursery.cancel_scope.cancel()
    return str(caught.value)


LIES = {
    "garbage": [b"\x00\x00\x00\x02\xff\xff"],
    "a long message": [struct.pack("!I", 1 << 30)],
    "bytes of no connection": [Bytes(0, b"<protocol>")],
    "a connection with a wrong number": [Connected(7)],
    "a connection twice": [Connected(0), Connected(0)],
    "a message of a PC": [Pong(1)],
    "cannot start": [NotStarted("no", is_unable=False)],
}


@pytest.mark.parametrize("said", LIES.values(), ids=LIES)
async def test_a_game_with_a_pc_that_lies_does_not_count(tmp_path: Path, said: list[object]) -> None:
    async with open_remote_league(tmp_path) as league:
        reason = await lying_run(league, tmp_path, *said)
        assert reason.startswith("pc: ")
        assert league.gate.restarts == 0


async def test_a_pc_says_nothing_for_the_program_of_another_one(tmp_path: Path) -> None:
    async with open_remote_league(tmp_path) as league, joined_stranger(league) as (_, secret):
        await league.start_helper()
        async with league.gate.lease(2, [league.program("bot"), None]) as lease, trio.open_nursery() as nursery:

            async def intrude() -> None:
                await league.wait_until(lambda: league.running)
                for number in (1, 1, 1, 2):
                    async with stranger_at(league) as run:
                        await run.send(BeginRun(secret, number))
                        assert await run.receive() is None

            nursery.start_soon(intrude)
            [record] = await play_pair(lease, tmp_path, games=1)
        assert record.verdict == "regular"


async def test_an_answer_to_no_question_ends_the_connection(tmp_path: Path) -> None:
    async with open_remote_league(tmp_path) as league, joined_stranger(league) as (liar, _):
        await liar.send(Pong(999))
        assert await liar.receive() is None
        await league.wait_until(lambda: not league.gate.helpers())


async def test_a_program_that_cannot_be_started_there_is_not_offered_again(tmp_path: Path) -> None:
    async with open_remote_league(tmp_path) as league, joined_stranger(league) as (liar, _):
        program = league.program("bot")
        assert league.gate.run_problem(1, program) == ""

        async def answer() -> None:
            message = await liar.receive(answers=True)
            assert isinstance(message, PrepareLease)
            await liar.send(LeasePrepared(message.lease, "there is no such interpreter", 0))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(answer)
            with pytest.raises(PairLostError, match="no such interpreter"):
                async with league.gate.lease(1, [program, None]):
                    pass
        assert league.gate.run_problem(1, program) == "it could not start this program"
        assert league.gate.helpers()[0].problem == ""


async def test_a_package_that_was_changed_is_not_run(tmp_path: Path) -> None:
    async with open_remote_league(tmp_path) as league:
        await league.start_helper()
        program = league.program("bot")
        content = bytearray(program.package.read_bytes())
        content[-1] ^= 1
        program.package.write_bytes(content)
        with pytest.raises(PairLostError, match="not the whole package"):
            async with league.gate.lease(1, [program, None]):
                pass
        assert league.running == 0


async def test_a_flood_of_outputs_is_slowed_down_and_bounded(tmp_path: Path) -> None:
    flood = [Connected(0), *[Written(b"x" * 60_000, is_error=True)] * 290, Exited(0)]
    async with (
        open_remote_league(tmp_path) as league,
        joined_stranger(league) as (liar, secret),
        stranger_at(league) as run,
    ):

        async def answer() -> None:
            while True:
                match await liar.receive(answers=True):
                    case PrepareLease(key):
                        await liar.send(LeasePrepared(key))
                    case StartRun(number):
                        await run.send(BeginRun(secret, number))
                        for each in flood:
                            await run.send(each)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(answer)
            async with league.gate.lease(1, [league.program("bot"), None]) as lease:
                [record] = await play_pair(lease, tmp_path, games=1)
            nursery.cancel_scope.cancel()
        assert record.offender == 0
        kept = (tmp_path / record.folder / "program1.stderr.log").stat().st_size
        assert kept < 9 * 1024 * 1024


# -- PCs that send very much ------------------------------------------------------------------------------------------


@asynccontextmanager
async def flooding(league: RemoteLeague) -> AsyncIterator[tuple[Stranger, FrameStream[FromRun]]]:
    """A PC in whose place the test talks: the connection of a program, and the end of it on the league's machine."""
    async with joined_stranger(league) as (liar, secret), stranger_at(league) as run, trio.open_nursery() as nursery:
        has_begun = trio.Event()

        async def answer() -> None:
            while True:
                match await liar.receive(answers=True):
                    case PrepareLease(key):
                        await liar.send(LeasePrepared(key))
                    case StartRun(number, _, 0):
                        await run.send(BeginRun(secret, number))
                        await run.send(Connected(0))
                        has_begun.set()
                    case None:
                        return

        nursery.start_soon(answer)
        program = league.program("bot")
        async with league.gate.lease(len(league.allowed), [program, program]) as lease:
            seat, other = await take_seats(lease)
            await has_begun.wait()
            assert await seat.receive() == Connected(0)
            yield run, seat
            await seat.stream.aclose()
            await other.stream.aclose()
        nursery.cancel_scope.cancel()


FEW = BURST // MESSAGE_COST
"""The number of the smallest messages, or pieces of one, that take all that may be sent at once."""
SECONDS = 2.0
PIECES = int(FEW + SECONDS * RATE / MESSAGE_COST)
SMALL = {
    "messages": [framed(Bytes(0, b"x")) * PIECES],
    "outputs": [framed(Written(b"x", is_error=True)) * PIECES],
    "pieces": [bytes([each]) for each in framed(Bytes(0, b"x" * PIECES))],
}


@pytest.mark.parametrize("sent", SMALL.values(), ids=SMALL)
async def test_many_small_messages_or_pieces_are_slowed_down(tmp_path: Path, sent: list[bytes]) -> None:
    async with open_remote_league(tmp_path) as league, flooding(league) as (run, seat), trio.open_nursery() as nursery:

        async def flood() -> None:
            for each in sent:
                await run.send(each)
            await run.send(Closed(0))

        since = trio.current_time()
        nursery.start_soon(flood)
        with trio.fail_after(HANG_TIMEOUT):
            while await seat.receive() != Closed(0):
                pass
        assert trio.current_time() - since > SECONDS


async def test_a_package_is_sent_once_for_a_lease(tmp_path: Path) -> None:
    async with open_remote_league(tmp_path) as league, joined_stranger(league) as (liar, secret):
        program = league.program("bot")

        async def fetch_twice() -> None:
            message = await liar.receive(answers=True)
            assert isinstance(message, PrepareLease)
            for expected in (program.package.read_bytes(), "this PC is not to run that package now"):
                async with stranger_at(league) as fetcher:
                    await fetcher.send(FetchPackage(secret, program.sha256))
                    assert await fetcher.receive_package() == expected
            await liar.send(LeasePrepared(message.lease))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(fetch_twice)
            async with league.gate.lease(1, [program, None]):
                pass


async def test_pcs_with_one_code_take_their_turns(tmp_path: Path) -> None:
    async with (
        open_remote_league(tmp_path) as league,
        joined_stranger(league) as (_, secret),
        AsyncExitStack() as stack,
    ):
        since = trio.current_time()
        for _ in range(3):
            another = await stack.enter_async_context(stranger_at(league))
            await another.join(secret)
            assert isinstance(await another.receive(), Welcome)
        assert trio.current_time() - since > 2 * JOIN_PAUSE


async def test_a_pc_that_asks_for_what_it_is_not_to_do_gets_few_answers(tmp_path: Path) -> None:
    async with open_remote_league(tmp_path) as league, joined_stranger(league) as (_, secret):
        since, answers = trio.current_time(), 0
        for _ in range(8 * MOST_AT_LOOPBACK):
            async with stranger_at(league) as stranger:
                with suppress(trio.BrokenResourceError):
                    await stranger.send(BeginRun(secret, 999))
                    answers += 1
        assert answers <= MOST_AT_LOOPBACK * (1 + (trio.current_time() - since) // FAILURE_PAUSE)


async def test_games_of_other_pcs_count_while_one_sends_without_end(tmp_path: Path) -> None:
    async with open_remote_league(tmp_path) as league:
        await league.start_helper()
        async with flooding(league) as (run, seat), trio.open_nursery() as nursery:

            async def flood() -> None:
                while True:
                    await run.send(framed(Bytes(0, b"x")) * 100)

            async def read() -> None:
                while await seat.receive() is not None:
                    pass

            nursery.start_soon(flood)
            nursery.start_soon(read)
            async with league.gate.lease(1, [league.program("other"), None]) as lease:
                records = await play_pair(lease, tmp_path)
            nursery.cancel_scope.cancel()
    assert [each.verdict for each in records] == ["regular", "regular"]
