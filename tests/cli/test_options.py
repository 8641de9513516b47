"""Options that several commands share, and the types of their values."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from spielleiter.cli.check import check
from spielleiter.cli.cli import cli
from spielleiter.cli.match import match_command
from spielleiter.cli.options import (
    TIMEOUTS,
    Number,
    WholeNumber,
    chosen_edition,
    is_given,
    listening_address,
    target_option,
    timeout_options,
)
from spielleiter.cli.tournament import tournament
from spielleiter.contest.check import CheckSetup
from spielleiter.match.plan import ProgramTimeouts
from spielleiter.server.config import Config
from spielleiter.server.setting import MAX_SECONDS, MAX_WHOLE_NUMBER

HELPS = {"soft": "A move.", "hard": "No move.", "start": "Start.", "exit": "Exit.", "game": "Game."}
EDITION_AS_GAME = "'hase-und-igel-2018' is an edition of swc_2018_hase_und_igel, expected a gameType; use "
GAME_OPTIONS = [
    ("--game", "hase-und-igel-2018", EDITION_AS_GAME + "--edition hase-und-igel-2018"),
    ("--game", "hase-und-igel", "(did you mean 'swc_2018_hase_und_igel'?)"),
    ("--game", "Blokus", "(did you mean 'swc_2027_blokus' or 'swc_2021_blokus'?)"),
    ("--edition", "hase_und_igel", "names a game, expected one of its editions: hase-und-igel-2018"),
    ("--edition", "swc_2021_blokus", "expected one of its editions: blokus-2021-r3 or blokus-2021-21.4.0 or "),
    ("--edition", "blokus-2072", "(did you mean 'blokus-2027'?)"),
]
LONG = "9" * 20


def run_timeouts(*arguments: str, has_to_exit: bool = True) -> tuple[dict[str, Any], set[str], str]:
    """Run a command with all timeouts: its values, the names of those that were given, and its output."""
    values: dict[str, Any] = {}
    asked: set[str] = set()

    @click.command()
    @timeout_options(HELPS, has_to_exit=has_to_exit)
    @click.option("--word", envvar="WORD_FROM_OUTSIDE")
    @click.pass_context
    def command(context: click.Context, /, **options: Any) -> None:
        values.update(options)
        asked.update(name for name in options if is_given(context, name))

    done = CliRunner(env={"WORD_FROM_OUTSIDE": "oh"}).invoke(command, list(arguments))
    assert done.exit_code == (0 if values or "--help" in arguments else 2)
    return values, asked, done.output


def test_defaults_are_those_of_the_server_and_of_matches() -> None:
    config, timeouts, setup = Config(), ProgramTimeouts(), CheckSetup("bot", "chess")
    assert TIMEOUTS["soft"] / 1000 == config.soft_timeout == setup.soft_timeout
    assert TIMEOUTS["hard"] / 1000 == config.hard_timeout == setup.hard_timeout
    assert (TIMEOUTS["start"], TIMEOUTS["exit"], TIMEOUTS["game"]) == (timeouts.start, timeouts.exit, timeouts.game)
    values, asked, _ = run_timeouts()
    assert {name: values[f"{name}_timeout"] for name in TIMEOUTS} == TIMEOUTS
    assert asked == {"word"}


@pytest.mark.parametrize(
    ("arguments", "has_to_exit", "is_understood"),
    [
        (("--soft-timeout", "1"), True, True),
        (("--soft-timeout", "0"), True, False),
        (("--hard-timeout", "0.5"), True, False),
        (("--start-timeout", "0.5"), True, True),
        (("--game-timeout", "0"), False, False),
        (("--exit-timeout", "0"), True, False),
        (("--exit-timeout", "0"), False, True),
    ],
)
def test_timeouts_have_bounds(arguments: tuple[str, ...], has_to_exit: bool, is_understood: bool) -> None:
    values, _, _ = run_timeouts(*arguments, has_to_exit=has_to_exit)
    assert bool(values) == is_understood


@pytest.mark.parametrize("command", [match_command, tournament, check])
def test_a_file_is_refused_as_a_folder(command: click.Command, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for option in {"--out", "--resume"} & {name for parameter in command.params for name in parameter.opts}:
        for place in (str(tmp_path / "file"), os.devnull):
            done = CliRunner().invoke(command, [option, place])
            assert done.exit_code == 2
            assert f"{place} is a file, expected a folder" in done.output


def commands_with(option: str = "") -> list[click.Command]:
    """All commands, or those that have this option, except `serve`, whose options are settings."""
    found: list[click.Command] = []
    waiting: list[click.Command] = [cli]
    while waiting:
        command = waiting.pop()
        if isinstance(command, click.Group):
            context = click.Context(command)
            waiting += filter(None, (command.get_command(context, name) for name in command.list_commands(context)))
        elif not option or (command.name != "serve" and any(option in each.opts for each in command.params)):
            found.append(command)
    return found


@pytest.mark.parametrize(("option", "value", "problem"), GAME_OPTIONS)
def test_confusing_games_with_editions_is_answered_with_the_right_name(option: str, value: str, problem: str) -> None:
    for command in commands_with("--edition"):
        done = CliRunner().invoke(command, [option, value])
        assert done.exit_code == 2
        assert problem in done.output


def test_a_command_without_editions_suggests_the_game() -> None:
    (command,) = set(commands_with("--game")) - set(commands_with("--edition"))
    done = CliRunner().invoke(command, ["--game", "hase-und-igel-2018"])
    assert done.exit_code == 2
    assert EDITION_AS_GAME + "--game swc_2018_hase_und_igel" in done.output


@pytest.mark.parametrize(
    ("game", "edition", "problem"),
    [
        ("chess", None, "game 'chess' is not known here, expected swc_2027_blokus or "),
        (None, "chess", "edition 'chess' is not known here, expected blokus-2027 or "),
        ("swc_2027_blokus", "swc_2021_blokus", "edition 'swc_2021_blokus' names a game, expected one of its editions"),
    ],
)
def test_names_in_files_are_checked_as_well(game: str | None, edition: str | None, problem: str) -> None:
    with pytest.raises(click.UsageError) as refused:
        chosen_edition(game, edition)
    assert refused.value.message.startswith(problem)


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


@pytest.mark.parametrize("text", ["0", "3.0", "1_0", "١", "", "x", " 2", "9" * 4000, "9" * 5000, 0])
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
        (Number(0, 0.5, min_open=True), "a number above 0 and up to 0.5"),
        (Number(0, 1, max_open=True), "a number not below 0 and below 1"),
    ],
)
def test_a_refusal_names_the_bounds(kind: click.ParamType[Any], expected: str) -> None:
    assert refusal(kind, "x") == f"'x' cannot be used, expected {expected}"


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
    numeric = [
        each.type for command in commands_with() for each in command.params
        if isinstance(each.type, click.types.IntParamType | click.types.FloatParamType)
    ]  # fmt: skip
    assert len(numeric) > 40
    assert [each for each in numeric if not isinstance(each, WholeNumber | Number)] == []


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        (("--to", "13051"), "('127.0.0.1', 13051)"),
        (("--to", "host:1"), "('host', 1)"),
        (("--to", "[::1]:13050"), "('::1', 13050)"),
        (("--to", "host:0"), "no server listens at port 0"),
        (("--listen", "0"), "('127.0.0.1', 0)"),
        *((("--to", text), "cannot be used") for text in ("", "host", ":1", "host:70000", "::1:13050")),
    ],
)
def test_addresses(options: tuple[str, ...], answer: str) -> None:
    @click.command()
    @target_option("")
    @click.option("--listen", callback=listening_address, default="1")
    def command(to: tuple[str, int], listen: tuple[str, int]) -> None:
        click.echo(f"{listen if '--listen' in options else to}")

    assert answer in CliRunner().invoke(command, options).output
