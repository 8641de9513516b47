"""Recorded conversations are sent to a real server again, and differences are found."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import trio

from spielleiter.client.player import Player
from spielleiter.client.responders import make_responder
from spielleiter.server.app import Listening, serve
from spielleiter.server.config import Config
from spielleiter.server.editions import EDITIONS
from spielleiter.wire.replayer import ReplayConnection, Replayer, ReplayReport, UnreachableError
from spielleiter.wire.trace_reader import CUT, PASSWORD, Recording, Step, read_recordings
from spielleiter.wire.trace_writer import Recorder
from tests.timeouts import HANG_TIMEOUT, retry_with_longer_limits

JOIN = b'<join gameType="swc_2027_blokus"/>'
OLD = b"7b40729d-1d82-4718-8dcb-08bd5eaada5e"


class _Log:
    def write(self, _line: str) -> None: ...
    def flush(self) -> None: ...
    def isatty(self) -> bool:
        return False


@asynccontextmanager
async def server(**settings: Any) -> AsyncIterator[int]:
    """The port of a server; when the block is left, its traces are complete."""
    config = Config(port=0, viewer=None, seed=1, start_piece="PENTO_V", close_timeout=HANG_TIMEOUT, **settings)
    stop = trio.Event()
    with trio.fail_after(HANG_TIMEOUT):
        async with trio.open_nursery() as nursery:

            async def run(task_status: trio.TaskStatus[Listening]) -> None:
                await serve(config, stop=stop, log_file=_Log(), recorder=Recorder, task_status=task_status)

            listening: Listening = await nursery.start(run)
            yield listening.addresses[0][1]
            stop.set()


def step(data: bytes = b"", event: str = "", *, is_to_server: bool = True, instant: float = 0.0, **more: Any) -> Step:
    return Step(instant, "c", is_to_server, 7, data, event, **more)


def answer(data: bytes = b"", event: str = "", **more: Any) -> Step:
    return step(data, event, is_to_server=False, **more)


async def replay(port: int, *steps: Step, limit: float = HANG_TIMEOUT, **more: Any) -> ReplayReport:
    recording = Recording(list(steps))
    return await Replayer(recording, ("127.0.0.1", port), timeout=limit, password="examplepassword", **more).run()


def whats(report: ReplayReport) -> list[str]:
    return [difference.what for difference in report.differences]


async def record_game(folder: Path, edition: str, *strategies: str) -> Recording:
    """Record a game of two built-in players."""
    dialect, game_type = EDITIONS[edition].dialect, EDITIONS[edition].game_type

    async def play(port: int, strategy: str, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        async with Player.connect(port=port, dialect=dialect) as player:
            await player.join(game_type)
            task_status.started()
            await player.play_with(make_responder(strategy, seed=1))

    async with server(trace_directory=folder) as port, trio.open_nursery() as nursery:
        await nursery.start(play, port, strategies[0])
        nursery.start_soon(play, port, strategies[1])
    return read_recordings(await trio.to_thread.run_sync(lambda: sorted(folder.glob("*.txt"))))


@pytest.mark.slow
async def test_a_whole_game_is_the_same_again(tmp_path: Path) -> None:
    recording = await record_game(tmp_path, "hase-und-igel-2018", "first", "hui-greedy")  # a short game
    async with server() as port:
        report = await Replayer(recording, ("127.0.0.1", port), timeout=HANG_TIMEOUT, password="x").run()
    assert (report.differences, report.notes, report.ids) == ([], [], 1)
    assert report.compared > 40


async def test_another_start_piece_is_named_by_its_option(tmp_path: Path) -> None:
    recording = await record_game(tmp_path, "blokus-2027", "first", "illegal")
    for each in recording.steps:
        each.data = each.data.replace(b"PENTO_V", b"PENTO_X") if b"<state " in each.data else each.data
    async with server() as port:
        report = await Replayer(recording, ("127.0.0.1", port), timeout=HANG_TIMEOUT, password="x").run()
    assert "start the server with `--start-piece PENTO_X`" in report.notes[-1]


async def test_equal_answers() -> None:
    async with server() as port:
        report = await replay(
            port,
            step(event="(connects)"),
            step(b"<protocol>" + JOIN),
            step(event="!!"),
            answer(b"<protocol>"),
            answer(b'\n  <joined roomId="' + OLD + b'"/>'),
            step(event="(FIN)"),
            answer(event="(FIN)"),
            step(b"<late/>"),
        )
    assert (report.differences, report.sent, report.compared, report.ids) == ([], 1, 2, 1)
    assert (report.notes, report.gaps, report.not_compared) == ([], [], 0)


async def test_a_password_takes_the_place_of_the_hidden_one(tmp_path: Path) -> None:
    path = tmp_path / "trace.txt"
    lines = ('->  <protocol><authenticate password="\\*"/><observe roomId="x"/>', "<-  <protocol>")
    await trio.Path(path).write_text("".join(f"   0.000000   +0.000  c1     {line}\n" for line in lines))
    async with server() as port:
        report = await replay(port, *read_recordings([path]).steps)
    assert (report.differences, report.passwords) == ([], 1)


@asynccontextmanager
async def silent_server() -> AsyncIterator[int]:
    """The port of a server that accepts connections and sends nothing."""
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with listener:
        yield listener.socket.getsockname()[1]


@pytest.mark.parametrize(
    ("before", "wait"),
    [
        ((), 3.5),
        ((step(event="!!", instant=2.5),), 3.5),
        ((step(event="(connects)", instant=2.0),), 3.5),
        ((step(b"<join/>", instant=2.0),), 3.5),  # the pause is left out: the answer may belong to the packet before
    ],
    ids=("nothing", "note", "connects", "sends"),
)
@pytest.mark.parametrize("keeps_times", [False, True])
async def test_an_answer_is_waited_for_as_long_as_in_the_recording_and_longer(
    autojump_clock: trio.testing.MockClock, before: tuple[Step, ...], wait: float, keeps_times: bool
) -> None:
    async with silent_server() as port:
        began = trio.current_time()
        steps = (step(b"<protocol>"), *before, answer(b"<protocol>", instant=2.5))
        report = await replay(port, *steps, limit=1.0, keeps_times=keeps_times)
    assert [each.partition(" within")[0] for each in whats(report)] == ["no answer came"]
    assert trio.current_time() - began == wait


@pytest.mark.slow
@pytest.mark.parametrize("keeps_times", [False, True])
async def test_a_recorded_timeout_happens_again(tmp_path: Path, keeps_times: bool) -> None:
    """The recording has a note just before the answers that follow from the timeout."""

    async def think_forever(_player: Player, _state: object) -> None:
        await trio.sleep_forever()

    async def join(port: int, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        async with Player.connect(port=port) as player:
            await player.join("swc_2027_blokus")
            task_status.started()
            await player.play_with(think_forever)

    async def attempt(limit: float) -> None:
        folder = tmp_path / f"{limit}"
        settings = {"soft_timeout": limit, "hard_timeout": limit, "grace": 0.0}
        async with server(trace_directory=folder, **settings) as port, trio.open_nursery() as nursery:
            await nursery.start(join, port)
            await nursery.start(join, port)
        recording = read_recordings(await trio.to_thread.run_sync(lambda: sorted(folder.glob("*.txt"))))
        assert "!!" in [each.event for each in recording.steps]
        async with server(**settings) as port:
            report = await Replayer(
                recording, ("127.0.0.1", port), timeout=limit / 2, password="x", keeps_times=keeps_times
            ).run()
        assert (report.differences, report.notes) == ([], [])
        assert report.compared > 5

    await retry_with_longer_limits(attempt, 0.6)


async def test_a_server_that_closes_too_early_or_not_at_all() -> None:
    async with server() as port:
        bad = step(b"<protocol><join></room>")
        report = await replay(port, bad, *[answer(b"<a>")] * 6, answer(b"<b>"))
        assert whats(report)[-1] == "the server has closed the connection instead of this answer"
        report = await replay(
            port, step(b"<protocol>" + JOIN), answer(b"<protocol>"), answer(event="(FIN)"), answer(b"x")
        )
        assert whats(report) == ["the server has sent something instead of closing the connection"]


async def test_what_is_missing_ends_the_replay() -> None:
    begin = (step(b"<protocol>" + JOIN), answer(b"<protocol>"))
    joined = answer(b'\n  <joined roomId="' + OLD + b'"/>')
    half = replace(joined, data=joined.data[:-20], may_be_incomplete=True)
    after = (answer(b"<a/>"), answer(b"<b/>"), step(b"<c/>"))
    where = "line 7 (c, 0.000 s): "
    async with server() as port:
        for missing, compared, not_compared, gap in (
            (step(left_out=9), 1, 2, "the recording lacks 9 bytes that the client sent"),
            (answer(left_out=1), 1, 2, "the recording lacks 1 byte that the server sent"),
            (half, 1, 3, "the recording lacks the end of this answer"),
            (replace(joined, event=CUT, data=b"", text="too large"), 1, 2, "the recording ends early (too large)"),
        ):
            report = await replay(port, *begin, missing, *after)
            assert (report.compared, report.not_compared) == (compared, not_compared)
            assert report.gaps == [f"{where}{gap}; stopped here"]
            assert (report.differences, report.notes) == ([], [])


async def test_what_is_there_of_an_answer_is_compared() -> None:
    begin = (step(b"<protocol>" + JOIN), answer(b"<protocol>"))
    joined = answer(b'\n  <joined roomId="' + OLD + b'"/>')
    async with server() as port:
        report = await replay(port, *begin, replace(joined, data=joined.data[:-2], left_out=2))
        assert report.compared == 2
        assert report.gaps == [
            "line 7 (c, 0.000 s): the recording lacks 2 bytes that the server sent; only what is there was compared"
        ]
        report = await replay(port, *begin, replace(joined, may_be_incomplete=True))
        assert (report.compared, report.gaps, report.differences) == (2, [], [])
        report = await replay(port, *begin, answer(b"<left/><x", may_be_incomplete=True))
        assert whats(report) == ["the answer differs"]


async def test_sending_after_the_end_is_a_difference() -> None:
    async with server() as port:
        report = await replay(port, step(b"<protocol>"), step(event="(FIN)"), step(b"<late/>"))
    assert whats(report) == ["the server has closed the connection already; this could not be sent"]


async def test_the_pauses_of_the_client_can_be_kept(autojump_clock: trio.testing.MockClock) -> None:
    async with silent_server() as port:
        began = trio.current_time()
        await replay(
            port,
            step(b"<a>"),
            step(event="!!", instant=2.0),
            step(b"<b>", instant=2.25),
            step(event="(RST)", instant=2.25),
            step(b"<never>", instant=9.0),
            keeps_times=True,
        )
    assert trio.current_time() - began == 2.25


async def test_more_than_was_recorded_is_said() -> None:
    begin = (step(b"<protocol>" + JOIN), answer(b"<protocol>"))
    joined = answer(b'\n  <joined roomId="' + OLD + b'"/>')
    async with server() as port:
        report = await replay(port, *begin)
        assert report.differences == []
        assert [note[:82] for note in report.notes] == [
            "c: the server has sent more after the last recorded answer, first of all `<joined "
        ]
        assert (await replay(port, *begin, joined)).notes == []
        assert (await replay(port, *begin, replace(joined, event=CUT, data=b""))).notes == []


async def test_a_server_that_accepts_no_connection(monkeypatch: pytest.MonkeyPatch, autojump_clock: object) -> None:
    async def hang(*_address: object) -> None:
        await trio.sleep_forever()

    monkeypatch.setattr(trio, "open_tcp_stream", hang)
    with pytest.raises(UnreachableError, match=r"127.0.0.1:1 cannot be reached \(it does not answer within 10 s\)"):
        await replay(1, step(b"<protocol>"))


@pytest.mark.slow
async def test_a_server_that_does_not_read_is_waited_for_only_so_long() -> None:
    with trio.fail_after(HANG_TIMEOUT):
        async with trio.open_nursery() as nursery:
            (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
            port = listener.socket.getsockname()[1]
            nursery.start_soon(trio.serve_listeners, _never_read, [listener])
            report = await replay(port, step(bytes(16 * 1024 * 1024)), answer(b"<late/>"), limit=0.05)
            nursery.cancel_scope.cancel()
    assert whats(report) == ["the server did not take this within 0.1 s; stopped here"]
    assert (report.sent, report.compared) == (0, 0)


async def _never_read(_stream: trio.SocketStream) -> None:
    await trio.sleep_forever()


async def test_an_echoed_password_is_not_shown() -> None:
    authenticate = b'<authenticate password="%b"/>' % PASSWORD
    async with server(password="something-else") as port:
        report = await replay(port, step(b"<protocol>"), step(authenticate), answer(b"<protocol>"), answer(b"<ok/>"))
    assert report.differences
    assert "examplepassword" not in f"{report}"


class _Endless:
    """A stream of packets of 1 KiB."""

    received = 0

    async def receive_some(self, _size: int) -> bytes:
        await trio.lowlevel.checkpoint()
        self.received += 1
        assert self.received < 100
        return (b"<protocol>" if self.received == 1 else b"") + b"<p>" + b"x" * 1017 + b"</p>"


async def test_what_waits_to_be_compared_is_bounded(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    monkeypatch.setattr("spielleiter.wire.replayer.MOST_WAITING_BYTES", 16 * 1024)
    stream = _Endless()
    connection = ReplayConnection("c", cast("trio.SocketStream", stream))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(connection.read)
        await trio.sleep(1)
        before = stream.received
        assert before <= 17
        assert await connection.next_packet() == b"<protocol>"
        assert await connection.next_packet()
        await trio.sleep(1)
        assert before < stream.received <= before + 2
        nursery.cancel_scope.cancel()


async def test_the_ends_of_a_client() -> None:
    async with server() as port:
        for event in ("(closes the connection)", "(RST)"):
            report = await replay(port, step(b"<protocol>"), step(event=event), answer(b"<never/>"))
            assert (report.differences, report.compared) == ([], 0)
        assert (await replay(port, answer(event="(still open at the end)"))).differences == []
