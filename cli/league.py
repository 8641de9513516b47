"""`spielleiter league`: a league for a class, for a school year, in one folder."""

from __future__ import annotations

import contextlib
import socket
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spielleiter.cli.options import TEXT, WholeNumber
from spielleiter.cli.output import print_line, showing_share
from spielleiter.cli.running import Failure, Misuse, run_until_stopped
from spielleiter.common.process import hide_this_process
from spielleiter.protocol.defaults import DEFAULT_HELPERS_PORT

if TYPE_CHECKING:
    from spielleiter.league.database import Database
    from spielleiter.league.settings import LeagueSettings

DEFAULT_LEAGUE_PORT = 13090
SETTINGS_PAUSE = 2.0
"""Seconds between two looks at the settings."""
OF_ALL_PARTS = ("game_type", "edition", "is_open_to_network", "uses_helpers")
"""The settings whose change begins the league again."""
EVERYWHERE = "0.0.0.0"  # noqa: S104 - pages only after --network, helpers' PCs only if the teacher has switched them on
HERE = "127.0.0.1"


@dataclass(frozen=True)
class Ports:
    """Where the league listens; 0: at any free port."""

    pages: int
    helpers: int


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--port",
    type=WholeNumber(0, 65535),
    default=DEFAULT_LEAGUE_PORT,
    show_default=True,
    metavar="PORT",
    help="The port of the pages; 0: any free one.",
)
@click.option(
    "--helpers-port",
    type=WholeNumber(0, 65535),
    default=DEFAULT_HELPERS_PORT,
    show_default=True,
    metavar="PORT",
    help="The port for other PCs that run programs, once the teacher has switched them on; 0: any free one.",
)
@click.option(
    "--network/--no-network",
    "is_open",
    default=None,
    help="Whether other machines can reach the pages from now on.  [default: as before; at first not]",
)
@click.option(
    "--public-url",
    type=TEXT,
    metavar="URL",
    help="The address of the pages for browsers, if they come through a server that encrypts (https://...).",
)
@click.option("--backup", type=click.Path(path_type=Path), metavar="FILE", help="Write the whole league to FILE.")
@click.option(
    "--restore", type=click.Path(path_type=Path), metavar="FILE", help="Make the league in DIR the one of a backup."
)
@click.option(
    "--export", "export_to", type=click.Path(path_type=Path), metavar="DIR", help="Write CSV, JSON and replays to DIR."
)
@click.option("--new-teacher-password", is_flag=True, help="Ask for a new password of the teacher, if it is lost.")
@click.option("--delete-data", is_flag=True, help="Delete the league with everything in it, at the end of the year.")
@click.option("--yes", is_flag=True, help="Do not ask before --delete-data.")
def league(
    folder: Path,
    port: int,
    helpers_port: int,
    is_open: bool | None,
    public_url: str | None,
    backup: Path | None,
    restore: Path | None,
    export_to: Path | None,
    new_teacher_password: bool,
    delete_data: bool,
    yes: bool,
) -> None:
    """Run the league in the folder DIR until Ctrl-C: its pages, its games, and everything that it keeps.

    The first time, DIR is made, and a code is shown for the page on which the teacher chooses a password. The other
    options do one thing and end; --backup, --export and --new-teacher-password also while the league is running.
    """
    try:
        import alembic as _alembic  # noqa: F401
        import argon2 as _argon2  # noqa: F401
        import sqlalchemy as _sqlalchemy  # noqa: F401
    except ModuleNotFoundError as error:
        raise Misuse(
            f"a league needs {error.name}, which is not installed: pip install 'spielleiter[league]'"
        ) from None
    from spielleiter.league.errors import LeagueDiskError, LeagueFileError

    asked = [backup is not None, restore is not None, export_to is not None, new_teacher_password, delete_data]
    if sum(asked) > 1:
        raise click.UsageError("choose one of --backup, --restore, --export, --new-teacher-password, --delete-data")
    try:
        if backup is not None:
            _back_up(folder, backup)
        elif restore is not None:
            _restore(folder, restore)
        elif export_to is not None:
            _export(folder, export_to)
        elif new_teacher_password:
            _set_password(folder)
        elif delete_data:
            _delete(folder, is_sure=yes)
        else:
            _run(folder, Ports(port, helpers_port), is_open, public_url)
    except LeagueFileError as error:
        raise Misuse(str(error)) from None
    except LeagueDiskError as error:
        raise Failure(str(error)) from None


# -- what is done once ------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _existing(folder: Path) -> Iterator[Database]:
    """The database of the league in `folder`, which must be there."""
    from spielleiter.league.database import FILE_NAME, open_database
    from spielleiter.league.errors import LeagueFileError

    if not (folder / FILE_NAME).is_file():
        raise LeagueFileError(f"{folder}: there is no league in this folder; check its name")
    with contextlib.closing(open_database(folder)) as database:
        yield database


def _back_up(folder: Path, path: Path) -> None:
    from spielleiter.league.backup import write_backup

    with _existing(folder) as database, showing_share(f"Writing {path}") as show:
        write_backup(database, path, show)
    print_line(f"{path}: {path.stat().st_size / 1e6:.1f} MB; it has everything, so keep it where only you can read it")


def _restore(folder: Path, path: Path) -> None:
    from spielleiter.league.backup import restore_backup

    with showing_share(f"Restoring {path}") as show:
        earlier = restore_backup(path, folder, show)
    print_line(f"{folder} holds the league of {path} now; start it with: spielleiter league {folder}")
    if earlier is not None:
        print_line(f"The one that was there before is {earlier}")


def _export(folder: Path, target: Path) -> None:
    from spielleiter.league.export import write_export

    with _existing(folder) as database, showing_share(f"Writing {target}") as show:
        write_export(database, target, time.strftime("%Y-%m-%d"), show)
    print_line(f"{target}: table.csv, games.csv, league.json, replays and more")


def _set_password(folder: Path) -> None:
    from spielleiter.league.accounts import set_password
    from spielleiter.league.errors import RefusedError

    with _existing(folder) as database:
        password = click.prompt("New password of the teacher", hide_input=True, confirmation_prompt=True, err=True)
        try:
            database.write_now(set_password, password, time.time())
        except RefusedError as error:
            raise Misuse(str(error)) from None
    print_line("The password is changed; whoever was logged in as the teacher has to log in again")


def _delete(folder: Path, *, is_sure: bool) -> None:
    from spielleiter.league.backup import delete_league
    from spielleiter.league.settings import load_settings

    if not is_sure:
        with _existing(folder) as database:
            name = database.read_now(load_settings).name
        click.confirm(
            f"Delete the league {name or '(without a name)'} in {folder} with all teams, programs and games?",
            abort=True,
            err=True,
        )
    left = delete_league(folder)
    print_line(f"{folder}: the league is deleted; backups and exports elsewhere are not")
    if left:
        print_line(f"What is not the league's stays in the folder: {', '.join(left)}")


# -- running ----------------------------------------------------------------------------------------------------------


def _run(folder: Path, ports: Ports, is_open: bool | None, public_url: str | None) -> None:
    from spielleiter.league.accounts import new_setup_code
    from spielleiter.league.backup import held_folder
    from spielleiter.league.database import open_database
    from spielleiter.league.settings import change_settings

    hide_this_process()  # programs that play on this machine may run as the same user
    with held_folder(folder), contextlib.closing(open_database(folder)) as database:
        if is_open is not None:
            database.write_now(change_settings, is_open_to_network=is_open)
        setup_code = database.write_now(new_setup_code)
        with contextlib.suppress(KeyboardInterrupt):  # the usual end of this command
            run_until_stopped(lambda: _keep_running(folder, database, ports, public_url, setup_code))


async def _keep_running(
    folder: Path, database: Database, ports: Ports, public_url: str | None, setup_code: str | None
) -> None:
    """Run the league, anew whenever the teacher has changed something that all parts depend on."""
    import trio

    from spielleiter.league.settings import change_settings, load_settings
    from spielleiter.server.errors import StartError
    from spielleiter.server.net.sockets import listen

    sockets: list[socket.socket] = []
    listening_at = ""
    try:
        while True:
            settings = await database.read(load_settings)
            host = EVERYWHERE if settings.is_open_to_network else HERE
            # the sockets stay otherwise, so that requests wait until the pages are there again
            if host != listening_at:
                _close(sockets)
                try:
                    sockets = listen(host, ports.pages)
                except StartError as error:
                    if not listening_at or host == HERE:
                        raise
                    # the teacher's click must not end the league; the page shows the switch turned off again
                    print_line(f"Other machines cannot reach the pages: {error}", err=True)
                    await database.write(change_settings, is_open_to_network=False)
                    sockets, listening_at = [], host
                    continue
                listening_at = host
                ports = replace(ports, pages=sockets[0].getsockname()[1])
            for line in _opening_lines(folder, settings, ports.pages, setup_code):
                print_line(line)
            setup_code = None
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_run_parts, folder, database, settings, sockets, ports, public_url)
                await _until_changed(database, settings)
                nursery.cancel_scope.cancel()
            print_line("The teacher has changed the settings; the league begins again with them")
    finally:
        _close(sockets)


def _close(sockets: list[socket.socket]) -> None:
    for sock in sockets:
        sock.close()


async def _until_changed(database: Database, settings: LeagueSettings) -> None:
    import trio

    from spielleiter.league.errors import LeagueDiskError
    from spielleiter.league.settings import load_settings

    while True:
        await trio.sleep(SETTINGS_PAUSE)
        with contextlib.suppress(LeagueDiskError):
            now = await database.read(load_settings)
            if any(getattr(now, name) != getattr(settings, name) for name in OF_ALL_PARTS):
                return


def _opening_lines(folder: Path, settings: LeagueSettings, port: int, setup_code: str | None) -> list[str]:
    """What the terminal says when the pages can be reached."""
    from spielleiter.viewer.web.companion import network_address

    url = f"http://{HERE}:{port}/"
    lines = [f"{url} is the league{f' {settings.name}' if settings.name else ''} in {folder}; Ctrl-C ends it"]
    if settings.is_open_to_network:
        outside = network_address()
        if outside is not None:
            lines.append(f"http://{outside}:{port}/ is its address for other machines")
        lines.append(
            "Warning: what is sent there is not encrypted, so others in the network could read codes and programs; use "
            "it in a network that you trust, or behind a server that encrypts (docs/league.md)"
        )
    if setup_code is not None:
        lines.append(f"To begin, open {url}setup?code={setup_code}")
    return lines


async def _run_parts(
    folder: Path,
    database: Database,
    settings: LeagueSettings,
    sockets: list[socket.socket],
    ports: Ports,
    public_url: str | None,
) -> None:
    """Run all parts of the league until cancelled."""
    import trio

    from spielleiter.league.backup import league_certificate
    from spielleiter.league.director import Director, open_arena_client
    from spielleiter.league.gate_client import GateClient
    from spielleiter.league.web.site import LeagueSite

    def report_bug(error: BaseException) -> None:
        print_line("spielleiter league: a bug; the league goes on:", err=True)
        traceback.print_exception(error, file=sys.stderr)

    arena = open_arena_client(
        settings,
        folder,
        lambda reason: director.note_arena(reason),  # noqa: PLW0108 - defined below
    )
    gate: GateClient | None = None
    fingerprint = b""
    if settings.uses_helpers:
        certificate = await trio.to_thread.run_sync(league_certificate, database)
        fingerprint = certificate.fingerprint
        gate = GateClient(
            EVERYWHERE,
            ports.helpers,
            certificate,
            lambda: director.note_helpers(),  # noqa: PLW0108 - as above
        )
    director = Director(database, arena, folder, gate=gate, report_bug=report_bug)
    site = LeagueSite(
        database,
        director,
        arena,
        gate,
        port=ports.pages,
        fingerprint=fingerprint,
        public_url=public_url,
        report_bug=report_bug,
    )
    async with trio.open_nursery() as nursery:
        nursery.start_soon(director.run)
        nursery.start_soon(site.serve, sockets)
