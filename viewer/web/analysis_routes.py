"""The address of the analysis: a process that estimates which moves cost most, and its progress as an event stream.

Invariants: the analysis never runs in the server's own process. One runs at a time, a few requests wait, and no process
outlives the page that has asked for it, nor `TIMEOUT` seconds. What the process writes is bounded and checked.
"""

from __future__ import annotations

import subprocess
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Annotated, Any, Final

import msgspec
import trio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from spielleiter.common.own_python import own_python
from spielleiter.viewer.web.answers import EventStreamResponse, SendFrame, WebError, frame
from spielleiter.viewer.web.bodies import read_json
from spielleiter.viewer.web.downloads import replay_of_room
from spielleiter.viewer.web.guard import client_share
from spielleiter.viewer.web.live_games import Hub
from spielleiter.viewer.web.replay_store import ReplayStore

MOST_WAITING: Final = 4
"""The number of requests that may wait for the analysis of another one."""
TIMEOUT: Final = 180.0
"""Seconds after which an analysis is given up."""
LONGEST_LINE: Final = 256 * 1024
COMMAND: Final = (*own_python(), "-P", "-m", "spielleiter.viewer.analysis", "--events", "-")

_PROGRESS: Final = "progress"
_EVENTS: Final = frozenset({_PROGRESS, "result", "failed"})
_FAILED: Final = {"error": {"de": "Die Analyse ist fehlgeschlagen.", "en": "The analysis has failed."}}
_TOO_SLOW: Final = {"error": {"de": "Die Analyse hat zu lange gedauert.", "en": "The analysis took too long."}}
_Text = Annotated[str, msgspec.Meta(max_length=300)]


class _AnalysisForm(msgspec.Struct):
    replay: _Text | None = None
    room: _Text | None = None


def analysis_routes(store: ReplayStore, hub: Hub, command: tuple[str, ...] = COMMAND) -> list[BaseRoute]:
    """Return the route; `command` is the process that reads a replay from its standard input."""
    running = trio.CapacityLimiter(1)

    async def analyse(request: Request) -> Response:
        """Server-sent events for `{"replay": …}` or `{"room": …}` of a game that is over.

        They are `progress`, then `result` or `failed`.
        """
        form = await read_json(request, _AnalysisForm)
        if (form.replay is None) == (form.room is None):
            raise WebError(
                400, "Erwartet wird genau eines von replay und room.", "Expected exactly one of replay and room."
            )
        content = await replay_content(form)
        if running.statistics().tasks_waiting >= MOST_WAITING:
            raise WebError(
                429,
                "Es warten schon zu viele Analysen; versuche es später noch einmal.",
                "Too many analyses are waiting; try again later.",
            )
        address = client_share(request)
        hub.open_stream(address)

        async def write(send_frame: SendFrame) -> None:
            async with running:
                await _analyse(command, content, send_frame)

        return EventStreamResponse(write, lambda: hub.close_stream(address))

    async def replay_content(form: _AnalysisForm) -> bytes:
        if form.replay is not None:
            return await store.content(form.replay)
        return await replay_of_room(hub, form.room or "")

    return [Route("/api/analysis", analyse, methods=["POST"])]


async def _analyse(command: tuple[str, ...], content: bytes, send_frame: SendFrame) -> None:
    """Run the process with the replay `content` as its input, and send its events; the last one says how it ended."""
    last = frame("failed", _FAILED)
    with trio.move_on_after(TIMEOUT) as scope:
        pipe = subprocess.PIPE
        process = await trio.lowlevel.open_process(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
        assert process.stdin is not None
        assert process.stdout is not None
        stdin = process.stdin

        async def write() -> None:
            async with stdin:
                with suppress(trio.BrokenResourceError):  # it has ended without reading everything; its output says why
                    await stdin.send_all(content)

        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(write)
                async with aclosing(_events(process.stdout)) as events:
                    async for event, data in events:
                        if event != _PROGRESS:
                            last = frame(event, data)
                            break
                        await send_frame(frame(event, data))
                nursery.cancel_scope.cancel()
        finally:
            process.kill()
            with trio.CancelScope(shield=True):
                await process.wait()
                await process.stdout.aclose()
    await send_frame(frame("failed", _TOO_SLOW) if scope.cancelled_caught else last)


async def _events(stream: trio.abc.ReceiveStream) -> AsyncGenerator[tuple[str, Any], None]:
    """Yield the events that the process writes, one line each; the rest of a line that is no event is ignored."""
    buffer = b""
    while data := await stream.receive_some():
        *lines, buffer = (buffer + bytes(data)).split(b"\n")
        for line in lines:
            try:
                found = msgspec.json.decode(line, type=dict[str, Any])
            except msgspec.DecodeError:
                continue
            event = found.pop("event", None)
            if event in _EVENTS:
                yield str(event), found
        if len(buffer) > LONGEST_LINE:
            return
