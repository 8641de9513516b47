"""Addresses on the command line."""

from __future__ import annotations

import click
import pytest

from spielleiter.cli.addresses import listening_address, server_address

COMMAND = click.Command("x")
CONTEXT = click.Context(COMMAND)
OPTION = click.Option(["--to"])


@pytest.mark.parametrize(
    ("text", "address"),
    [("13051", ("127.0.0.1", 13051)), ("host:1", ("host", 1)), ("[::1]:13050", ("::1", 13050))],
)
def test_an_address(text: str, address: tuple[str, int]) -> None:
    assert server_address(CONTEXT, OPTION, text) == address


def test_only_who_listens_can_have_any_port() -> None:
    assert listening_address(CONTEXT, OPTION, "0") == ("127.0.0.1", 0)
    with pytest.raises(click.BadParameter, match="no server listens at port 0"):
        server_address(CONTEXT, OPTION, "host:0")


@pytest.mark.parametrize("text", ["", "host", ":1", "host:70000", "::1:13050", "host:-1"])
def test_not_an_address(text: str) -> None:
    with pytest.raises(click.BadParameter, match="cannot be used"):
        server_address(CONTEXT, OPTION, text)
