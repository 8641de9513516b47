"""Replays the recordings of an official server against ours, in virtual time, and says where the answers differ."""

import gzip
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import trio
from msgspec.structs import replace
from trio.testing import MockClock

from spielleiter.common.errors import first_error
from spielleiter.game.api import State
from spielleiter.server.app import Server
from spielleiter.server.config import Config
from spielleiter.server.core.policy import Edition
from spielleiter.server.net.fair_queue import WorkMeter
from tests.server.transcripts import DifferenceError, FixedStart, Line, Replayer, first_position, read_transcript

WithHidden = Callable[[State, str], State]
"""Adds what the wire does not show to a first position, from the exact start in the head of a recording."""

_EXACT = re.compile(r"^# start: (.*)$", re.MULTILINE)


def compare(edition: Edition, folder: Path, with_hidden: WithHidden | None = None) -> Iterator[str]:
    """Yield a line for each recording in the folder to which our server answers otherwise, then one with the numbers.

    Every byte of every packet has to be the same, apart from ids; so every position of every game is compared.
    """
    recordings = sorted(folder.rglob("*.txt")) + sorted(folder.rglob("*.txt.gz"))
    positions = different = 0
    for path in recordings:
        lines = read_transcript(path)
        positions += sum('class="memento"' in line.text for line in lines)
        try:
            trio.run(
                _replay, _with_start(edition, path, lines, with_hidden), lines, clock=MockClock(autojump_threshold=0)
            )
        except DifferenceError as error:
            different += 1
            yield f"{path.name}: {error}"
    yield f"{len(recordings)} conversations with {positions} positions, {different} of them answered otherwise"


async def _replay(edition: Edition, lines: list[Line]) -> None:
    server = Server(Config(), io.StringIO(), {edition.game_type: edition}, WorkMeter(lambda: 0.0, lambda: 0.0))
    may_explain = edition.dialect.is_strict and edition.policy.explains_protocol_errors
    difference: BaseException | None = None
    try:
        await Replayer(server, lines, may_explain=may_explain).run()
    except* DifferenceError as group:
        difference = group
    if difference is not None:
        raise first_error(difference)


def _with_start(edition: Edition, path: Path, lines: list[Line], with_hidden: WithHidden | None) -> Edition:
    """The edition, with games that all begin as the recorded one."""
    start = first_position(lines, edition.dialect)
    if start is None:
        return edition
    start = edition.game.resume(start)
    raw = path.read_bytes()
    exact = _EXACT.search((gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8"))
    if with_hidden and exact:
        start = with_hidden(start, exact[1])
    return replace(edition, rules=FixedStart(edition.game, start))
