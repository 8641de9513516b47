"""Numbers in options: how they are read, and the refusals of invalid ones."""

from __future__ import annotations

from typing import Any

import click
import pytest

from spielleiter.cli.cli import cli
from spielleiter.cli.numbers import Number, WholeNumber, port_number, whole_number
from spielleiter.server.setting import MAX_SECONDS, MAX_WHOLE_NUMBER

LONG = "9" * 20


def refusal(kind: click.ParamType[Any], value: object) -> str:
    with pytest.raises(click.BadParameter) as refused:
        kind.convert(value, None, None)
    return refused.value.message


@pytest.mark.parametrize(
    ("kind", "text", "number"),
    [
        (WholeNumber(), "-5", -5),
        (WholeNumber(1, 3), "+3", 3),
        (WholeNumber(0), LONG, int(LONG)),
        (WholeNumber(0), 7, 7),
        (Number(0, 5), "0", 0.0),
        (Number(0, 5), "1e-3", 0.001),
        (Number(0, 5, min_open=True), "5", 5.0),
        (Number(), ".5", 0.5),
        (Number(0), 3, 3.0),
    ],
)
def test_numbers_are_read(kind: click.ParamType[Any], text: str, number: float) -> None:
    assert kind.convert(text, None, None) == number


@pytest.mark.parametrize("text", [LONG, "0", "3.0", "1_0", "١", "", "x", " 2", "9" * 5000, 0])
def test_a_whole_number_is_refused_as_it_was_written(text: object) -> None:
    assert refusal(WholeNumber(1, 10), text) == f"'{text}' cannot be used, expected a whole number from 1 to 10"


@pytest.mark.parametrize("text", [LONG, "-0.10", "nan", "inf", "1e400", "1_0", "١", "", "x", 10**400])
def test_a_number_is_refused_as_it_was_written(text: object) -> None:
    assert refusal(Number(0, 5), text) == f"'{text}' cannot be used, expected a number from 0 to 5"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (WholeNumber(), "a whole number"),
        (WholeNumber(1), "a whole number not below 1"),
        (WholeNumber(max=3), "a whole number up to 3"),
        (Number(0, 0.5, min_open=True), "a number above 0 and up to 0.5"),
        (Number(0, 1, max_open=True), "a number not below 0 and below 1"),
        (Number(), "a number"),
    ],
)
def test_a_refusal_names_the_bounds(kind: click.ParamType[Any], expected: str) -> None:
    assert refusal(kind, "x") == f"'x' cannot be used, expected {expected}"


@pytest.mark.parametrize(
    ("text", "port"),
    [("1", 1), ("65535", 65535), ("0", None), ("65536", None), ("9" * 5000, None), ("١", None), ("-1", None)],
)
def test_ports(text: str, port: int | None) -> None:
    assert port_number(text) == port


@pytest.mark.parametrize(
    ("text", "number"), [("7", 7), ("-7", -7), ("9" * 4001, None), ("1_0", None), ("x", None), ("", None)]
)
def test_whole_numbers(text: str, number: int | None) -> None:
    assert whole_number(text) == number


def test_the_help_shows_no_range_without_bounds() -> None:
    option = click.Option(["--seed"], type=WholeNumber())
    record = option.get_help_record(click.Context(click.Command("play")))
    assert record is not None
    assert "[" not in record[1]


@pytest.mark.parametrize(
    ("kind", "bounds"),
    [
        (WholeNumber(1, MAX_WHOLE_NUMBER), "x>=1"),
        (WholeNumber(0, 65535), "0<=x<=65535"),
        (Number(0, MAX_SECONDS, min_open=True), "x>0"),
        (Number(0, 0.5, min_open=True), "0<x<=0.5"),
        (WholeNumber(max=3), "x<=3"),
        (Number(), None),
    ],
)
def test_the_help_shows_no_technical_limits(kind: click.ParamType[Any], bounds: str | None) -> None:
    option = click.Option(["--number"], type=kind, help="A number.")
    record = option.get_help_record(click.Context(click.Command("play")))
    assert record is not None
    assert record[1] == ("A number." if bounds is None else f"A number.  [{bounds}]")


def test_every_numeric_option_has_one_of_these_types() -> None:
    def commands(group: click.Group) -> list[click.Command]:
        context = click.Context(group)
        found: list[click.Command] = []
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            found += commands(command) if isinstance(command, click.Group) else [command]
        return found

    numeric = [
        parameter
        for command in commands(cli)
        for parameter in command.params
        if isinstance(parameter.type, click.types.IntParamType | click.types.FloatParamType)
    ]
    assert len(numeric) > 40
    assert [each for each in numeric if not isinstance(each.type, WholeNumber | Number)] == []
