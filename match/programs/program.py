"""How a program is started, watched and ended.

Invariants: once `run` is over, finished or cancelled, nothing the program has started is alive, in any session and with
any environment. On Linux a keeper (match/programs/kept_process.py) sees to it, elsewhere
match/programs/unkept_process.py does what the system allows. What a program writes is kept, with the second it came;
one that writes without end fills no disk. Its processor time is counted to the end.

Windows has no readable pipes of this kind; there, threads read.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO, Final

import trio

from spielleiter.client.strategies import STRATEGIES
from spielleiter.match.errors import NotStartedError, SetupError
from spielleiter.match.programs.command_line import split_command
from spielleiter.match.programs.kept_process import TOLD, KeptProcess, Start, start_kept_process
from spielleiter.match.programs.output import Output
from spielleiter.match.programs.processes import MARK, ProcessInfo, Usage
from spielleiter.match.programs.unkept_process import UnkeptProcess

BUILTIN: Final = "builtin:"
PLACES: Final = ("host", "port", "reservation", "seed", "game")
"""What a command line may hold in braces."""

_PLACE: Final = re.compile(r"(?<!\$)\{(\w+)\}")  # but not the shell's ${name}
_CHUNK: Final = 64 * 1024
_FAREWELL: Final = 0.5  # seconds for a process to end that was asked to, and for what is left in the pipes


@dataclass(frozen=True, slots=True)
class Command:
    """A program's command line; `words` may hold places in braces."""

    text: str
    words: tuple[str, ...]

    @classmethod
    def parse(cls, text: str, cwd: str = "", platform: str = sys.platform) -> Command:
        """A command line, the path of a program or .jar file, or ``builtin:`` and a strategy. Raises SetupError.

        `cwd` is the directory that relative paths begin at (empty: the current one), `platform` a value of
        `sys.platform`. The path of a file that exists is one word, whatever is in it. A word that begins with ``~``
        means a home folder, as in a shell.
        """
        if text.startswith(BUILTIN):
            return cls(text, _builtin_words(text))
        if _is_file(cwd, path := os.path.expanduser(text)):  # noqa: PTH111 - Path's form raises
            words = [path]
        else:
            try:
                words = [os.path.expanduser(word) for word in split_command(text, platform)]  # noqa: PTH111
            except ValueError as error:
                raise SetupError(f"program {text!r}: {str(error).lower()}") from None
        if not words:
            raise SetupError("program '': expected a command line")
        for place in _PLACE.findall(text):
            if place not in PLACES:
                known = ", ".join(f"{{{each}}}" for each in PLACES)
                raise SetupError(f"program {text!r}: there is no place {{{place}}}, expected {known}")
        if words[0].lower().endswith(".jar"):
            words = ["java", "-jar", *words]
        else:
            words[0] = _found(words[0], cwd, platform)
        if not any(f"{{{place}}}" in text for place in ("host", "port", "reservation")):
            words += ["-h", "{host}", "-p", "{port}", "-r", "{reservation}"]
        return cls(text, tuple(words))

    def arguments(self, places: Mapping[str, str]) -> list[str]:
        """The words with all of PLACES filled in."""
        return [_PLACE.sub(lambda found: places.get(found[1], found[0]), word) for word in self.words]


def _found(word: str, cwd: str, platform: str) -> str:
    """The program's file, as the system has to be told of it; files of the directory need no sign before the name."""
    is_path = "/" in word or (platform == "win32" and "\\" in word)
    if not _is_file(cwd, word) or not (is_path or shutil.which(word) is None):
        return word
    if platform == "win32":  # which begins relative paths at the directory of this process
        return str(Path(cwd, word).absolute())
    return word if is_path else f"./{word}"


def _is_file(cwd: str, path: str) -> bool:
    return os.path.isfile(os.path.join(cwd, path))  # noqa: PTH113, PTH118 - Path's form raises


def _builtin_words(text: str) -> tuple[str, ...]:
    name = text.removeprefix(BUILTIN)
    if name not in STRATEGIES:
        raise SetupError(f"program {text!r}: there is no such strategy, expected {', '.join(STRATEGIES)}")
    # -P: the working directory may hold a module of a pupil's with the name of one of ours
    play = (sys.executable, "-P", "-m", "spielleiter", "play", "--strategy", name)
    chosen = ("--game", "{game}", "--seed", "{seed}")
    return (*play, *chosen, "-h", "{host}", "-p", "{port}", "-r", "{reservation}")


class Program:
    """A process and all it starts; `mark` names it in their environment.

    It is started in the directory `cwd`; empty: the current one. `exited` is set once the process itself has ended,
    `gone` once nothing of it is left; `returncode` is as in subprocess, negative for a signal. `cores` are those that
    it may use, None: any. `stdin` is a descriptor for its standard input; None: there is nothing to
    read.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        mark: str,
        out: Path,
        error: Path,
        cores: Iterable[int] | None = None,
        cwd: str = "",
        *,
        environment: Mapping[str, str] = MappingProxyType({}),
        memory: int | None = None,
        stdin: int | None = None,
    ) -> None:
        self.exited = trio.Event()
        self.gone = trio.Event()
        self.returncode: int | None = None
        self.cpu_seconds = 0.0
        self.peak_memory = 0
        """Bytes that it had in memory at most, once it has ended; 0 where that is not known."""
        self.was_ended = False
        """Whether it had to be ended by us."""
        self.leftovers: tuple[ProcessInfo, ...] = ()
        """What outlived the process when it had ended by itself."""
        self._start = Start(
            arguments=list(arguments),
            cwd=cwd or None,
            environment={**os.environ, **environment, MARK: mark},
            cores=None if cores is None else tuple(cores),
            memory=memory,
            stdin=stdin,
        )
        self._outputs = Output(out), Output(error)
        self._process: KeptProcess | UnkeptProcess | None = None

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Start the process and stay with it until it and its children are gone. Raises NotStartedError."""
        started = trio.current_time()
        try:
            process = self._process = await trio.to_thread.run_sync(start_process, self._start)
        except (OSError, ValueError) as error:
            raise NotStartedError(_why_not(self._start.arguments[0], error, self._start.cwd)) from None
        try:
            task_status.started()
            async with trio.open_nursery() as watching:
                watching.start_soon(process.watch_keeper)
                async with trio.open_nursery() as copying:
                    for stream, output in zip((process.stdout, process.stderr), self._outputs, strict=True):
                        copying.start_soon(_copy, stream, output, started)
                    await process.wait()
                    self._note_end(process)
                    await process.see_off()
                    if not self.was_ended:
                        self.leftovers = process.leftovers
                    copying.cancel_scope.deadline = trio.current_time() + _FAREWELL  # what is in the pipes still counts
                watching.cancel_scope.cancel()
        finally:
            with trio.CancelScope(shield=True):
                if not self.exited.is_set():
                    self.was_ended = True
                await process.end()
                self._note_end(process)
                self.gone.set()

    @property
    def keeper_stops(self) -> int:
        """How often the process that keeps this one was found stopped."""
        return 0 if self._process is None else self._process.keeper_stops

    @property
    def has_stopped_keeper(self) -> bool:
        """Whether that was so often that the program was ended for it."""
        return self._process is not None and self._process.has_stopped_keeper

    @property
    def seconds_spent(self) -> float:
        """Processor time of the process and all that it has started: up to now, or to the end."""
        if self._process is None or self.exited.is_set():
            return self.cpu_seconds
        return self._process.seconds_so_far

    def _note_end(self, process: KeptProcess | UnkeptProcess) -> None:
        self.returncode, self.cpu_seconds = process.returncode, process.cpu_seconds
        self.peak_memory = process.peak_memory
        self.exited.set()

    def turn_outputs(self, out: Path, error: Path) -> None:
        """From here on what the program writes goes to these files. Raises OSError."""
        for output, path in zip(self._outputs, (out, error), strict=True):
            output.turn_to(path)

    async def end(self, patience: float) -> None:
        """Wait for the process to end itself; end it and its group after `patience` seconds.

        Does nothing for one that could not be started.
        """
        process = self._process
        if process is None:
            return
        if await self._ends_within(process, patience):
            return
        self.was_ended = True
        process.terminate()
        with trio.move_on_after(_FAREWELL):
            await self.exited.wait()
            return
        await process.kill()
        with trio.move_on_after(TOLD):
            await self.exited.wait()
        await process.end_keeper()
        await self.exited.wait()

    async def _ends_within(self, process: KeptProcess | UnkeptProcess, patience: float) -> bool:
        """Whether it ends by itself in so many seconds; those that it spends waiting for a processor are added once."""
        before = Usage.of(self.pids) if patience else Usage({})
        with trio.move_on_after(patience):
            await self.exited.wait()
            return True
        if patience:
            with trio.move_on_after(Usage.of(self.pids).seconds_lost(before, patience, os.cpu_count() or 1)):
                await self.exited.wait()
                return True
        if process.has_ended:  # and this process had no time to notice, or the program has stopped its keeper
            process.wake_keeper()
            with trio.move_on_after(TOLD):
                await self.exited.wait()
        return self.exited.is_set()

    @property
    def pids(self) -> tuple[int, ...]:
        """The process and what it has started so far; without a keeper, only in its session."""
        return () if self._process is None else self._process.pids

    def find_all(self) -> tuple[int, ...]:
        """The same, found without fail where there are keepers. Reads a file of every process of this machine."""
        return () if self._process is None else self._process.find_all()


def start_process(start: Start) -> KeptProcess | UnkeptProcess:
    """Start a program, with a keeper if there are any. Takes a moment. Raises OSError, ValueError and KeeperError."""
    return start_kept_process(start) or UnkeptProcess(start)


class _ThreadedPipe(trio.abc.ReceiveStream):
    """A pipe that is read in threads, for systems on which an event loop cannot wait for pipes.

    A read that is cancelled goes on in its thread, which keeps the pipe open until the other end is closed.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._is_reading = False
        self._is_closed = False

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        self._is_reading = True
        return await trio.to_thread.run_sync(self._read, max_bytes or _CHUNK, abandon_on_cancel=True)

    async def aclose(self) -> None:
        self._is_closed = True
        if not self._is_reading:
            self._stream.close()
        await trio.lowlevel.checkpoint()

    def _read(self, max_bytes: int) -> bytes:
        try:
            return self._stream.read(max_bytes)
        finally:
            self._is_reading = False
            if self._is_closed:
                self._stream.close()


def open_pipe(stream: IO[bytes]) -> trio.abc.ReceiveStream:
    """A process's output, to be read by an event loop; `stream` is its from now on."""
    if not hasattr(trio.lowlevel, "FdStream"):  # Windows
        return _ThreadedPipe(stream)
    with stream:
        return trio.lowlevel.FdStream(os.dup(stream.fileno()))


async def _copy(stream: IO[bytes], output: Output, started: float) -> None:
    """Hand every chunk that comes to `output`, with the seconds since `started`."""
    async with open_pipe(stream) as pipe:
        output.open()
        try:
            while chunk := await pipe.receive_some(_CHUNK):
                output.write(bytes(chunk), trio.current_time() - started)
        finally:
            output.close()


def _why_not(word: str, error: OSError | ValueError, cwd: str | None) -> str:
    """Why the program cannot be started, and what may help."""
    if isinstance(error, ValueError):  # a zero byte in a word
        return f"{word!r}: {error}"
    if cwd is not None and not Path(cwd).is_dir():
        return f"{cwd}: the directory to start {word} in does not exist"
    if error.errno == errno.ENOENT:
        if Path(cwd or "", word).exists():
            return f"{word}: the interpreter that its first line names does not exist"
        return f"{word}: there is no such program"
    if error.errno == errno.EACCES:
        return f"{word}: is not executable"
    if error.errno == errno.ENOEXEC:
        return f"{word}: is no program of this machine, and no first line (#!) says what runs it"
    return f"{word}: {error.strerror or error}"
