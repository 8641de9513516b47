"""What `spielleiter doctor` finds out for the server: its settings, connections, ports, clock and replays.

Invariants: what can be tried is tried, with the server's own functions and for a moment only: a socket is opened and
closed, a file without a name is written. The settings are those that `spielleiter serve` would use in this folder.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import trio
import trio.lowlevel

from spielleiter.cli.commands import run_async
from spielleiter.cli.doctor.finding import Finding, Level
from spielleiter.common.errors import os_error_text
from spielleiter.server.config import PROPERTIES_FILE, Config, ConfigError, load_config
from spielleiter.server.core.clock import Arrival, StampSource
from spielleiter.server.errors import StartError
from spielleiter.server.net.sockets import listen
from spielleiter.server.net.wire import SocketWire, stamp_arrivals
from spielleiter.server.setting import shown_address

LOOPBACK: Final = "127.0.0.1"
LONGEST_TICK: Final = 0.001
"""Seconds; a clock with longer ticks measures think times too coarsely."""
LEAST_SPACE: Final = 100_000_000
"""Bytes of free space below which a folder for replays may soon be full."""

_MICROSECOND: Final = 1e-6
_ATTEMPTS: Final = 100  # the kernel begins to stamp a moment after it was asked to
_TIMEOUT: Final = 10.0  # seconds for a connection on this machine


def find_server(environ: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """Yield all findings for a server that is started in the current folder with this environment."""
    settings, config = find_settings(environ)
    yield settings
    yield find_connections()
    yield find_game_port(config.host, config.port)
    yield find_page_port(config.viewer)
    yield find_clock(time.get_clock_info("perf_counter").resolution)
    yield find_time_stamps()
    yield find_replays(config.replay_directory or Path("replays"))


def find_settings(environ: Mapping[str, str]) -> tuple[Finding, Config]:
    """Return whether the settings can be used, and the settings; the defaults if they cannot."""
    try:
        config = load_config({}, environ)
    except ConfigError as error:
        return Finding(
            "settings", "settings", Level.MISSING, str(error), "`serve` does not start; correct this."
        ), Config()
    is_file = Path(PROPERTIES_FILE).exists()
    state = f"{Path(PROPERTIES_FILE).resolve()}" if is_file else "the defaults"
    meaning = "`serve` can use them." if is_file else f"A file {PROPERTIES_FILE} in the current folder can change them."
    return Finding("settings", "settings", Level.OK, state, meaning), config


def find_connections() -> Finding:
    """Return whether programs on this machine can connect to each other."""
    try:
        with (
            socket.create_server((LOOPBACK, 0)) as listening,
            socket.create_connection(listening.getsockname(), _TIMEOUT) as connecting,
        ):
            listening.settimeout(_TIMEOUT)
            with listening.accept()[0] as accepted:
                accepted.settimeout(_TIMEOUT)
                connecting.sendall(b"x")
                accepted.recv(1)
    except OSError as error:
        meaning = f"Players cannot reach a server here; allow connections to {LOOPBACK} in the firewall."
        return Finding("connections", "connections", Level.MISSING, os_error_text(error), meaning)
    return Finding("connections", "connections", Level.OK, f"to {LOOPBACK} work", "Players on this machine can play.")


def _listening_problem(host: str, port: int, option: str) -> str:
    """Return why nothing can listen there; empty if something can."""
    try:
        sockets = listen(host, port, option)
    except StartError as error:
        return str(error)
    for sock in sockets:
        sock.close()
    return ""


def find_game_port(host: str, port: int) -> Finding:
    """Return whether `serve` can listen on its port."""
    problem = _listening_problem(host, port, "--port")
    address = shown_address((host, port))
    if problem:
        meaning = "If a server is running there already, use it; otherwise start one with `spielleiter serve --port 0`."
        return Finding("game_port", "game port", Level.LIMITED, problem, meaning)
    return Finding("game_port", "game port", Level.OK, f"{address} is free", "`spielleiter serve` can listen there.")


def find_page_port(address: tuple[str, int] | None) -> Finding:
    """Return whether the pages get their port; `address` is None if they are turned off."""
    if address is None:
        meaning = "No pages are served; set `viewer` to an address to watch games in the browser."
        return Finding("page_port", "page port", Level.OK, "turned off", meaning)
    problem = _listening_problem(*address, "--viewer")
    if problem:
        meaning = "The pages get any free port instead; the log of `serve` says which."
        return Finding("page_port", "page port", Level.LIMITED, problem, meaning)
    meaning = f"With `spielleiter serve`, http://{shown_address(address)}/ shows the games."
    return Finding("page_port", "page port", Level.OK, f"{shown_address(address)} is free", meaning)


def find_clock(tick: float) -> Finding:
    """Return how exact think times are; `tick` is the resolution of the clock in seconds."""
    state = f"ticks of {tick * 1e9:.3g} ns" if tick < _MICROSECOND else f"ticks of {tick * 1000:.3g} ms"
    if tick > LONGEST_TICK:
        meaning = "Think times are exact to one tick only; do not rely on moves just below the limit."
        return Finding("clock", "clock", Level.LIMITED, state, meaning)
    return Finding("clock", "clock", Level.OK, state, "Think times are exact.")


async def measured_arrival(attempts: int = _ATTEMPTS) -> Arrival:
    """Send bytes over connections of this machine until the kernel stamps one; return the last arrival.

    Raises OSError and trio.BrokenResourceError if connections are not possible.
    """
    arrival = Arrival(trio.current_time())
    with socket.create_server((LOOPBACK, 0)) as listening:
        stamp_arrivals(listening)
        for _ in range(attempts):
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


def find_time_stamps(attempts: int = _ATTEMPTS) -> Finding:
    """Return whether the kernel tells when an answer has arrived."""
    name = ("time_stamps", "time stamps")
    try:
        arrival = run_async(lambda: measured_arrival(attempts))
    except (OSError, trio.BrokenResourceError) as error:
        meaning = "First let programs connect on this machine; see the line `connections`."
        return Finding(*name, Level.LIMITED, f"cannot be tried ({error})", meaning)
    if arrival.source is StampSource.KERNEL:
        meaning = "A busy server does not count against a player: the kernel tells when its answer has arrived."
        return Finding(*name, Level.OK, "by the kernel", meaning)
    meaning = (
        "An answer counts from when the server reads it: keep the machine quiet, or play on Linux, if it is close."
    )
    return Finding(*name, Level.LIMITED, "by the server", meaning)


def find_replays(folder: Path) -> Finding:
    """Return whether replays can be saved in `folder`, which need not exist yet."""
    name = ("replays", "replays")
    place = folder.absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"x")
        free = shutil.disk_usage(place).free
    except OSError as error:
        meaning = "Replays cannot be saved there; choose another folder: `spielleiter serve --save-replay FOLDER`."
        return Finding(*name, Level.LIMITED, f"{place}: {error.strerror or error}", meaning)
    state = f"{folder.absolute()} can be written, {free / 1e9:.1f} GB free"
    if free < LEAST_SPACE:
        return Finding(*name, Level.LIMITED, state, "Free some space before games are saved there.")
    return Finding(*name, Level.OK, state, "`spielleiter serve --save-replay true` saves every game.")
