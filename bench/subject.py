"""What is measured, as a process of its own: the real server, or the bare wire.

Law: every measurement has a fresh one, which is gone when the `with` statement is over, however that comes about. They
are in a process group of their own: Ctrl-C reaches the bench, and the bench ends them.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from spielleiter.bench.load.scripts import START_PIECE, Load

START_TIMEOUT: Final = 30.0
END_TIMEOUT: Final = 30.0
LOG_NAME: Final = "log"
START_LOOK: Final = 0.002  # seconds between two looks whether a server is there


class BenchError(Exception):
    """Something went wrong on the way; the text is one line."""


def start_python(arguments: Sequence[str], **more: Any) -> subprocess.Popen[str]:
    """Start the same Python with `arguments`. Modules are not looked for in the folder one happens to be in."""
    return subprocess.Popen([sys.executable, "-P", *arguments], text=True, process_group=0, **more)


def start_piped(module: str) -> subprocess.Popen[str]:
    """Start a module of ours, and be connected to its standard input, output and error."""
    pipe = subprocess.PIPE
    return start_python(["-m", module], stdin=pipe, stdout=pipe, stderr=pipe)


def end(process: subprocess.Popen[str]) -> None:
    """Let it end in good order, or end it."""
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
    process.terminate()
    try:
        process.wait(END_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def how_it_ended(process: subprocess.Popen[str]) -> str:
    """Waits for the end of a process whose standard error is a pipe: ``exit code 1: OSError: no such thing``."""
    said = "" if process.stderr is None else process.stderr.read()
    return ": ".join([f"exit code {process.wait()}", *said.splitlines()[-1:]])


@dataclass(frozen=True)
class Subject:
    """A process that listens on `port`."""

    pid: int
    port: int

    def _kib(self, field: str) -> int:
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii", errors="replace")
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(field))

    @property
    def resident_kib(self) -> int:
        """The memory it has now."""
        return self._kib("VmRSS:")

    @property
    def peak_kib(self) -> int:
        """The most it has had."""
        return self._kib("VmHWM:")


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[Subject]:
    """The server with its defaults, but for `options`: clocks, events, log and replays as anybody has them.

    What it writes is in `folder`, an empty one.
    """
    port_file, replays = folder / "port", folder / "replays"
    arguments = ["-m", "spielleiter", "serve", "--port", "0", "--port-file", str(port_file)]
    arguments += ["--start-piece", START_PIECE, "--save-replay", str(replays), *options]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("SPIELLEITER_")}
    with (folder / LOG_NAME).open("w", encoding="utf-8") as log:
        process = start_python(arguments, stdin=subprocess.DEVNULL, stderr=log, cwd=folder, env=environment)
    try:
        yield Subject(process.pid, _awaited_port(process, port_file))
    finally:
        end(process)


def results_in(folder: Path) -> Path:
    """Where `serving` has the server write how games ended."""
    return folder / "replays" / "results.jsonl"


def _awaited_port(process: subprocess.Popen[str], port_file: Path) -> int:
    deadline = time.perf_counter() + START_TIMEOUT
    while time.perf_counter() < deadline and process.poll() is None:
        text = port_file.read_text(encoding="ascii") if port_file.exists() else ""
        if text.strip():
            return int(text)
        time.sleep(START_LOOK)
    said = (port_file.parent / LOG_NAME).read_text(encoding="utf-8", errors="replace").splitlines()
    raise BenchError(f"the server does not start (exit code {process.poll()}): {' '.join(said[-1:])}")


@contextmanager
def relaying(load: Load, observers: int) -> Iterator[Subject]:
    """The bare wire, with the bytes of an edition's games."""
    told = {
        "scripts": [([memento.decode() for memento in each.mementos], each.seats) for each in load.scripts],
        "request": load.request.decode(),
        "observers": observers,
    }
    process = start_piped("spielleiter.bench.parts.floor")
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # then it has ended already
            process.stdin.write(json.dumps(told))
            process.stdin.close()
        port = process.stdout.readline()
        if not port:
            raise BenchError(f"the bare wire does not start ({how_it_ended(process)})")
        yield Subject(process.pid, int(port))
    finally:
        end(process)
