"""`spielleiter doctor`: what this machine can do, line by line as it is found out, or as JSON.

What can be tried is tried, with the functions that servers and matches use themselves, and for a moment only: a socket
is opened and closed, a file without a name is written. Nothing is left behind on the machine. What the system says is
an argument of each function, with the real value as its default.
"""

from __future__ import annotations

import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Final, TextIO

import click
import psutil
import trio
import trio.lowlevel

from spielleiter.cli.ctrl_c import raise_on_ctrl_c
from spielleiter.cli.output import json_text
from spielleiter.cli.running import EXIT_FAILURE, run_async
from spielleiter.common.errors import SupervisorError, os_error_text
from spielleiter.common.own_python import is_frozen, own_python
from spielleiter.common.terminal import understands_escapes
from spielleiter.common.text import filled, printable
from spielleiter.programs.platform_api import ProcessSpec
from spielleiter.programs.sandbox.bubblewrap import bubblewrap_problem
from spielleiter.programs.sandbox.containers import ENGINES, engine_problem
from spielleiter.programs.sandbox.sandbox import MEMORY_LIMIT
from spielleiter.programs.windows import open_job
from spielleiter.server.config import PROPERTIES_FILE, Config, ConfigError, load_config
from spielleiter.server.core.clock import Arrival, StampSource
from spielleiter.server.errors import StartError
from spielleiter.server.net.sockets import listen
from spielleiter.server.net.wire import SocketWire, stamp_arrivals
from spielleiter.server.setting import shown_address

Which = Callable[[str], str | None]

OK: Final = "ok"
LIMITED: Final = "limited"
"""Something does not work, or works less well; servers and players start nevertheless."""
MISSING: Final = "missing"
"""The server cannot start."""

_COLORS: Final = {OK: "green", LIMITED: "yellow", MISSING: "red"}
_TITLES: Final = {"python": "Python", "java": "Java", "player_python": "player's Python"}
_LEVEL_WIDTH: Final = max(map(len, _COLORS))
_TITLE_WIDTH: Final = max(map(len, _TITLES.values()))
_INDENT: Final = " " * (_LEVEL_WIDTH + _TITLE_WIDTH + 4)
_MOST_COLUMNS: Final = 110
OLDEST: Final = (3, 11)
NEWEST: Final = (3, 14)
"""The versions of Python that the tests run on."""
_GB: Final = 1024**3
_SHOWN: Final = "·äß„“±∞"
"""Characters that the commands print."""
LONGEST_TICK: Final = 0.001
"""Seconds; a clock with longer ticks measures think times too coarsely."""
LEAST_SPACE: Final = 100_000_000
"""Bytes of free space below which a folder for replays may soon be full."""
_LOOPBACK: Final = "127.0.0.1"
_ATTEMPTS: Final = 100  # the kernel begins to stamp a moment after it was asked to
_TIMEOUT: Final = 10.0  # seconds for a connection on this machine
_VERSION_TIMEOUT: Final = 30.0  # seconds


@dataclass(frozen=True, slots=True)
class MachineFinding:
    """What is said about one thing that was looked at. Both texts are without a line break."""

    name: str
    """Stable, since scripts read it; people see it with blanks, or as `_TITLES` says."""
    level: str
    """OK, LIMITED or MISSING."""
    state: str
    """What was found."""
    meaning: str
    """What follows from it and, unless the level is OK, what to do."""


def find_all() -> Iterator[MachineFinding]:
    """Yield all findings, those that take longer last."""
    yield find_python()
    yield find_system()
    yield find_cores()
    yield find_memory()
    yield find_terminal()
    yield find_browser()
    settings, config = find_settings()
    yield settings
    yield find_connections()
    yield find_game_port(config.host, config.port)
    yield find_page_port(config.viewer)
    yield find_clock(time.get_clock_info("perf_counter").resolution)
    yield find_time_stamps()
    yield find_replays(config.replay_directory or Path("replays"))
    yield find_supervision()
    yield find_bubblewrap()
    yield find_containers()
    yield find_java()
    yield find_player_python()


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead, for scripts.")
@click.pass_context
def doctor(context: click.Context, as_json: bool) -> None:
    r"""Say what this machine can and cannot do, and what that means.

    Looks at Python, the system, the settings and ports of `spielleiter serve` in the current folder, the clock, the
    sandboxes for `spielleiter check`, and the programs that players need. What can be tried is tried, which takes a
    few seconds.

    \b
    ok       it works
    limited  something does not work; the line says what to do
    missing  the server cannot start; the exit code is then 1
    """
    raise_on_ctrl_c()
    findings: list[MachineFinding] = []
    has_no_colors = sys.stdout.isatty() and not understands_escapes(sys.stdout)
    has_colors = False if has_no_colors or os.environ.get("NO_COLOR") else None  # None: on a terminal only
    columns = min(shutil.get_terminal_size().columns, _MOST_COLUMNS)
    if not as_json:
        click.echo(f"spielleiter {version_of('spielleiter')}\n")
    for finding in find_all():
        findings.append(finding)
        if not as_json:
            click.echo(shown(finding, columns), color=has_colors)
    levels = [finding.level for finding in findings]
    missing, limited = levels.count(MISSING), levels.count(LIMITED)
    if as_json:
        found = [{key: getattr(each, key) for key in ("name", "level", "state", "meaning")} for each in findings]
        click.echo(json_text({"version": version_of("spielleiter"), "is_ready": not missing, "findings": found}))
    elif missing:
        click.echo(f"\nThe server cannot start here: see the line{'s' * (missing > 1)} marked missing.")
    elif limited:
        which = "the line marked limited says" if limited == 1 else f"the {limited} lines marked limited say"
        click.echo(f"\nServers and players can start here; {which} what does not work.")
    else:
        click.echo("\nEverything works here.")
    context.exit(EXIT_FAILURE if missing else 0)


def shown(finding: MachineFinding, columns: int) -> str:
    """Return the lines for a finding, at most `columns` wide; what it means begins a line of its own."""
    level, title = finding.level, _TITLES.get(finding.name, finding.name.replace("_", " "))
    width = max(columns - len(_INDENT), 30)
    states, meanings = (filled(printable(text), width, "") for text in (finding.state, finding.meaning))
    styled = click.style(level.ljust(_LEVEL_WIDTH), fg=_COLORS[level], bold=level != OK or None)
    # what needs attention stands out
    shown_meanings = [click.style(line, dim=level == OK or None) for line in meanings]
    return f"\n{_INDENT}".join([f"{styled}  {title:{_TITLE_WIDTH}}  {states[0]}", *states[1:], *shown_meanings])


# -- the machine ------------------------------------------------------------------------------------------------------


def find_python(version: tuple[int, ...] = sys.version_info[:3]) -> MachineFinding:
    where = "part of this program" if is_frozen() else sys.executable
    state = f"{'.'.join(map(str, version))} ({platform.python_implementation()}), {where}"
    oldest, newest = (".".join(map(str, each)) for each in (OLDEST, NEWEST))
    if version[:2] < OLDEST:
        return MachineFinding("python", MISSING, state, f"Install Python {oldest} or newer.")
    if version[:2] > NEWEST:
        meaning = f"Newer than what the tests run on; if something fails, try Python {newest}."
        return MachineFinding("python", LIMITED, state, meaning)
    return MachineFinding("python", OK, state, "Nothing else is needed for `serve`, `play` and `demo`.")


def find_system(system: str = sys.platform) -> MachineFinding:
    """`system` is a value of `sys.platform`."""
    state = f"{platform.system()} {platform.release()} on {platform.machine()}"
    if system == "linux":
        meaning = "All parts of spielleiter exist here; the lines below say what is set up."
        return MachineFinding("system", OK, state, meaning)
    meaning = (
        "Servers, players and matches work. Some conditions of the contest can be kept on Linux only: to test with "
        "them, use a Linux machine, or the Windows Subsystem for Linux."
    )
    return MachineFinding("system", LIMITED, state, meaning)


def find_cores(cores: int | None = None) -> MachineFinding:
    """`cores` is the number of processor cores that this process may use."""
    if cores is None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if cores == 1:
        meaning = "The server and the players share it, so think times vary; play one game at a time (--concurrency 1)."
        return MachineFinding("cores", LIMITED, "1", meaning)
    games = "one game at a time" if cores < 4 else f"up to {cores // 2} games at a time"
    meaning = f"A match can play {games} (--concurrency) without slowing programs down."
    return MachineFinding("cores", OK, str(cores), meaning)


def find_memory() -> MachineFinding:
    """Compare the free memory with what a program may use in the contest."""
    limit, available = f"{MEMORY_LIMIT / _GB:.1f} GB", None
    with suppress(OSError, psutil.Error):
        available = psutil.virtual_memory().available
    if available is None:
        meaning = f"A program may use {limit} in the contest; make sure that so much is free."
        return MachineFinding("memory", OK, "not told by this system", meaning)
    state = f"{available / _GB:.1f} GB free"
    if available < MEMORY_LIMIT:
        meaning = f"A program may use {limit} in the contest; close other programs before a match."
        return MachineFinding("memory", LIMITED, state, meaning)
    return MachineFinding("memory", OK, state, f"A program may use {limit} in the contest.")


def find_terminal(stream: TextIO | None = None, system: str = sys.platform) -> MachineFinding:
    """What the output can show; `stream` is standard output unless it is given."""
    stream = stream or sys.stdout
    encoding = stream.encoding or "ascii"
    state = f"{'a terminal' if stream.isatty() else 'no terminal'}, encoding {encoding}"
    try:
        _SHOWN.encode(encoding)
    except UnicodeEncodeError:
        advice = "set LANG=C.UTF-8"
        if system == "win32":  # a window shows every character; the build reads no variables for Python
            advice = "look at them in a window" if is_frozen() else "set the variable PYTHONUTF8 to 1"
        meaning = f"Some characters are replaced by similar ones; to see all of them, {advice}."
        return MachineFinding("terminal", LIMITED, state, meaning)
    drawn = "" if stream.isatty() else " Boards and progress are drawn on terminals only."
    return MachineFinding("terminal", OK, state, f"Every character can be shown.{drawn}")


def find_browser(get: Callable[[], object] = webbrowser.get, environ: Mapping[str, str] = os.environ) -> MachineFinding:
    try:
        get()
    except webbrowser.Error:
        if environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"):
            state, remedy = "not found on the PATH", "install a browser, or name one in the variable BROWSER"
        else:  # Python looks for none then
            state, remedy = (
                "none without a graphical session (no DISPLAY)",
                "open the printed address elsewhere",
            )
        meaning = f"`spielleiter replay` cannot open a page: {remedy}, or use its --text or --html."
        return MachineFinding("browser", LIMITED, state, meaning)
    return MachineFinding("browser", OK, "found", "`spielleiter replay` opens games in it.")


# -- the server in the current folder ---------------------------------------------------------------------------------


def find_settings(environ: Mapping[str, str] = os.environ) -> tuple[MachineFinding, Config]:
    """Return whether the settings can be used, and the settings; the defaults if they cannot."""
    try:
        config = load_config({}, environ)
    except ConfigError as error:
        return MachineFinding("settings", MISSING, str(error), "`serve` does not start; correct this."), Config()
    if Path(PROPERTIES_FILE).exists():
        return MachineFinding("settings", OK, f"{Path(PROPERTIES_FILE).resolve()}", "`serve` can use them."), config
    meaning = f"A file {PROPERTIES_FILE} in the current folder can change them."
    return MachineFinding("settings", OK, "the defaults", meaning), config


def find_connections() -> MachineFinding:
    try:
        with (
            socket.create_server((_LOOPBACK, 0)) as listening,
            socket.create_connection(listening.getsockname(), _TIMEOUT) as connecting,
        ):
            listening.settimeout(_TIMEOUT)
            with listening.accept()[0] as accepted:
                accepted.settimeout(_TIMEOUT)
                connecting.sendall(b"x")
                accepted.recv(1)
    except OSError as error:
        meaning = f"Players cannot reach a server here; allow connections to {_LOOPBACK} in the firewall."
        return MachineFinding("connections", MISSING, os_error_text(error), meaning)
    return MachineFinding("connections", OK, f"to {_LOOPBACK} work", "Players on this machine can play.")


def _listening_problem(host: str, port: int, option: str) -> str:
    """Return why nothing can listen there; empty if something can."""
    try:
        for sock in listen(host, port, option):
            sock.close()
    except StartError as error:
        return str(error)
    return ""


def find_game_port(host: str, port: int) -> MachineFinding:
    if problem := _listening_problem(host, port, "--port"):
        meaning = "If a server is running there already, use it; otherwise start one with `spielleiter serve --port 0`."
        return MachineFinding("game_port", LIMITED, problem, meaning)
    state = f"{shown_address((host, port))} is free"
    return MachineFinding("game_port", OK, state, "`spielleiter serve` can listen there.")


def find_page_port(address: tuple[str, int] | None) -> MachineFinding:
    """`address` is None if the pages are turned off."""
    if address is None:
        meaning = "No pages are served; set `viewer` to an address to watch games in the browser."
        return MachineFinding("page_port", OK, "turned off", meaning)
    if problem := _listening_problem(*address, "--viewer"):
        meaning = "The pages get any free port instead; the log of `serve` says which."
        return MachineFinding("page_port", LIMITED, problem, meaning)
    meaning = f"With `spielleiter serve`, http://{shown_address(address)}/ shows the games."
    return MachineFinding("page_port", OK, f"{shown_address(address)} is free", meaning)


def find_clock(tick: float) -> MachineFinding:
    """`tick` is the resolution of the clock in seconds."""
    state = f"ticks of {tick * 1e9:.3g} ns" if tick < 1e-6 else f"ticks of {tick * 1000:.3g} ms"
    if tick > LONGEST_TICK:
        meaning = "Think times are exact to one tick only; do not rely on moves just below the limit."
        return MachineFinding("clock", LIMITED, state, meaning)
    return MachineFinding("clock", OK, state, "Think times are exact.")


async def measured_arrival() -> Arrival:
    """Send bytes over connections of this machine until the kernel stamps one; return the last arrival.

    Raises OSError and trio.BrokenResourceError if connections are not possible.
    """
    arrival = Arrival(trio.current_time())
    with socket.create_server((_LOOPBACK, 0)) as listening:
        stamp_arrivals(listening)
        for _ in range(_ATTEMPTS):
            with socket.create_connection(listening.getsockname(), _TIMEOUT) as connecting:
                wire = SocketWire(listening.accept()[0])
                try:
                    connecting.sendall(b"x")
                    _, arrival = await wire.receive()
                finally:
                    await wire.aclose()
            if arrival.source is StampSource.KERNEL:
                break
            await trio.lowlevel.checkpoint()
    return arrival


def find_time_stamps() -> MachineFinding:
    """Return whether the kernel tells when an answer has arrived."""
    try:
        arrival = run_async(measured_arrival)
    except (OSError, trio.BrokenResourceError) as error:
        meaning = "First let programs connect on this machine; see the line `connections`."
        return MachineFinding("time_stamps", LIMITED, f"cannot be tried ({error})", meaning)
    if arrival.source is StampSource.KERNEL:
        meaning = "A busy server does not count against a player: the kernel tells when its answer has arrived."
        return MachineFinding("time_stamps", OK, "by the kernel", meaning)
    meaning = (
        "An answer counts from when the server reads it: keep the machine quiet, or play on Linux, if it is close."
    )
    return MachineFinding("time_stamps", LIMITED, "by the server", meaning)


def find_replays(folder: Path) -> MachineFinding:
    """Return whether replays can be saved in `folder`, which need not exist yet."""
    place = folder.absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"x")
        free = shutil.disk_usage(place).free
    except OSError as error:
        meaning = "Replays cannot be saved there; choose another folder: `spielleiter serve --save-replay FOLDER`."
        return MachineFinding("replays", LIMITED, f"{place}: {error.strerror or error}", meaning)
    state = f"{folder.absolute()} can be written, {free / 1e9:.1f} GB free"
    if free < LEAST_SPACE:
        return MachineFinding("replays", LIMITED, state, "Free some space before games are saved there.")
    return MachineFinding("replays", OK, state, "`spielleiter serve --save-replay true` saves every game.")


# -- programs of matches and checks -----------------------------------------------------------------------------------


def supervision_problem() -> str:
    """Return why the system does not keep together what a program starts; empty if it does, as was tried."""
    if sys.platform == "win32":
        try:
            open_job().close()
        except OSError as error:
            return f"Windows refuses a Job Object ({error})"
        return ""
    if sys.platform == "linux":
        from spielleiter.programs.linux import start_supervised_process

        spec = ProcessSpec([*own_python(), "-I", "-S", "-c", ""], None, dict(os.environ))
        try:
            process = start_supervised_process(spec)
        except (OSError, ValueError, SupervisorError) as error:
            return str(error)
        if process is not None:
            with process.stdout, process.stderr:
                run_async(process.end)
            return ""
    return "there are no supervisors on this system"


def find_supervision(problem: Callable[[], str] = supervision_problem) -> MachineFinding:
    """Return whether everything that a program starts is measured and ended."""
    if text := problem():
        meaning = (
            "What a program starts is measured and ended only as far as it is found. End leftovers by hand, or play on "
            "Linux."
        )
        return MachineFinding("processes", LIMITED, f"not supervised: {text}", meaning)
    return MachineFinding("processes", OK, "supervised", "A match measures and ends everything that a program starts.")


def find_bubblewrap(problem: Callable[[], str] = bubblewrap_problem) -> MachineFinding:
    if text := problem():
        meaning = "`spielleiter check` of a ZIP cannot cut it off from network and files, unless an --image is given."
        return MachineFinding("bubblewrap", LIMITED, text, meaning)
    meaning = "`spielleiter check` of a ZIP runs it without a network, as the contest does."
    return MachineFinding("bubblewrap", OK, "works", meaning)


def find_containers(problem: Callable[[str], str] = engine_problem) -> MachineFinding:
    problems = {engine: problem(engine) for engine in ENGINES}
    if working := [engine for engine, text in problems.items() if not text]:
        meaning = "`spielleiter check --image NAME` runs a ZIP in a container, as the contest does."
        return MachineFinding("containers", OK, f"{' and '.join(working)} can be used", meaning)
    meaning = "`spielleiter check --image NAME` needs one of them: install Docker or Podman, or start it."
    return MachineFinding("containers", LIMITED, " ".join(problems.values()), meaning)


def _version_line(program: str, option: str) -> str:
    """Return the first line that a program prints about its version.

    Raises OSError or subprocess.SubprocessError if it does not run.
    """
    done = subprocess.run(  # noqa: S603 - the program that players are started with
        [program, option],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=_VERSION_TIMEOUT,
        check=True,
    )
    return done.stdout.decode("utf-8", "replace").split("\n")[0].strip()


def find_java(which: Which = shutil.which) -> MachineFinding:
    program = which("java")
    if program is None:
        meaning = (
            "Players that are .jar files cannot be started; install a Java runtime for those. Nothing else needs it."
        )
        return MachineFinding("java", LIMITED, "not found", meaning)
    try:
        state = f"{_version_line(program, '-version')}, {program}"
    except (OSError, subprocess.SubprocessError) as error:
        meaning = "Players that are .jar files cannot be started; install Java again."
        return MachineFinding("java", LIMITED, f"{program} does not run: {error}", meaning)
    return MachineFinding("java", OK, state, "Players that are .jar files can be started.")


def find_player_python(which: Which = shutil.which, system: str = sys.platform) -> MachineFinding:
    """Return whether players that are Python programs can be started as people write it.

    A program of this name may be there without a Python: on Windows it opens the Store, on macOS it offers the
    developer tools.
    """
    words = ("py", "python") if system == "win32" else ("python3",)
    problem = f"{' and '.join(words)} not found"
    for word in words:
        if program := which(word):
            try:
                state = f"{_version_line(program, '--version')}, {program}"
            except (OSError, subprocess.SubprocessError) as error:
                problem = f"{program} does not run: {error}"
            else:
                meaning = f"Players in Python can be started with `{word} FILE`."
                return MachineFinding("player_python", OK, state, meaning)
    meaning = f"Players in Python cannot be started with `{words[0]} FILE`; "
    meaning += "install Python for those." if is_frozen() else f"write `{sys.executable} FILE` instead."
    return MachineFinding("player_python", LIMITED, problem, meaning)
