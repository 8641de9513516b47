"""Programs made of shell scripts, for tests of how programs are run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import trio

from spielleiter.programs.program import Program
from spielleiter.programs.this_platform import PLATFORM
from tests.timeouts import HANG_TIMEOUT


class Runner:
    """Creates programs from shell scripts; their outputs are in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.out, self.error = folder / "out", folder / "error"
        self.tag = f"{folder}/test"

    def program(self, script: str, cores: Sequence[int] | None = None, cwd: str = "") -> Program:
        return self.command(["sh", "-c", script], cores, cwd)

    def command(self, arguments: Sequence[str], cores: Sequence[int] | None = None, cwd: str = "") -> Program:
        return Program(arguments, self.tag, self.out, self.error, cores, cwd)

    @property
    def running(self) -> list[str]:
        return [process.name for process in PLATFORM.find_tagged(self.tag)]


async def wait_until(condition: Callable[[], bool]) -> None:
    with trio.fail_after(HANG_TIMEOUT):
        while not condition():  # noqa: ASYNC110 - another process makes it true
            await trio.sleep(0.001)


def has_written(path: Path, text: str) -> bool:
    return path.exists() and text in path.read_text()


def lines(path: Path) -> list[str]:
    """Return the lines of an output without their times."""
    return [line[11:] for line in path.read_text().splitlines()]
