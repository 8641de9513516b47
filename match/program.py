"""How a program is started, watched and ended.

Invariants: once `run` is over, finished or cancelled, nothing the program has started is alive. What it writes is kept,
with the second it came; a program that writes without end fills no disk. Its processor time is counted to the end.

Windows has no process groups, wait status or readable pipes of this kind. There, threads wait and read, `taskkill` ends
a process with its descendants, children that outlive their parent are not found, and processor times are not known.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import trio

from client.strategies import STRATEGIES
from match.command_line import split_command
from match.errors import NotStartedError, SetupError
from match.output import Output
from match.processes import MARK, ProcessInfo, Usage, find_processes, kill_processes, living, session_members

BUILTIN: Final = "builtin:"
PLACES: Final = ("host", "port", "reservation", "seed", "game")
"""What a command line may hold in braces."""

_PLACE: Final = re.compile(r"(?<!\$)\{(\w+)\}")  # but not the shell's ${name}
_CHUNK: Final = 64 * 1024
_POLL: Final = 0.02  # seconds between looks at processes that nobody tells us about
_FAREWELL: Final = 0.5  # seconds in which children may end that outlive their parent
_KILLED: Final = 5.0  # seconds after which we no longer believe that a kill works


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
    play = (sys.executable, "-m", "spielleiter", "play", "--strategy", name)
    chosen = ("--game", "{game}", "--seed", "{seed}")
    return (*play, *chosen, "-h", "{host}", "-p", "{port}", "-r", "{reservation}")


class Program:
    """A process and all it starts; `mark` names it in their environment.

    It is started in the directory `cwd`; empty: the current one. `stdin` is a descriptor for its standard input; None:
    there is nothing to read. `exited` is set once the process itself has ended,
    `gone` once nothing of it is left; `returncode` is as in subprocess, negative for a signal.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        mark: str,
        out: Path,
        error: Path,
        core: int | None = None,
        cwd: str = "",
        *,
        stdin: int | None = None,
    ) -> None:
        self.exited = trio.Event()
        self.gone = trio.Event()
        self.returncode: int | None = None
        self.cpu_seconds = 0.0
        self.was_ended = False
        """Whether it had to be ended by us."""
        self.leftovers: tuple[ProcessInfo, ...] = ()
        """What outlived the process when it had ended by itself."""
        self._arguments = list(arguments)
        self._mark = mark
        self._outputs = Output(out), Output(error)
        self._stdin = stdin
        self._core = core
        self._cwd = cwd or None
        self._popen: subprocess.Popen[bytes] | None = None

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Start the process and stay with it until it and its children are gone. Raises NotStartedError."""
        started = trio.current_time()
        try:
            popen = self._popen = await trio.to_thread.run_sync(self._spawn)
        except (OSError, ValueError) as error:
            raise NotStartedError(_why_not(self._arguments[0], error, self._cwd)) from None
        assert popen.stdout is not None
        assert popen.stderr is not None
        try:
            task_status.started()
            async with trio.open_nursery() as copying:
                for stream, output in zip((popen.stdout, popen.stderr), self._outputs, strict=True):
                    copying.start_soon(_copy, stream, output, started)
                await self._wait(popen)
                await self._see_off()
                copying.cancel_scope.deadline = trio.current_time() + _FAREWELL  # what is in the pipes still counts
        finally:
            with trio.CancelScope(shield=True):
                if not self.exited.is_set():
                    self.was_ended = True
                    await self._kill()
                    await self._wait(popen)
                await self._kill()
                self.gone.set()

    def turn_outputs(self, out: Path, error: Path) -> None:
        """From here on what the program writes goes to these files. Raises OSError."""
        for output, path in zip(self._outputs, (out, error), strict=True):
            output.turn_to(path)

    async def end(self, patience: float) -> None:
        """Wait for the process to end itself; end it and its group after `patience` seconds.

        Does nothing for one that could not be started.
        """
        if self._popen is None:
            return
        if await self._ends_within(patience):
            return
        self.was_ended = True
        self._signal_group(signal.SIGTERM)
        with trio.move_on_after(_FAREWELL):
            await self.exited.wait()
            return
        await self._kill()
        await self.exited.wait()

    async def _ends_within(self, patience: float) -> bool:
        """Whether it ends by itself in so many seconds; those that it spends waiting for a processor are added once."""
        before = Usage.of(self.pids) if patience else Usage({})
        with trio.move_on_after(patience):
            await self.exited.wait()
            return True
        if patience:
            with trio.move_on_after(Usage.of(self.pids).seconds_lost(before, patience, os.cpu_count() or 1)):
                await self.exited.wait()
                return True
        if self._has_ended():  # and this process had no time to notice
            await self.exited.wait()
            return True
        return False

    def _has_ended(self) -> bool:
        """Whether the process has ended by itself, noticed or not."""
        if self.exited.is_set():
            return True
        assert self._popen is not None
        try:
            return os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except (AttributeError, OSError):
            return False

    @property
    def pids(self) -> tuple[int, ...]:
        """The process and what it has started so far in its session."""
        return () if self._popen is None else session_members(self._popen.pid)

    def find_all(self) -> tuple[int, ...]:
        """... and what has left the session but bears its mark. Reads a file of every process of this machine."""
        return self.pids + tuple(process.pid for process in find_processes(self._mark))

    def _spawn(self) -> subprocess.Popen[bytes]:
        with _on_core(self._core):
            return subprocess.Popen(  # noqa: S603 - to run it is what we are for
                self._arguments,
                stdin=subprocess.DEVNULL if self._stdin is None else self._stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self._cwd,
                env={**os.environ, MARK: self._mark},
                start_new_session=True,  # ignored on Windows, where a group of its own keeps Ctrl-C away, too
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
                bufsize=0,
            )

    async def _wait(self, popen: subprocess.Popen[bytes]) -> None:
        """Wait for the process and take its processor time with its status."""
        if not hasattr(os, "wait4"):  # Windows
            self.returncode = await trio.to_thread.run_sync(popen.wait, abandon_on_cancel=True)
            self.exited.set()
            return
        try:
            handle = os.pidfd_open(popen.pid)
        except (AttributeError, OSError):  # not Linux, or an old one
            while not (ended := os.wait4(popen.pid, os.WNOHANG))[0]:  # noqa: ASYNC110, ASYNC222 - nobody tells us
                await trio.sleep(_POLL)
        else:
            try:
                await trio.lowlevel.wait_readable(handle)
            finally:
                os.close(handle)
            ended = os.wait4(popen.pid, 0)  # noqa: ASYNC222 - has ended
        _, status, usage = ended
        self.returncode = popen.returncode = os.waitstatus_to_exitcode(status)
        self.cpu_seconds = usage.ru_utime + usage.ru_stime
        self.exited.set()

    async def _see_off(self) -> None:
        """Give children that outlive the process a moment, and remember those that stay."""
        deadline = trio.current_time() + _FAREWELL
        while (alive := await self._alive()) and trio.current_time() < deadline:  # noqa: ASYNC110 - as above
            await trio.sleep(_POLL)
        if not self.was_ended:
            self.leftovers = alive

    async def _kill(self) -> None:
        """End the group and whatever else bears the mark, until nothing is left."""
        if not self.exited.is_set():  # afterwards its number may mean another group
            if hasattr(os, "killpg"):
                self._signal_group(signal.SIGKILL)
            else:
                assert self._popen is not None
                await trio.to_thread.run_sync(_end_tree, self._popen)
        deadline = trio.current_time() + _KILLED
        while (alive := await self._alive()) and trio.current_time() < deadline:
            kill_processes(alive)
            await trio.sleep(_POLL)

    async def _alive(self) -> tuple[ProcessInfo, ...]:
        """What is left of its session, or else bears its mark."""
        assert self._popen is not None
        left = [pid for pid in self.pids if pid != self._popen.pid or not self.exited.is_set()]
        return living(left) or await trio.to_thread.run_sync(find_processes, self._mark)

    def _signal_group(self, number: signal.Signals) -> None:
        assert self._popen is not None
        if not hasattr(os, "killpg"):  # Windows, where no process can be asked to end
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._popen.pid, number)


def _end_tree(popen: subprocess.Popen[bytes]) -> None:
    """End a process and all it has started, where there are no process groups. Takes a moment."""
    command = ["taskkill", "/T", "/F", "/PID", str(popen.pid)]
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_KILLED, check=False)  # noqa: S603
    popen.kill()


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


def _open_pipe(stream: IO[bytes]) -> trio.abc.ReceiveStream:
    if not hasattr(trio.lowlevel, "FdStream"):  # Windows
        return _ThreadedPipe(stream)
    with stream:
        return trio.lowlevel.FdStream(os.dup(stream.fileno()))


async def _copy(stream: IO[bytes], output: Output, started: float) -> None:
    """Hand every chunk that comes to `output`, with the seconds since `started`."""
    async with _open_pipe(stream) as pipe:
        output.open()
        try:
            while chunk := await pipe.receive_some(_CHUNK):
                output.write(bytes(chunk), trio.current_time() - started)
        finally:
            output.close()


@contextlib.contextmanager
def _on_core(core: int | None) -> Iterator[None]:
    """What this thread starts meanwhile runs on this core alone."""
    if core is None or not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


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
