"""Command lines to copy: they have the arguments of the contest, and a program of ours accepts them as they are."""

from __future__ import annotations

import shlex

import click
import pytest

from spielleiter.cli.cli import cli
from spielleiter.protocol.defaults import DEFAULT_HOST
from spielleiter.viewer.web.command_lines import joining_commands, program_arguments

GAME = "swc_2027_blokus"


def test_only_arguments_that_differ_from_the_defaults_are_there() -> None:
    assert program_arguments(DEFAULT_HOST, 13050) == ""
    assert program_arguments(DEFAULT_HOST, 13051) == "--port 13051"
    assert program_arguments("10.0.0.7", 13050, "c-1") == "--host 10.0.0.7 --reservation c-1"


@pytest.mark.parametrize("is_windows", [False, True])
def test_there_is_a_line_for_each_kind_of_program(is_windows: bool) -> None:
    arguments = "--host 10.0.0.7 --port 1 --reservation c-1"
    lines = joining_commands("10.0.0.7", 1, GAME, "c-1", is_windows=is_windows)
    assert {line.kind: line.text for line in lines} == {
        "java": f"java -jar program.jar {arguments}",
        "python": f"{'python' if is_windows else 'python3'} program.py {arguments}",
        "executable": f"{'.' + chr(92) + 'program.exe' if is_windows else './program'} {arguments}",
        "builtin": f"spielleiter play --strategy greedy {arguments}",
    }
    assert lines[0].as_json() == {"kind": "java", "text": lines[0].text}


def test_without_a_reservation_the_builtin_player_is_told_the_game() -> None:
    lines = {line.kind: line.text for line in joining_commands(DEFAULT_HOST, 13050, GAME)}
    assert lines["java"] == "java -jar program.jar"
    assert lines["builtin"] == f"spielleiter play --strategy greedy --game {GAME}"


@pytest.mark.parametrize("reservation", [None, "c-1"])
def test_the_line_of_the_builtin_player_is_accepted(reservation: str | None) -> None:
    (line,) = (each.text for each in joining_commands("10.0.0.7", 1, GAME, reservation) if each.kind == "builtin")
    _, name, *arguments = shlex.split(line)
    play = cli.get_command(click.Context(cli), name)
    assert play is not None
    given = play.make_context(name, arguments).params
    assert (given["host"], given["port"], given["reservation"]) == ("10.0.0.7", 1, reservation)
