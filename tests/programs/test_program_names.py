"""The name of a program that was not given one."""

from __future__ import annotations

from pathlib import Path

import pytest

from spielleiter.programs.command import NAME_LENGTH, Command, distinct_names, name_of, names_of


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("builtin:greedy", "greedy"),
        ("/home/me/bots/rush", "rush"),
        ("./rush.exe --fast", "rush"),
        ("./rush-1.2", "rush-1.2"),
        ("/bots/.hidden", ".hidden"),
        ("python3 src/bot.py --fast", "bot"),
        ("python3.12 bot.py", "bot"),
        ("python3 -m my_bot", "my_bot"),
        ("python3 -u bot.py", "python3"),
        ("builds/bot.jar", "bot"),
        ("java -Xmx1g -jar builds/bot.jar", "bot"),
        ("env DEBUG=1 MODE=x ./rush", "rush"),
        ("env -i ./rush", "env"),
        ("""sh -c 'exec ./rush "$@"' rusher""", "rusher"),
        ("sh -c 'exec ./rush'", "sh"),
        ("x" * 100, "x" * NAME_LENGTH),
        ("..", ".."),
    ],
)
def test_a_program_is_named_after_its_file(text: str, name: str) -> None:
    assert name_of(Command.parse(text)) == name


def test_a_path_with_blanks_needs_no_quotes(tmp_path: Path) -> None:
    bot = tmp_path / "my bot.py"
    bot.touch()
    assert name_of(Command.parse(str(bot))) == "my bot"


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        ("./new", "./old", ("new", "old")),
        ("./new/bot", "./old/bot", ("new/bot", "old/bot")),
        ("python3 new/bot.py", "python3 old/bot.py", ("new/bot", "old/bot")),
        ("./same/bot", "./same/bot", ("bot (1)", "bot (2)")),
        ("bot", "old/bot", ("bot (1)", "bot (2)")),
        ("builtin:first", "builtin:first", ("first (1)", "first (2)")),
    ],
)
def test_equal_names_are_told_apart(first: str, second: str, names: tuple[str, str]) -> None:
    assert names_of(Command.parse(first), Command.parse(second)) == names


def test_given_names_are_told_apart() -> None:
    assert distinct_names("a", "b") == ("a", "b")
    assert distinct_names("a", "a") == ("a (1)", "a (2)")


def test_a_given_name_gets_a_number_only_if_the_other_one_is_equal() -> None:
    command = Command.parse("builtin:first")
    assert names_of(command, command, ("Jörg", None)) == ("Jörg", "first")
    assert names_of(command, command, (None, "first")) == ("first (1)", "first (2)")
    assert names_of(command, command) == ("first (1)", "first (2)")
