"""`spielleiter view`: the pages for a server that runs elsewhere, an official one included."""

from __future__ import annotations

import contextlib

import click

from spielleiter.cli.options import (
    PASSWORD,
    admin_password_option,
    chosen_edition,
    edition_options_of_server,
    listening_address,
    server_address,
)
from spielleiter.cli.output import print_line
from spielleiter.cli.running import run_until_stopped
from spielleiter.common.process import hide_this_process
from spielleiter.protocol.defaults import DEFAULT_HOST, DEFAULT_PORT, DEFAULT_VIEWER_PORT


@click.command()
@click.argument("address", metavar="HOST:PORT", default=f"{DEFAULT_HOST}:{DEFAULT_PORT}", callback=server_address)
@admin_password_option("The server's password for administrators")
@edition_options_of_server
@click.option(
    "--viewer",
    callback=listening_address,
    default=f"{DEFAULT_HOST}:{DEFAULT_VIEWER_PORT}",
    show_default=True,
    metavar="[HOST:]PORT",
    help="Where the pages are; if the port is taken, at any free one.",
)
@click.option(
    "--viewer-password",
    type=PASSWORD,
    envvar="SPIELLEITER_VIEWER_PASSWORD",
    metavar="PASSWORD",
    help="Password that the browser asks for before it shows a page, with any user name.",
)
@click.option("--viewer-open", is_flag=True, help="Let everybody who can reach the pages watch and play.")
def view(
    address: tuple[str, int],
    password: str,
    game: str | None,
    edition: str | None,
    viewer: tuple[str, int],
    viewer_password: str | None,
    viewer_open: bool,
) -> None:
    """Serve the pages to watch and to play in the browser for the server at HOST:PORT, until Ctrl-C.

    They are those of `spielleiter serve`, and need the password of that server's administrators; a visitor of the pages
    needs it too to prepare, pause or cancel games. Of an official server, they show only the games that were prepared
    with them, and those whose room is in the address of the page (`#/room/ROOM`), since it does not tell more.
    """
    hide_this_process()  # programs that play on this machine may run as the same user
    from spielleiter.server.config import is_loopback
    from spielleiter.server.setting import shown_address
    from spielleiter.viewer.web.companion import serve_view

    if not is_loopback(viewer[0]) and not (viewer_password or viewer_open):
        raise click.UsageError(
            f"--viewer {shown_address(viewer)}: others could watch and play there; choose a --viewer-password for "
            "them, or let everybody in (--viewer-open)"
        )

    def announce(url: str, note: str) -> None:
        print_line(
            f"{url} shows the games of {shown_address(address)}; Ctrl-C ends it" + (f" ({note})" if note else "")
        )

    is_named = game is not None or edition is not None
    with contextlib.suppress(KeyboardInterrupt):  # the usual end of this command
        run_until_stopped(
            lambda: serve_view(
                address,
                password,
                viewer,
                announce,
                edition=chosen_edition(game, edition).name if is_named else None,
                viewer_password=viewer_password,
            )
        )
