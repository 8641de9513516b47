"""Attacks by a league on the PCs that help it: it has the right code, and sends what no league should."""

from __future__ import annotations

import hashlib
import itertools
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec
import pytest
import trio

from spielleiter.league.certificate import Certificate, open_certificate
from spielleiter.league.frames import FrameStream, framed
from spielleiter.league.gate_messages import (
    MAX_CHUNK,
    MAX_HELLO,
    EndLease,
    FetchPackage,
    FromHelper,
    Hello,
    JoinLeague,
    LeasePrepared,
    OfferedProgram,
    PackageData,
    PrepareLease,
    Refused,
    StartRun,
    Welcome,
    decode_from_helper,
    decode_hello,
)
from spielleiter.league.helper import LEAST_SIZE, MAX_KEPT, MAX_PACKAGE, MAX_RUNS_PER_LEASE, Helper, LeagueAddress
from spielleiter.league.helper_code import HelperCode, new_secret
from spielleiter.programs.sandbox.plain import PlainSandbox
from tests.league.remote_league import LOOPBACK, machine_with
from tests.programs.packages.broken_packages import BROKEN
from tests.programs.packages.making import BOT, zipped
from tests.timeouts import HANG_TIMEOUT

pytestmark = pytest.mark.slow  # real connections

PLACES = 2
SOUND = zipped(BOT)


class FalseLeague:
    """Listens as a gate does, and leaves everything that follows to the test."""

    def __init__(self, certificate: Certificate, nursery: trio.Nursery) -> None:
        self.code = HelperCode(new_secret(), certificate.fingerprint)
        self.port = 0
        self.told: list[str] = []
        """What the PC has told its people."""
        self.most_running = 0
        self._certificate = certificate
        self._nursery = nursery
        self._coming, self._came = trio.open_memory_channel[tuple[Hello, FrameStream[Hello]]](1000)

    async def open(self) -> None:
        """Listen."""
        listeners = await trio.open_tcp_listeners(0, host=LOOPBACK)
        self.port = listeners[0].socket.getsockname()[1]
        self._nursery.start_soon(trio.serve_listeners, self._meet, listeners)

    async def _meet(self, raw: trio.SocketStream) -> None:
        stream = trio.SSLStream(raw, self._certificate.server_context(), server_side=True, https_compatible=True)
        frames = FrameStream(stream, decode_hello, MAX_HELLO)
        hello = await frames.receive()
        if hello is not None:
            self._coming.send_nowait((hello, frames))
            await trio.sleep_forever()

    def note_count(self, running: int, _finished: int) -> None:
        """Note how many programs run on the PC."""
        self.most_running = max(self.most_running, running)

    async def next(self) -> tuple[Hello, FrameStream[Hello]]:
        """Return the first message of the next connection, and that connection."""
        with trio.fail_after(HANG_TIMEOUT):
            return await self._came.receive()

    async def answer(self, frames: FrameStream[FromHelper]) -> FromHelper | None:
        """Return what the PC says next; None if it has ended the connection."""
        with trio.fail_after(HANG_TIMEOUT):
            return await frames.receive()

    async def send_package(self, content: bytes) -> None:
        """Send this to the PC, which fetches a package."""
        hello, frames = await self.next()
        assert isinstance(hello, FetchPackage)
        for start in range(0, len(content), MAX_CHUNK):
            await frames.send(PackageData(content[start : start + MAX_CHUNK]))
        await frames.stream.aclose()


@asynccontextmanager
async def misled(folder: Path) -> AsyncIterator[tuple[FalseLeague, FrameStream[FromHelper]]]:
    """A PC without a sandbox that the false league allows to run programs; its connection that stays."""
    async with trio.open_nursery() as nursery:
        league = FalseLeague(open_certificate(folder), nursery)
        await league.open()
        sandbox = PlainSandbox()
        address = LeagueAddress(LOOPBACK, league.port, league.code)
        helper = Helper(address, sandbox, machine_with(sandbox), PLACES, league.told.append, league.note_count)
        nursery.start_soon(helper.run)
        hello, frames = await league.next()
        assert isinstance(hello, JoinLeague)
        await frames.send(Welcome("pc", may_run_unconfined=True))
        yield league, frames.followed_by(decode_from_helper, MAX_HELLO)
        nursery.cancel_scope.cancel()


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, in which a PC unpacks packages."""
    folder = tmp_path / "temporary" / "of" / "this" / "pc"
    folder.mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def files_in(folder: Path, name: str = "*") -> set[Path]:
    return {each for each in folder.rglob(name) if each.is_file()}


async def send_forever(send: Callable[[int], Awaitable[object]]) -> None:
    """Send, and read nothing, until the PC has closed the connection."""
    with trio.fail_after(HANG_TIMEOUT), suppress(trio.BrokenResourceError):
        for number in itertools.count(1):
            await send(number)


def offered(content: bytes, size: int | None = None, main: str = "") -> OfferedProgram:
    digest = hashlib.sha256(content).hexdigest()
    return OfferedProgram(digest, len(content) if size is None else size, main, (), ())


# -- packages ---------------------------------------------------------------------------------------------------------

HOSTILE = {
    name: sample.content
    for name, sample in BROKEN.items()
    if sample.code
    in {"leaves-folder", "absolute-path", "symbolic-link", "special-file", "zip-bomb", "too-many-files", "not-a-zip"}
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
async def test_a_hostile_package_is_refused_and_leaves_nothing(tmp_path: Path, temporary: Path, content: bytes) -> None:
    async with misled(tmp_path) as (league, frames):
        before = files_in(tmp_path)
        await frames.send(PrepareLease(1, (offered(content),)))
        await league.send_package(content)
        answer = await league.answer(frames)
        assert isinstance(answer, LeasePrepared)
        assert answer.problem
        assert files_in(tmp_path) == before
        await frames.send(EndLease(1))
        await frames.send(PrepareLease(2, (offered(SOUND),)))
        await league.send_package(SOUND)
        assert await league.answer(frames) == LeasePrepared(2)


@pytest.mark.parametrize("main", ["../../../../../../bin/sh", "/bin/sh", "..", "bot.py/../../x"])
async def test_what_is_not_in_the_package_is_not_started(tmp_path: Path, temporary: Path, main: str) -> None:
    async with misled(tmp_path) as (league, frames):
        await frames.send(PrepareLease(1, (offered(SOUND, main=main),)))
        await league.send_package(SOUND)
        answer = await league.answer(frames)
        assert isinstance(answer, LeasePrepared)
        assert answer.program == 0


async def test_another_package_than_the_offered_one_is_not_taken(tmp_path: Path, temporary: Path) -> None:
    async with misled(tmp_path) as (league, frames):
        await frames.send(PrepareLease(1, (offered(SOUND),)))
        await league.send_package(zipped({**BOT, "other.txt": "x"}))
        answer = await league.answer(frames)
        assert isinstance(answer, LeasePrepared)
        assert "not the whole package" in answer.problem


async def test_a_package_that_is_too_large_is_not_fetched(tmp_path: Path, temporary: Path) -> None:
    async with misled(tmp_path) as (league, frames):
        await frames.send(PrepareLease(1, (offered(SOUND, MAX_PACKAGE + 1),)))
        answer = await league.answer(frames)
        assert isinstance(answer, LeasePrepared)
        assert "at most are taken" in answer.problem


@pytest.mark.parametrize("data", [b"x" * MAX_CHUNK, b""], ids=["bytes", "nothing"])
async def test_a_package_without_end_is_cut_off(tmp_path: Path, temporary: Path, data: bytes) -> None:
    async with misled(tmp_path) as (league, frames):
        await frames.send(PrepareLease(1, (offered(SOUND),)))
        _, fetching = await league.next()
        await send_forever(lambda _number: fetching.send(PackageData(data)))
        answer = await league.answer(frames)
        assert isinstance(answer, LeasePrepared)
        assert answer.problem


async def test_packages_fill_no_disk(tmp_path: Path, temporary: Path) -> None:
    most = MAX_KEPT // LEAST_SIZE
    async with misled(tmp_path) as (league, frames):
        for number in range(most + 5):
            content = zipped({**BOT, "number.txt": str(number)})
            await frames.send(PrepareLease(number, (offered(content),)))
            await league.send_package(content)
            assert await league.answer(frames) == LeasePrepared(number)
            await frames.send(EndLease(number))
        assert len(files_in(temporary, "number.txt")) == most


# -- leases -----------------------------------------------------------------------------------------------------------


async def test_a_lease_that_has_ended_is_answered_too(tmp_path: Path, temporary: Path) -> None:
    async with misled(tmp_path) as (league, frames):
        await frames.send(PrepareLease(1, (offered(SOUND),)))
        assert isinstance((await league.next())[0], FetchPackage)
        await frames.send(EndLease(1))
        answer = await league.answer(frames)
        assert isinstance(answer, LeasePrepared)
        assert answer.lease == 1
        assert answer.problem


Flood = Callable[[int], list[msgspec.Struct]]
FLOODS: dict[str, Flood] = {
    "more leases than places": lambda n: [PrepareLease(n, (offered(b"x"),))],
    "one lease again and again": lambda n: [PrepareLease(1, (offered(b"%d" % n),))],
    "leases that end at once": lambda n: [PrepareLease(n, (offered(b"x"),)), EndLease(n)],
    "a lease of many programs": lambda n: [PrepareLease(n, (offered(b"x"),) * 200), EndLease(n)],
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
async def test_a_league_that_wants_too_much_is_left(tmp_path: Path, temporary: Path, flood: Flood) -> None:
    async with misled(tmp_path) as (league, frames):
        await send_forever(lambda number: frames.stream.send_all(b"".join(map(framed, flood(number)))))
        with trio.fail_after(HANG_TIMEOUT):
            assert isinstance((await league.next())[0], JoinLeague | FetchPackage)
        assert "trying again" in league.told[-1]


async def test_a_lease_has_few_programs_at_a_time(tmp_path: Path, temporary: Path) -> None:
    async with misled(tmp_path) as (league, frames):
        await frames.send(PrepareLease(1, (offered(SOUND),)))
        await league.send_package(SOUND)
        assert await league.answer(frames) == LeasePrepared(1)
        for number in range(5 * MAX_RUNS_PER_LEASE):
            await frames.send(StartRun(number, 1, 0, "r", "1", "game"))
        for _ in range(MAX_RUNS_PER_LEASE):
            await league.next()
        assert league.most_running == MAX_RUNS_PER_LEASE


# -- words ------------------------------------------------------------------------------------------------------------


async def test_words_of_the_league_are_no_commands_for_the_terminal(tmp_path: Path) -> None:
    async with trio.open_nursery() as nursery:
        league = FalseLeague(open_certificate(tmp_path), nursery)
        await league.open()
        words = ["help-league", f"{LOOPBACK}:{league.port}", league.code.text]
        process = await trio.lowlevel.open_process(
            [sys.executable, "-m", "spielleiter", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        _, frames = await league.next()
        await frames.send(Welcome("pc\x1b]0;evil\x07", may_run_unconfined=True))
        await frames.send(Refused("\x1b[2Jgone"))
        assert process.stdout is not None
        with trio.fail_after(HANG_TIMEOUT):
            said = b"".join([data async for data in process.stdout])
            await process.wait()
        nursery.cancel_scope.cancel()
    assert b"evil" in said
    assert b"gone" in said
    assert b"\x1b" not in said
