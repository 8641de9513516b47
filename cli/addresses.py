"""Addresses on the command line: ``HOST:PORT``, or a port of this machine."""

from __future__ import annotations

from collections.abc import Callable

import click

from spielleiter.cli.decorated import Decorated
from spielleiter.protocol.defaults import DEFAULT_HOST, DEFAULT_PORT
from spielleiter.server.setting import address

_ADDRESS = address()


def listening_address(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[str, int]:
    """Return host and port of the value of an option; the port may be 0. Raises BadParameter."""
    try:
        return _ADDRESS.parse(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} cannot be used, expected [HOST:]PORT") from None


def server_address(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, int]:
    """Return host and port of a server, whose port is not 0. Raises BadParameter."""
    found = listening_address(context, parameter, value)
    if not found[1]:
        raise click.BadParameter(f"{value!r} cannot be used: no server listens at port 0")
    return found


def target_option(help_text: str) -> Callable[[Decorated], Decorated]:
    """Return the decorator that adds the option `--to`, the address of a server, with this help."""
    return click.option(
        "--to",
        callback=server_address,
        default=f"{DEFAULT_HOST}:{DEFAULT_PORT}",
        show_default=True,
        metavar="HOST:PORT",
        help=help_text,
    )
