"""Replays the recordings of an official server against ours, in virtual time, and says where the answers differ."""

import io
from collections.abc import Iterator
from pathlib import Path

import trio
from trio.testing import MockClock

from spielleiter.common.errors import first_error
from spielleiter.server.app import Server
from spielleiter.server.config import Config
from spielleiter.server.core.policy import Edition
from spielleiter.server.net.fair_queue import WorkMeter
from tests.server.transcripts import DifferenceError, Line, Replayer, read_transcript, with_recorded_start


def compare(edition: Edition, folder: Path) -> Iterator[str]:
    """Yield a line for each recording in the folder to which our server answers otherwise, then one with the numbers.

    Every byte of every packet has to be the same, apart from ids; so every position of every game is compared.
    """
    recordings = sorted(folder.rglob("*.txt")) + sorted(folder.rglob("*.txt.gz"))
    positions = different = 0
    for path in recordings:
        lines = read_transcript(path)
        positions += sum('class="memento"' in line.text for line in lines)
        try:
            trio.run(_replay, with_recorded_start(edition, lines), lines, clock=MockClock(autojump_threshold=0))
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
