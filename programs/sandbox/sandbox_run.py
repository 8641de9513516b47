"""One program in a sandbox, from making its folders to what was observed of it.

Leaving `open_run` ends everything inside the sandbox and removes its folders, whatever has happened. Everything that a
program could have changed is checked before it is used.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import itertools
import json
import os
import shutil
import socket
import stat
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import msgspec
import trio

from spielleiter.programs.contest_conditions import LIMITS, Condition
from spielleiter.programs.linux_processes import TAG_VARIABLE
from spielleiter.programs.outputs import find_window_attempts
from spielleiter.programs.platform_api import ProcessSpec
from spielleiter.programs.sandbox.sandbox import (
    FILE_LIMIT,
    HIDDEN_VARIABLES,
    PROCESS_LIMIT,
    SERVER_ADDRESS,
    Layout,
    Resources,
    Sandbox,
)
from spielleiter.programs.temporary_folders import new_folder, remove_folder


class SandboxEndedError(Exception):
    """A program did not start, and its sandbox has ended without a reason."""


# -- the process inside -----------------------------------------------------------------------------------------------

_Message = TypeVar("_Message")

NAME: Final = "socket"
_MAX_DESCRIPTORS: Final = 8
_READ_SIZE: Final = 65536
_MAX_MESSAGE: Final = 1024 * 1024


class StartReport(msgspec.Struct, frozen=True):
    """Whether the process inside has started the program; `failed` says why not, with the number of an OSError."""

    failed: str | None = None
    errno: int | None = None


class RunReport(msgspec.Struct, frozen=True, rename={"returncode": "exit", "is_hidden": "hidden", "leftovers": "left"}):
    """What the process inside reported at the end of the program; helper.py explains it.

    `returncode` is as in subprocess. `killed` is the key of the condition that the program did not keep and was killed
    for; empty for none.
    """

    returncode: int
    cpu: float
    peak: int
    killed: Annotated[str, msgspec.Meta(pattern="^(memory|processes|disk)?$")]
    is_hidden: bool = False
    leftovers: tuple[str, ...] = ()


class Control:
    """A listening Unix socket in `folder`, and then the connection to the process inside. Raises OSError."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._listener: socket.socket | None = None
        self._connection: socket.socket | None = None
        self._buffer = b""
        self.listener: socket.socket | None = None
        """The socket that the server listens on, once `receive_descriptors` has returned."""
        self.counters: list[int] = []
        """The descriptors of the network counters."""
        if sys.platform != "linux":
            raise NotImplementedError
        try:
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.setblocking(False)
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:  # a path through /proc is short enough for a socket's address
                self._listener.bind(f"/proc/self/fd/{descriptor}/{NAME}")
            finally:
                os.close(descriptor)
            self._listener.listen(1)
        except BaseException:
            self.close()
            raise

    async def receive_descriptors(self) -> None:
        """Wait for the process inside, and take its descriptors. Raises SandboxEndedError and OSError."""
        if sys.platform != "linux":
            raise NotImplementedError
        assert self._listener is not None
        await trio.lowlevel.wait_readable(self._listener)
        self._connection, _ = self._listener.accept()
        self._connection.setblocking(False)
        self._path.unlink(missing_ok=True)
        self._listener.close()
        self._listener = None
        await trio.lowlevel.wait_readable(self._connection)
        data, descriptors, _, _ = socket.recv_fds(self._connection, 1, _MAX_DESCRIPTORS)
        if descriptors:
            self.listener, self.counters = socket.socket(fileno=descriptors[0]), descriptors[1:]
        if not data:
            raise SandboxEndedError

    async def send(self, options: Mapping[str, Any]) -> None:
        """Send how to start the program. Raises OSError."""
        assert self._connection is not None
        data = memoryview(json.dumps(options).encode() + b"\n")
        while data:
            await trio.lowlevel.wait_writable(self._connection)
            data = data[self._connection.send(data) :]

    async def receive(self, kind: type[_Message]) -> _Message:
        """Return the next message, which must be of this kind. Raises SandboxEndedError."""
        assert self._connection is not None
        while b"\n" not in self._buffer:
            await trio.lowlevel.wait_readable(self._connection)
            try:
                data = self._connection.recv(_READ_SIZE)
            except OSError:
                data = b""
            if not data or len(self._buffer) > _MAX_MESSAGE:
                raise SandboxEndedError
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            return msgspec.convert(json.loads(line), kind)
        except (ValueError, RecursionError, msgspec.ValidationError):
            raise SandboxEndedError from None

    def disconnect(self) -> None:
        """Close the connection: everything inside the sandbox ends."""
        for sock in (self._listener, self._connection):
            if sock is not None:
                sock.close()
        self._listener = self._connection = None

    def close(self) -> None:
        """Close everything."""
        self.disconnect()
        if self.listener is not None:
            self.listener.close()
        for descriptor in self.counters:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self.counters = []


# -- the network ------------------------------------------------------------------------------------------------------

UNREACHABLE_DNS: Final = "nameserver 198.51.100.1\noptions timeout:1 attempts:1\n"
"""The content of /etc/resolv.conf in a sandbox; the address belongs to nobody (RFC 5737)."""

_MAX_SIZE: Final = 65536
_NO_ROUTE: Final = "OutNoRoutes"
_NO_ROUTE_6: Final = "Ip6OutNoRoutes"


def count_attempts(descriptors: Iterable[int]) -> int | None:
    """Return the number of attempts up to now; None if no file can be read.

    The descriptors are those of /proc/net/snmp and /proc/net/snmp6, opened in the sandbox; they can be read again.
    """
    if sys.platform != "linux":
        raise NotImplementedError
    counts = []
    for each in descriptors:
        with contextlib.suppress(OSError):
            counts.append(_no_routes(os.pread(each, _MAX_SIZE, 0).decode("ascii", "replace")))
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _no_routes(text: str) -> int | None:
    """Return the counter in either file: names and values in two lines, or one name and value a line."""
    names: list[str] = []
    for line in text.splitlines():
        fields = line.split()
        if fields[0] == _NO_ROUTE_6:
            return int(fields[1])
        if fields[0] == "Ip:" and not names:
            names = fields
        elif fields[0] == "Ip:" and _NO_ROUTE in names:
            return int(fields[names.index(_NO_ROUTE)])
    return None


# -- what was observed ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Observations:
    """What was observed of one run. Sizes are in bytes; None means that this sandbox cannot know it."""

    sandbox: str
    """The name of the sandbox."""
    peak_memory: int | None = None
    """The most memory that the program and its processes had together."""
    exceeded_memory: bool = False
    """Whether it was killed because it used more memory than the limit."""
    exceeded_processes: bool = False
    """Whether it was killed because it had too many processes and threads."""
    exceeded_disk: bool = False
    """Whether it was killed because it wrote too much, or made folders that cannot be looked into."""
    hid_files: bool = False
    """Whether a process of it did not show its open files, so that its memory and files were not seen completely."""
    not_limited: tuple[str, ...] = ()
    """What nothing limited here, of the values of LIMITS."""
    network_attempts: int | None = None
    """How many packets and connections to other machines were refused; a look-up of a name counts as well.

    Only attempts that need a route are seen. Connections within the program's own machine are no attempts.
    """
    window_attempts: tuple[str, ...] = ()
    """The lines in its outputs that say that a window could not be opened."""
    output_size: int = 0
    """The size of standard output and standard error together, as far as they were read."""
    files_written: int = 0
    """The number of files in its folder, home folder and temporary folder that are new or changed."""
    bytes_written: int = 0
    """The size of these files."""
    leftovers: tuple[str, ...] = ()
    """The processes that outlived it."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What it tried that the contest does not have, and what could not be limited, in words."""
        remarks = [f"its {what} could not be limited here" for what in self.not_limited]
        if self.hid_files:
            remarks.append("hid open files or memory, so that these could not be watched completely")
        attempts = (("use the network", self.network_attempts), ("open a window", self.window_attempts))
        remarks += [f"tried to {what}, which the contest does not have" for what, found in attempts if found]
        return tuple(remarks)

    def to_json(self) -> dict[str, Any]:
        """A JSON object whose keys are the names of the fields."""
        return {
            name: list(value) if isinstance(value, tuple) else value for name, value in dataclasses.asdict(self).items()
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Observations:
        """The observations that `to_json` wrote as `value`. Raises TypeError."""
        names = {field.name for field in dataclasses.fields(cls)}
        known: dict[str, Any] = {
            name: tuple(item) if isinstance(item, list) else item for name, item in value.items() if name in names
        }
        return cls(**known)


# -- the folders ------------------------------------------------------------------------------------------------------

MAX_COUNTED: Final = 100_000
"""The most files that are looked at to count what a program has written."""

_BLOCK: Final = 512  # bytes of a block in `st_blocks`
_Snapshot = dict[str, tuple[int, int, int]]


class Scratch:
    """The folders of one run, made from a copy of `source`. Blocks. Raises OSError."""

    def __init__(self, source: Path) -> None:
        self._root = new_folder()
        self.layout = Layout(
            root=self._root,
            program=self._root / "program",
            home=self._root / "home",
            temporary=self._root / "tmp",
            control=self._root / "control",
            label=self._root.name,
        )
        try:
            shutil.copytree(source, self.layout.program, symlinks=True)
            for folder in (self.layout.home, self.layout.temporary, self.layout.control):
                folder.mkdir()
        except BaseException as error:
            self.remove()
            if isinstance(error, RecursionError):  # of the copying, for folders that are nested too deeply
                raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), str(source)) from None
            raise
        self._before = self._snapshot()

    def written(self) -> tuple[int, int]:
        """Return the number of files that are new or changed, and how many bytes of them are on the disk. Blocks.

        Not counted are files beyond MAX_COUNTED, those whose path is too long for the system, and those in folders that
        the program has locked.
        """
        changed = [entry for path, entry in self._snapshot().items() if self._before.get(path) != entry]
        return len(changed), sum(size for size, _, _ in changed)

    def remove(self) -> None:
        """Remove the folders, also those that the program has made read-only. Blocks."""
        remove_folder(self._root)

    def _snapshot(self) -> _Snapshot:
        folders = (self.layout.program, self.layout.home, self.layout.temporary)
        files = itertools.chain.from_iterable(map(_files, folders))
        return dict(itertools.islice(files, MAX_COUNTED))


def _files(folder: Path) -> Iterator[tuple[str, tuple[int, int, int]]]:
    """Yield each regular file below `folder` with its size on the disk, time of change and inode."""
    pending = [str(folder)]
    while pending:
        with contextlib.suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(status.st_mode):
                        pending.append(entry.path)
                    elif stat.S_ISREG(status.st_mode):
                        size = min(status.st_size, getattr(status, "st_blocks", status.st_size) * _BLOCK)  # no holes
                        yield entry.path, (size, status.st_mtime_ns, status.st_ino)


# -- a run ------------------------------------------------------------------------------------------------------------

_LOCAL: Final = "127.0.0.1"
_BACKLOG: Final = 16
_SIGKILL: Final = 9  # Windows has no name for it
_REPORT_TIMEOUT: Final = 2.0  # seconds for the last message to arrive after the process has ended


class SandboxRun:
    """The run of one program; `open_run` makes it.

    The order of calls is `process_spec`, `begin` once that process has been started, `finish` once it has ended,
    `disconnect`, and then `observe`. `listener` may be awaited at any time.
    """

    def __init__(self, sandbox: Sandbox, source: Path, scratch: Scratch, resources: Resources) -> None:
        self.sandbox = sandbox
        self.report: RunReport | None = None
        """Set by `finish`; None if nothing was reported, since the program was killed or there is no process inside.

        If the kernel has killed both for exceeding a limit, it is made from what the kernel has counted.
        """
        self._source = source
        self._scratch = scratch
        self._resources = resources
        self._inside = sandbox.folders(scratch.layout)
        self._options: dict[str, Any] = {}
        self._control = Control(scratch.layout.control) if sandbox.has_helper else None
        self._listener: socket.socket | None = None
        self._has_listener = trio.Event()
        self._network_attempts: int | None = None
        if sandbox.has_own_name_spaces:
            self.address = sandbox.host, SERVER_ADDRESS[1]
        else:
            self._listener = socket.create_server((_LOCAL, 0), backlog=_BACKLOG)
            self._listener.setblocking(False)
            self.address = sandbox.host, int(self._listener.getsockname()[1])
            self._has_listener.set()

    @property
    def folder(self) -> Path:
        """The folder on this machine that holds everything of this run."""
        return self._scratch.layout.root

    async def listener(self) -> socket.socket:
        """Return the listening socket for the program's connections, once there is one. The run closes it."""
        await self._has_listener.wait()
        assert self._listener is not None
        return self._listener

    def process_spec(self, spec: ProcessSpec, variables: Mapping[str, str]) -> ProcessSpec:
        """Return how to start, inside the sandbox, what `spec` describes.

        Its working directory must be the folder that the run was opened for. `variables` are environment variables for
        the program beside those of the sandbox.
        """
        sandbox, inside = self.sandbox, self._inside
        environment = {**sandbox.variables(inside), **variables, TAG_VARIABLE: spec.environment.get(TAG_VARIABLE, "")}
        # a path in the program's folder is another one inside the sandbox
        source = str(self._source.absolute())
        arguments = [
            str(inside.program) + word[len(source) :] if word.startswith(source + os.sep) else word
            for word in spec.arguments
        ]
        if self._control is None:
            return sandbox.process_spec(spec, arguments, environment, self._scratch.layout)
        self._options = {
            "arguments": arguments,
            "cwd": str(inside.program),
            "environment": environment,
            "hidden": sorted(HIDDEN_VARIABLES),
            "core": sandbox.next_core(spec.cores),
            "memory": sandbox.memory if sandbox.watches_memory else None,
            "processes": PROCESS_LIMIT,
            "disk": sandbox.disk,
            "files": FILE_LIMIT,
            "folders": [*map(str, (inside.program, inside.home, inside.temporary)), *sandbox.other_writable_folders],
            "own_users": sandbox.has_own_users,
            "cgroup": sandbox.shows_cgroup,
        }
        host, port = SERVER_ADDRESS if sandbox.has_own_name_spaces else ("", 0)
        mode = "first" if sandbox.has_own_name_spaces else "below"
        spec = sandbox.process_spec(spec, (mode, f"{inside.control}/{NAME}", host, str(port)), {}, self._scratch.layout)
        return dataclasses.replace(spec, arguments=[*self._resources.words, *spec.arguments])

    async def begin(self) -> None:
        """Wait until the program is running inside. Raises OSError or ValueError if that is impossible.

        Raises SandboxEndedError if the process inside ends before that.
        """
        if self._control is None:
            return
        await self._control.receive_descriptors()
        if self._control.listener is not None:
            self._listener = self._control.listener
            self._listener.setblocking(False)
            self._has_listener.set()
        await self._control.send(self._options)
        answer = await self._control.receive(StartReport)
        if answer.failed is not None:
            raise (
                ValueError(answer.failed) if answer.errno is None else OSError(answer.errno, os.strerror(answer.errno))
            )

    async def finish(self) -> None:
        """Take the report, after the process that `process_spec` describes has ended."""
        if self._control is None or self.report is not None:
            return
        with trio.move_on_after(_REPORT_TIMEOUT):
            with contextlib.suppress(SandboxEndedError):
                self.report = await self._control.receive(RunReport)
        exceeded = self._resources.exceeded()
        if exceeded and self.report is None:  # the kernel has killed the process inside as well
            self.report = RunReport(-_SIGKILL, 0.0, self.sandbox.memory, exceeded)
        elif exceeded and self.report is not None and not self.report.killed:
            self.report = msgspec.structs.replace(self.report, killed=exceeded, leftovers=())

    def disconnect(self) -> None:
        """End everything that is still running inside."""
        if self._control is not None:
            if self._control.counters:
                self._network_attempts = count_attempts(self._control.counters)
            self._control.disconnect()

    def observe(self, outputs: Sequence[Path], output_size: int, peak_memory: int | None = None) -> Observations:
        """Return what was observed. Blocks.

        `outputs` are the files with what the program wrote. `peak_memory` is what the system has measured, in bytes; it
        counts where nothing inside reports it, but the memory is limited.
        """
        if Condition.MEMORY in self.sandbox.gaps:
            peak_memory = None
        files, size = self._scratch.written()
        report = self.report
        return Observations(
            sandbox=self.sandbox.name,
            peak_memory=peak_memory if report is None else report.peak,
            exceeded_memory=report is not None and report.killed == Condition.MEMORY.key,
            exceeded_processes=report is not None and report.killed == Condition.PROCESSES.key,
            exceeded_disk=report is not None and report.killed == Condition.DISK.key,
            hid_files=report is not None and report.is_hidden,
            not_limited=tuple(each.key for each in LIMITS if each in self.sandbox.gaps),
            network_attempts=self._network_attempts,
            window_attempts=find_window_attempts(*outputs),
            output_size=output_size,
            files_written=files,
            bytes_written=size,
            leftovers=() if report is None else report.leftovers,
        )

    def close(self) -> None:
        self.disconnect()
        if self._control is not None:
            self._control.close()
        if self._listener is not None:
            self._listener.close()


@asynccontextmanager
async def open_run(sandbox: Sandbox, folder: Path) -> AsyncIterator[SandboxRun]:
    """Prepare `sandbox` for one run of a program that is in `folder`. Raises OSError."""
    scratch = await trio.to_thread.run_sync(Scratch, folder)
    try:
        resources = await trio.to_thread.run_sync(sandbox.open_resources, scratch.layout)
        try:
            run = SandboxRun(sandbox, folder, scratch, resources)
            try:
                yield run
            finally:
                run.close()
        finally:
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(resources.release)
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(scratch.remove)
