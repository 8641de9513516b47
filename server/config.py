"""The configuration of a server: every setting with its default and its meaning.

Of four sources, the one with the highest precedence gives a value: command line, `SPIELLEITER_*` environment variables,
`server.properties`, the default below. The command's help is generated from the fields of `Config`.
"""

from __future__ import annotations

import ipaddress
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from msgspec import Struct

from spielleiter.protocol.defaults import DEFAULT_HOST, DEFAULT_PASSWORD, DEFAULT_PORT, DEFAULT_VIEWER_PORT
from spielleiter.server.errors import StartError
from spielleiter.server.setting import (
    Setting,
    address,
    address_or_off,
    choice,
    directory_switch,
    fraction,
    milliseconds,
    optional,
    pairs,
    path,
    seconds,
    setting,
    settings_of,
    shown_address,
    suggestion,
    switch,
    text,
    whole_number,
)

CONFIG_VARIABLE = "SPIELLEITER_CONFIG"

RESERVED_VARIABLES = frozenset({CONFIG_VARIABLE, "SPIELLEITER_SHARED"})
"""Variables with this project's prefix that are not settings; the second one is for the tests."""

IGNORED = MappingProxyType({"plugins": "games are built in, no plugins are loaded"})
"""Keys of the official releases that have no effect here, with the reason; on the command line, each takes a value."""

Options: TypeAlias = Mapping[str, str | Sequence[str] | None]
"""Texts from the command line by field of `Config`; None means that the option was not given."""


PROPERTIES_FILE = "server.properties"
MOST_BYTES: Final = 1024 * 1024  # of this file
MAX_SEED = 2**63 - 1

_EDITIONS = pairs("gameType", "edition")


class ConfigError(StartError):
    """A setting is unknown or invalid; the text is one line: its source, the value, and what is allowed."""


class Config(Struct, frozen=True):
    """All settings. Every `*_timeout` is in seconds, whatever the unit of the property is."""

    host: str = setting(
        DEFAULT_HOST,
        text("ADDRESS"),
        "Address to listen on; 0.0.0.0 is every IPv4 address of this machine, :: every IPv4 and IPv6 address.",
        group="Listening",
    )
    port: int = setting(
        str(DEFAULT_PORT), whole_number(0, 65535, "PORT"), "Port to listen on; 0: any free one.", short_option="-p"
    )
    is_local: bool = setting(
        "true",
        switch(),
        "The official name for host: true is 127.0.0.1, false 0.0.0.0. A host from a source of higher precedence wins.",
        name="local",
    )
    port_file: Path | None = setting(
        "", optional(path()), "File to write the port to once clients can connect; scripts can wait for it."
    )
    password: str = setting(
        DEFAULT_PASSWORD,
        text("PASSWORD", keeps_spaces=True),
        "Password of the administrators; change it before listening on more than loopback.",
        is_secret=True,
    )
    grace: float = setting(
        "5",
        seconds(can_be_zero=True),
        "Seconds that running games have to finish after the server has received a signal to stop.",
    )

    default_game: str | None = setting(
        "",
        optional(text("GAMETYPE")),
        "The gameType of a join that names none; empty: that of the current season.",
        group="Games",
    )
    editions: Mapping[str, str] = setting(
        "",
        _EDITIONS,
        "The edition in which a gameType is played. In server.properties: edition.<gameType> = <edition>. Repeatable.",
        name="edition",
    )
    is_paused: bool = setting(
        "false",
        switch(),
        "Games that are started by join are paused until an administrator resumes them.",
        name="paused",
    )
    soft_timeout: float = setting(
        "2000", milliseconds(), "Milliseconds that a player may think about a move; checked when the move arrives."
    )
    hard_timeout: float = setting(
        "10000", milliseconds(), "Milliseconds after which a game ends if the player to move has not sent a move."
    )
    has_timeouts: bool = setting(
        "true",
        switch(),
        "Whether the time limits apply; false (--no-timeout): thinking time is unlimited.",
        name="timeout",
    )
    game_end: str | None = setting(
        "",
        optional(choice("colorFinished", "noMovesLeft")),
        "Blokus: the game ends as in the published rules, with the round in which a colour has placed its last piece "
        "and after 25 rounds at most (colorFinished), or as in the release, when no colour can move and after 24 "
        "rounds at most, in 2021 after 25 (noMovesLeft); empty: as in the edition.",
    )
    start_piece: str | None = setting(
        "",
        optional(text("SHAPE")),
        "Blokus: the shape with which every colour begins; empty: drawn at random for each game.",
    )
    seed: int | None = setting(
        "",
        optional(whole_number(0, MAX_SEED)),
        "Seed for the starting positions, which are then the same in every run; empty: they differ.",
    )
    seeds_ids: bool = setting(
        "false",
        switch(),
        "The seed determines ids and reservation codes as well; anyone who knows one can guess the others. For tests.",
        name="seedIds",
    )
    is_test_mode: bool = setting(
        "false",
        switch(),
        "Keep a score sheet of finished games by display name, from the start of the server.",
        name="testMode",
    )

    replay_directory: Path | None = setting(
        "false",
        directory_switch("replays"),
        "Save a replay of every game: true in the directory replays, or the name of a directory.",
        name="saveReplay",
        other_options=("--saveReplay",),
        group="Replays",
    )
    recent_games: int = setting(
        "100",
        whole_number(0, 1000),
        "Number of the newest games whose replays are kept in the user's data folder (100 MiB at most), so that the "
        "pages show them after a restart; 0: none. Not with saveReplay.",
    )
    results_file: Path | None = setting(
        "",
        optional(path()),
        "File to which each finished game adds a line of JSON; empty: results.jsonl beside the replays, if any.",
        name="results",
    )
    load_game_file: Path | None = setting(
        "",
        optional(path()),
        "Start every game of the replay's season from this replay.",
        other_options=("--loadGameFile",),
    )
    turn: int = setting(
        "0",
        whole_number(0),
        "The turn of the replay from which games start, as the log names it.",
        other_names=("turnToLoad",),
    )
    ply: int | None = setting(
        "",
        optional(whole_number(0)),
        "The number of moves in the replay before the position from which games start, as the pages count them; "
        "instead of turn.",
    )

    viewer: tuple[str, int] | None = setting(
        f"{DEFAULT_HOST}:{DEFAULT_VIEWER_PORT}",
        address_or_off(),
        "Address or port of the pages to watch games and to play in the browser, and of /healthz and /metrics; if the "
        "port is taken, any free one; off: no pages.",
        group="Viewer",
    )
    viewer_password: str | None = setting(
        "",
        optional(text("PASSWORD", keeps_spaces=True)),
        "Password that the browser asks for before it shows a page, with any user name; empty: none.",
        is_secret=True,
    )
    is_viewer_open: bool = setting(
        "false",
        switch(),
        "Let everybody who can reach the pages watch and play without a password, also from other machines.",
        name="viewerOpen",
    )
    viewer_matches: Path | None = setting(
        "",
        optional(path("DIR")),
        "Folder of a match (`spielleiter match --out`), or a folder of such folders, whose games the pages list.",
    )

    log_format: str = setting(
        "auto",
        choice("auto", "console", "json"),
        "Format of the log; auto: console on a terminal, otherwise json.",
        group="Logging",
    )
    log_level: str = setting("info", choice("debug", "info", "warning", "error"), "The lowest level of events to log.")

    trace_directory: Path | None = setting(
        "",
        optional(path("DIR")),
        "Directory for traces: each connection's conversation as a text file, in which what was wrong is marked; "
        "empty: none.",
        name="trace",
    )
    metrics: tuple[str, int] | None = setting(
        "",
        optional(address()),
        "Address or port that serves /healthz and /metrics (in the format of Prometheus) alone, without a password; "
        "empty: only the viewer has them.",
    )

    packet_bytes_before: int = setting(
        "8192",
        whole_number(256),
        "Maximum bytes of a packet before the sender has joined or authenticated.",
        group="Limits",
    )
    packet_bytes_player: int = setting("16384", whole_number(256), "Maximum bytes of a packet of a player: a move.")
    packet_bytes: int = setting("65536", whole_number(256), "Maximum bytes of a packet of an administrator.")
    packet_depth: int = setting("32", whole_number(4), "Maximum depth of nested elements in a packet.")
    packet_attributes: int = setting("64", whole_number(4), "Maximum number of attributes of an element.")
    packet_children: int = setting(
        "4096", whole_number(4), "Maximum number of elements in a packet of an administrator."
    )
    packet_children_player: int = setting(
        "64", whole_number(4), "Maximum number of elements in a packet of any other peer."
    )
    connection_share: float = setting(
        "0.1",
        fraction(),
        "Share of one processor that a connection may use in the long run, apart from a player's accepted packets.",
    )
    strangers_share: float = setting(
        "0.25",
        fraction(),
        "Share of one processor for all connections that have not joined or were refused something, while others play.",
    )
    first_packet_timeout: float = setting(
        "30", seconds(), "Seconds within which a connection from another machine must send its first packet."
    )
    packet_timeout: float = setting(
        "10",
        seconds(),
        "Seconds within which a packet from another machine must be complete once its first byte has arrived; players "
        "and administrators are exempt.",
    )
    idle_timeout: float = setting(
        "60",
        seconds(),
        "Seconds within which a player from another machine must send something after its last game, in editions that "
        "leave players connected (2027).",
    )
    bounds_loopback: bool = setting(
        "false",
        switch(),
        "Whether these three limits apply to peers on this machine as well; the official server has none of them.",
        name="loopbackTimeouts",
    )
    outbox_bytes: int = setting(
        "4194304", whole_number(65536), "Maximum bytes that may wait for a peer that does not read."
    )
    outbox_timeout: float = setting(
        "10", seconds(), "Seconds within which such a peer must read something; otherwise it is dropped."
    )
    delivery_timeout: float = setting(
        "1", seconds(), "Seconds after which a player's clock runs even if it has not read the request for its move."
    )
    close_timeout: float = setting(
        "5",
        seconds(),
        "Seconds that a peer has to close once the server has ended its stream; at most one when the server stops.",
    )
    connections: int = setting("4096", whole_number(1), "Maximum number of simultaneous connections.")
    connections_per_address: int = setting(
        "256", whole_number(1), "Maximum number of simultaneous connections from one address; this machine is exempt."
    )
    password_attempts: int = setting(
        "5",
        whole_number(1),
        "Number of wrong passwords from one address after which the answers to further wrong ones are delayed.",
    )
    password_window: float = setting("60", seconds(), "Seconds for which a wrong password counts.")
    password_delay: float = setting(
        "30", seconds(can_be_zero=True), "The longest such delay in seconds; each further attempt adds one second."
    )
    rooms_waiting: int = setting("1024", whole_number(1), "Maximum number of rooms that wait for a player.")
    seats_per_connection: int = setting(
        "3",
        whole_number(1),
        "Maximum number of seats of one connection in waiting and running games; administrators are exempt.",
    )
    reservation_timeout: float = setting(
        "600", seconds(), "Seconds after which a reserved seat that was not taken is released."
    )
    observers_per_room: int = setting("64", whole_number(0), "Maximum number of observers of a room.")

    recent_directory: Path | None = None
    """The folder of the recent games, which belongs to them alone; None: they are not kept."""
    properties_file: Path | None = None
    """The properties file that was read; None if there was none."""
    ignored: tuple[str, ...] = ()
    """The accepted settings without effect, each with its source and the reason; for the log."""

    def __repr__(self) -> str:
        """Return a text without passwords, which must not get into a log."""
        secret = {each.field for each in SETTINGS if each.is_secret}
        shown = (f"{name}={getattr(self, name)!r}" for name in self.__struct_fields__ if name not in secret)
        return f"Config({', '.join(shown)})"

    @property
    def replay_folder(self) -> Path | None:
        """The folder in which replays of this server are found, all of them or the recent ones; None: in none."""
        return self.recent_directory if self.replay_directory is None else self.replay_directory

    @property
    def game_options(self) -> Mapping[str, str]:
        """The options for `spielleiter.game.api.Game.with_options` that are set."""
        given = {"gameEnd": self.game_end, "startPiece": self.start_piece}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def has_public_password(self) -> bool:
        """Whether other machines can reach a server whose password is the default one, or guessed as early as that.

        These are the default one with other white space or capital letters, and white space alone.
        """
        hosts = [self.host, *(each[0] for each in (self.viewer, self.metrics) if each is not None)]
        return not all(map(is_loopback, hosts)) and self.password.strip().lower() in {DEFAULT_PASSWORD, ""}


SETTINGS: tuple[Setting, ...] = settings_of(Config)
EDITION_SETTING = next(each for each in SETTINGS if each.kind is _EDITIONS)


def is_loopback(host: str) -> bool:
    """Return whether a server that listens on `host` can be reached only from this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def limits_problem(soft_timeout: float, hard_timeout: float) -> str | None:
    """Return what is wrong with this pair of time limits for a move, in seconds; None if they are valid.

    They may be equal. With a soft limit above the hard one, the game would end before a move could exceed the soft one.
    """
    if soft_timeout <= hard_timeout:
        return None
    soft, hard = (round(limit * 1000) for limit in (soft_timeout, hard_timeout))
    return (
        f"the soft time limit ({soft} ms) is above the hard one ({hard} ms), at which the game is over already; "
        "lower the soft one or raise the hard one"
    )


def load_config(options: Options, environ: Mapping[str, str], directory: Path | None = None) -> Config:
    """Return the configuration from all four sources.

    - `options`: the texts from the command line. The key ``config`` may name a properties file, which must exist.
    - `environ`: the environment variables; SPIELLEITER_CONFIG may name a properties file as well.
    - `directory`: where to look for `server.properties` if no file is named, by default the current directory.

    Raises ConfigError for an unreadable file, an unknown name or an invalid value.
    """
    explicit = options.get("config") or environ.get(CONFIG_VARIABLE) or None  # an empty variable names no file
    file = Path(str(explicit)) if explicit else (directory or Path()) / PROPERTIES_FILE
    found_file = explicit is not None or file.exists()
    ignored: list[str] = []
    values: dict[str, Any] = {}
    precedence: dict[str, int] = {}
    edition_precedence: dict[str, int] = {}  # that of the source that chose the edition, by gameType
    for level, which, content, place in _given_texts(file if found_file else None, environ, options, ignored):
        try:
            value = which.read(content, place)
        except ValueError as error:
            raise ConfigError(str(error)) from None
        if which is EDITION_SETTING:
            chosen = values.get(which.field, {})
            for game_type in value:
                if edition_precedence.get(game_type) == level:
                    known = f"{game_type} is already played in {chosen[game_type]}"
                    raise ConfigError(f"{place}: {known}, expected one edition for each gameType")
                edition_precedence[game_type] = level
            value = MappingProxyType({**chosen, **value})
        values[which.field] = value
        precedence[which.field] = level
    local, of_local, of_host = values.get("is_local"), precedence.get("is_local", 0), precedence.get("host", 0)
    if of_local > of_host:
        values["host"] = "127.0.0.1" if local else "0.0.0.0"  # noqa: S104 - requested by the setting
    elif of_local == of_host > 0 and local != is_loopback(values["host"]):
        contradiction = f"host {values['host']} and local {str(local).lower()} contradict each other"
        raise ConfigError(f"{contradiction}, expected one of them")
    for name in ("turn", "ply"):
        if values.get(name) and values.get("load_game_file") is None:
            raise ConfigError(f"{name} {values[name]} needs a replay to start from, expected loadGameFile with it")
    if values.get("turn") and values.get("ply") is not None:
        raise ConfigError(f"turn {values['turn']} and ply {values['ply']} both name a position, expected one of them")
    viewer = values.get("viewer")
    if viewer and not is_loopback(viewer[0]) and not (values.get("viewer_password") or values.get("is_viewer_open")):
        raise ConfigError(
            f"viewer {shown_address(viewer)}: others could watch and play there; choose a password for them "
            "(viewerPassword), or let everybody in (viewerOpen)"
        )
    config = Config(**values, properties_file=file if found_file else None, ignored=tuple(ignored))
    if config.has_timeouts and (problem := limits_problem(config.soft_timeout, config.hard_timeout)):
        raise ConfigError(f"{problem} (softTimeout, hardTimeout), or switch both off (--no-timeout)")
    return config


def _given_texts(
    file: Path | None, environ: Mapping[str, str], options: Options, ignored: list[str]
) -> Iterator[tuple[int, Setting, str, str]]:
    """Yield the settings of all sources, the lowest precedence first, with their texts and where these stand.

    A yielded tuple begins with the precedence of its source. What has no effect is added to `ignored`.
    """
    prefix = EDITION_SETTING.name + "."
    by_name = {name: each for each in SETTINGS for name in (each.name, *each.other_names)}
    for line, name, value in () if file is None else read_properties(file):
        place = f"{file}:{line}: {name}"
        if name in IGNORED:
            ignored.append(f"{place} ({IGNORED[name]})")
        elif name.startswith(prefix):
            yield 1, EDITION_SETTING, f"{name.removeprefix(prefix)}={value.strip()}", place
        elif known := by_name.get(name):
            yield 1, known, value, place
        else:
            raise ConfigError(f"{place}: there is no such property{suggestion(name, by_name)}")
    by_variable = {each.variable: each for each in SETTINGS}
    for name, value in sorted(environ.items()):
        if not name.startswith("SPIELLEITER_") or name in RESERVED_VARIABLES:
            continue
        if name not in by_variable:
            raise ConfigError(f"{name}: there is no such environment variable{suggestion(name, by_variable)}")
        yield 2, by_variable[name], value, name
    for each in SETTINGS:
        given = options.get(each.field)
        for content in (given,) if isinstance(given, str) else given or ():
            yield 3, each, content, each.option
    ignored += [f"--{name} ({why})" for name, why in IGNORED.items() if options.get(name) is not None]


def read_properties(file: Path) -> Iterator[tuple[int, str, str]]:
    """Yield the line number, key and value of each property in `file`. Raises ConfigError."""
    import javaproperties

    try:
        mode = file.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise ConfigError(f"{file}: is a device or a pipe, expected a text file in UTF-8")
        with file.open("rb") as opened:
            read = opened.read(MOST_BYTES + 1)
        if len(read) > MOST_BYTES:
            raise ConfigError(f"{file}: has more than {MOST_BYTES} bytes, expected a text file with settings")
        content = read.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: byte {error.start} is not UTF-8, expected a text file in UTF-8") from None
    line = 1
    elements = javaproperties.parse(content)
    while True:
        try:
            element = next(elements, None)
        except javaproperties.InvalidUEscapeError as error:
            raise ConfigError(
                f"{file}:{line}: {error.escape!r} is not an escape, expected \\u and four digits"
            ) from None
        if element is None:
            return
        if isinstance(element, javaproperties.KeyValue):
            yield line, element.key, element.value
        line += element.source.count("\n")
