"""Opens the sockets of the pages, of health and metrics, and keeps the process running that serves there.

The sockets are opened before the server accepts anything, which takes a millisecond; the process is started afterwards.
Whatever happens to it, the games go on: a port that is taken is no reason not to start, and a process that ends is
started again. Nothing that only the pages need is loaded here.
"""

from __future__ import annotations

import base64
import os
import secrets
import signal
import socket
import subprocess
import sys
from array import array
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final, Protocol, TypeAlias
from urllib.parse import quote

import msgspec
import trio
from msgspec import Struct

from spielleiter.common.own_python import own_python
from spielleiter.protocol.defaults import DEFAULT_HOST, DEFAULT_PASSWORD, DEFAULT_VIEWER_PORT
from spielleiter.server import events
from spielleiter.server.app import Server
from spielleiter.server.config import Config, is_loopback
from spielleiter.server.errors import StartError
from spielleiter.server.garbage import PauseMeter
from spielleiter.server.net.sockets import listen
from spielleiter.server.net.wire import SocketWire
from spielleiter.server.setting import shown_address
from spielleiter.viewer.web.page_process import READY, PageStart, logged_events
from spielleiter.viewer.web.page_settings import PageSettings

COMMAND: Final = (*own_python(), "-P", "-m", "spielleiter.viewer.web.page_process")
FIRST_PAUSE: Final = 0.5
"""Seconds until a process of pages that has ended is started again; each further time twice as long."""
LONGEST_PAUSE: Final = 30.0
LONG_LIFE: Final = 60.0
"""Seconds after which a process that has ended counts as the first one that does."""
CLOSE_TIMEOUT: Final = 0.5
"""Seconds that the process has to end with the server."""
_MOST_SAID: Final = 256  # bytes that the process says before it is ready

FOR_THIS_MACHINE = "this machine only"
FOR_PASSWORD_HOLDERS = "everybody who can reach this address and knows the password of the viewer"  # noqa: S105
FOR_EVERYBODY = "everybody who can reach this address"
_FAR_AWAY = ("192.0.2.1", 9)  # reserved for documentation, so the way to it usually leads outside
_EVERY_ADDRESS = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared with, not listened on


class ListeningPages(Struct, frozen=True):
    """The listening sockets of the pages.

    `url` is the address for the browser; `note` says why it is not the configured one, and is empty if it is. Without
    sockets, `note` says why there are none. `elsewhere` is the address for browsers on other machines, if the pages
    are served on every address of this machine and it is connected to a network; otherwise it is empty.
    """

    sockets: tuple[socket.socket, ...]
    url: str = ""
    note: str = ""
    elsewhere: str = ""

    @property
    def port(self) -> int:
        """The port on which the pages are served; 0 if they are not."""
        return self.sockets[0].getsockname()[1] if self.sockets else 0

    def close(self) -> None:
        """Close all sockets."""
        for sock in self.sockets:
            sock.close()


def listen_for_pages(host: str, port: int) -> ListeningPages:
    """Return the listening sockets for `host` and `port`, or for another port of this host if that one is taken."""
    note = ""
    try:
        sockets = listen(host, port, option="--viewer")
    except StartError as error:
        note = str(error).partition(";")[0]
        try:
            sockets = listen(host, 0, option="--viewer")
        except StartError:
            return ListeningPages((), note=str(error))
    found: int = sockets[0].getsockname()[1]
    outside = network_address() if host in _EVERY_ADDRESS else None
    return ListeningPages(
        tuple(sockets),
        f"http://{shown_address(('127.0.0.1' if host in _EVERY_ADDRESS else host, found))}/",
        note,
        f"http://{shown_address((outside, found))}/" if outside else "",
    )


def network_address() -> str | None:
    """Return the IPv4 address from which this machine reaches other networks; None if it has none. Sends nothing."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.connect(_FAR_AWAY)
            address: str = sock.getsockname()[0]
    except OSError:  # no such route, or no IPv4 at all
        return None
    return address


def access_to(config: Config) -> str:
    """Return in words who may look at the pages of a server with this configuration."""
    assert config.viewer is not None
    if config.viewer_password is not None:
        return FOR_PASSWORD_HOLDERS
    return FOR_THIS_MACHINE if is_loopback(config.viewer[0]) else FOR_EVERYBODY


class StartedPages(Protocol):
    """The process of the pages: `stream` is its standard input and output, a SocketStream except on Windows.

    `wait` returns the exit code, negative for a signal, and `kill` ends the process if it has not ended.
    """

    @property
    def stream(self) -> trio.abc.Stream: ...
    async def wait(self) -> int: ...
    async def kill(self) -> None: ...


StartPages: TypeAlias = Callable[[], Awaitable[StartedPages]]
"""Starts the process of the pages. Raises OSError if that is not possible, StarterEndedError if it never will be."""


class StarterEndedError(Exception):
    """What starts the pages has ended, so they cannot be started again."""


class _PagesOfCommand(Struct):
    """The process of the pages that COMMAND has started."""

    stream: trio.abc.Stream
    process: trio.Process

    async def wait(self) -> int:
        return await self.process.wait()

    async def kill(self) -> None:
        self.process.kill()


async def start_by_command() -> StartedPages:
    """Start the process of the pages. Raises OSError.

    Others of the same user can look into it until it has hidden itself.
    """
    pipe = subprocess.PIPE
    # passwords in variables are for the server only
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SPIELLEITER_")}
    errors = subprocess.DEVNULL if sys.stderr is None else None
    if sys.platform == "win32":
        flags = subprocess.BELOW_NORMAL_PRIORITY_CLASS
        process = await trio.lowlevel.open_process(
            COMMAND, stdin=pipe, stdout=pipe, stderr=errors, env=environment, creationflags=flags
        )
        assert process.stdio is not None
        return _PagesOfCommand(process.stdio, process)
    # no pipe: before the process has hidden itself, others of the same user could open that in /proc, and read it later
    near, far = socket.socketpair()
    with far:
        try:
            process = await trio.lowlevel.open_process(
                COMMAND,
                stdin=far,
                stdout=far,
                stderr=errors,
                env=environment,
                process_group=0,  # Ctrl-C is for the server
            )
        except BaseException:
            near.close()
            raise
    near.setblocking(False)
    return _PagesOfCommand(trio.SocketStream(trio.socket.from_stdlib_socket(near)), process)


@contextmanager
def open_pages(
    server: Server,
    port: int,
    _pauses: PauseMeter,
    is_stopping: Callable[[], bool],
    *,
    start: StartPages = start_by_command,
) -> Iterator[Callable[[], Awaitable[None]]]:
    """Listen at the addresses that the configuration names, and return the function that keeps the pages running.

    This is a companion of `spielleiter.server.app.serve`; `port` is the game port. Raises StartError if the
    address of `--metrics` cannot be used; a problem with the address of the pages is only reported.
    """
    config = server.config
    address = (DEFAULT_HOST if config.host in _EVERY_ADDRESS else config.host, port)
    with ExitStack() as stack:
        monitor = [] if config.metrics is None else listen(*config.metrics, option="--metrics")
        for sock in monitor:
            stack.callback(sock.close)
        pages = ListeningPages(())
        if config.viewer is not None:
            pages = stack.enter_context(closing(listen_for_pages(*config.viewer)))

        async def run() -> None:
            publish = server.stream.publish
            if pages.note and not pages.sockets:
                publish(events.SettingIgnored(f"viewer ({pages.note})"))
            matches = config.viewer_matches
            if pages.sockets and matches is not None and not matches.is_dir():
                why = "is a file, expected a folder" if matches.is_file() else "there is no such folder so far"
                publish(events.SettingIgnored(f"viewerMatches {matches} ({why})"))
            if not monitor and not pages.sockets:
                return
            server.lobby.viewer_secret = secrets.token_urlsafe(32)
            settings = PageSettings.of(config, address, server.lobby.viewer_secret, pages.port)

            def announce() -> None:
                if monitor:
                    publish(events.MonitorStarted(tuple(shown_address(sock.getsockname()[:2]) for sock in monitor)))
                if pages.sockets:
                    publish(events.ViewerStarted(pages.url, access_to(config), pages.note, pages.elsewhere))

            process = PageProcess(settings, pages.sockets, monitor, start)
            await process.keep_running(
                announce, lambda reason, pause: is_stopping() or publish(events.ViewerEnded(reason, pause))
            )

        yield run


class PageProcess:
    """The process that serves pages for `settings` on the sockets of `pages`, health and metrics on those of `monitor`.

    `connect` returns the only connection to a server that has no address, each time that the process is started;
    otherwise it is None.
    """

    def __init__(
        self,
        settings: PageSettings,
        pages: Sequence[socket.socket],
        monitor: Sequence[socket.socket],
        start: StartPages,
        connect: Callable[[], socket.socket] | None = None,
    ) -> None:
        self._settings = settings
        self._pages = pages
        self._monitor = monitor
        self._start = start
        self._connect = connect

    async def keep_running(self, on_first: Callable[[], object], on_end: Callable[[str, float | None], object]) -> None:
        """Keep the process running until cancelled, or until it cannot be started any more.

        `on_first` is called when it serves for the first time, `on_end` each time that it has ended: with the reason,
        and the seconds until it is started again (None: never).
        """
        pause = FIRST_PAUSE
        has_served = False

        def note_ready() -> None:
            nonlocal has_served
            if not has_served:
                has_served = True
                on_first()

        while True:
            since = trio.current_time()
            try:
                reason = await self._run(note_ready)
            except StarterEndedError:
                on_end("the process that starts it was ended", None)
                return
            if trio.current_time() - since > LONG_LIFE:
                pause = FIRST_PAUSE
            on_end(reason, pause)
            await trio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _run(self, on_ready: Callable[[], object]) -> str:
        """Run the process to its end, and return why it has ended. Raises StarterEndedError."""
        try:
            process = await self._start()
        except OSError as error:
            return f"it cannot be started: {error.strerror or error}"
        try:
            async with process.stream as stream:
                said = await _line(stream)
                if said and not said.strip().isdigit():  # such as a module that Python loads at each start
                    return "something else has written to its standard output"
                with suppress(trio.BrokenResourceError, ValueError):  # it has ended already
                    with ExitStack() as stack:
                        connection = [] if self._connect is None else [stack.enter_context(self._connect())]
                        await self._tell(stream, int(said), connection)
                        answer = await _line(stream)  # Windows hands a socket over only while it is open here
                    if answer == READY:
                        on_ready()
                await process.wait()
        finally:
            with trio.CancelScope(shield=True):
                with trio.move_on_after(CLOSE_TIMEOUT):
                    await process.wait()  # its input has ended
                await process.kill()
                code = await process.wait()
        return f"the exit code is {code}" if code >= 0 else f"the signal {_signal_name(-code)} ended it"

    async def _tell(self, stream: trio.abc.Stream, pid: int, connection: Sequence[socket.socket]) -> None:
        """Tell the process `pid` what to serve, and hand it the sockets."""
        sockets = (*self._pages, *self._monitor, *connection)
        shared: tuple[str, ...] = ()
        if sys.platform == "win32":
            shared = tuple(base64.b64encode(sock.share(pid)).decode() for sock in sockets)
        line = (
            msgspec.json.encode(PageStart(self._settings, len(self._pages), shared, self._connect is not None)) + b"\n"
        )
        if sys.platform != "win32":
            assert isinstance(stream, trio.SocketStream)
            descriptors = array("i", [sock.fileno() for sock in sockets])
            passed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)]
            try:
                line = line[await stream.socket.sendmsg([line], passed) :]
            except OSError as error:
                raise trio.BrokenResourceError from error
        await stream.send_all(line)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # most real-time signals have no name
        return str(number)


async def _line(stream: trio.abc.ReceiveStream) -> bytes:
    """Return the next line, the only one that has been said so far; less if the stream ends."""
    line = b""
    while not line.endswith(b"\n") and len(line) < _MOST_SAID and (data := await stream.receive_some()):
        line += data
    return line


async def serve_match(
    server: Server,
    folder: Path,
    on_listening: Callable[[str, str], None],
    on_end: Callable[[str, float | None], object],
    start: StartPages = start_by_command,
    *,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve the pages of the running games of a match until cancelled, in a process of their own.

    They are for browsers of this machine only. Nobody can play or become an administrator there. The process reaches
    the server over a pair of connected sockets, so no port is opened for it that a program of the match could use.

    - `server`: the server of the match.
    - `folder`: the folder of the match, whose finished games are listed.
    - `on_listening`: called with the address of the pages, and with why it is not the usual one, or an empty text.
    - `on_end`: called each time that the process has ended: with the reason, and the seconds until it is started again
      (None: never).
    - `task_status`: that of the task; it has started when the pages can be opened, or if they cannot be started.

    Raises StartError if no port of this machine is free.
    """
    server.lobby.viewer_secret = secret = secrets.token_urlsafe(32)
    has_started = False

    def note_started() -> None:
        nonlocal has_started
        if not has_started:
            has_started = True
            task_status.started()

    async with trio.open_nursery() as connections:
        with closing(listen_for_pages(DEFAULT_HOST, DEFAULT_VIEWER_PORT)) as pages:
            if not pages.sockets:
                raise StartError(pages.note)

            def connect() -> socket.socket:
                near, far = socket.socketpair()
                connections.start_soon(partial(server.serve_wire, SocketWire(near), "", label="pages"))
                return far

            def note_ready() -> None:
                on_listening(pages.url, pages.note)
                note_started()

            def note_end(reason: str, pause: float | None) -> None:
                on_end(reason, pause)
                note_started()

            settings = PageSettings(
                host=DEFAULT_HOST,
                port=0,
                secret=secret,
                is_match=True,
                page_port=pages.port,
                game_options=dict(server.config.game_options),
                matches=str(folder),
                log_level="error",
            )
            process = PageProcess(settings, pages.sockets, (), start, connect)
            await process.keep_running(note_ready, note_end)


async def serve_replay(file: Path, on_listening: Callable[[str], None], ply: int = 0) -> None:
    """Serve the page for one replay until cancelled, and a server to play on from its positions.

    Everything listens on loopback, on any free port, in this process. Nobody can become an administrator, and nothing
    is written.

    - `file`: the replay; others in its folder are listed beside it.
    - `on_listening`: called with the address of the page that shows this replay, once it can be opened.
    - `ply`: the ply that the address names.

    Raises StartError if no port of this machine is free.
    """
    from spielleiter.viewer.replay_files import page_name
    from spielleiter.viewer.web.site import Site

    host = "127.0.0.1"
    server = Server(Config(port=0, viewer=(host, 0), replay_directory=None, log_level="error"))
    server.lobby.password = None
    server.lobby.viewer_secret = secrets.token_urlsafe(32)
    with ExitStack() as stack:
        stack.callback(server.archive.close)
        games = listen(host, 0)
        for sock in games:
            stack.callback(sock.close)
        pages = stack.enter_context(closing(listen_for_pages(host, 0)))
        settings = PageSettings(
            host=host,
            port=games[0].getsockname()[1],
            secret=server.lobby.viewer_secret,
            page_port=pages.port,
            replays=str(file.parent),
            single=str(file),
            log_level="error",
        )
        log = stack.enter_context(logged_events(settings))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(server.run, games, None)
            nursery.start_soon(Site(settings, log.publish).serve, pages.sockets)
            on_listening(f"{pages.url}#/replay/{quote(page_name(file.name), safe='')}/{ply}")


async def serve_view(
    address: tuple[str, int],
    password: str,
    viewer: tuple[str, int],
    on_listening: Callable[[str, str], None],
    *,
    edition: str | None = None,
    viewer_password: str | None = None,
) -> None:
    """Serve the pages of a server that runs elsewhere until cancelled.

    - `address`: its host and its port.
    - `password`: that of its administrators, which visitors need as well to become one.
    - `viewer`: where the pages listen.
    - `on_listening`: called with the address of the pages, and with why it is not `viewer`, or an empty text.
    - `edition`: the edition of a server that knows only one season; None: that of the current one.
    - `viewer_password`: what visitors need to see anything; None: nothing.

    Raises StartError if the pages cannot listen there.
    """
    from spielleiter.viewer.web.site import Site

    pages = listen_for_pages(*viewer)
    if not pages.sockets:
        raise StartError(pages.note)
    is_known = password.strip().lower() in {DEFAULT_PASSWORD, ""}
    settings = PageSettings(
        host=address[0],
        port=address[1],
        secret=password,
        is_own=False,
        edition=edition,
        page_port=pages.port,
        # who reaches the pages from elsewhere could know it
        admin_password=None if is_known and not is_loopback(viewer[0]) else password,
        viewer_password=viewer_password,
    )
    with closing(pages), logged_events(settings) as stream:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(Site(settings, stream.publish).serve, pages.sockets)
            on_listening(pages.url, pages.note)
