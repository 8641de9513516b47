"""Command lines: their words, placeholders, names, and the files that they start."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.common.errors import SetupError
from spielleiter.programs.command import (
    NAME_LENGTH,
    Command,
    content_of,
    join_command,
    name_of,
    names_of,
    split_command,
)

VALUES = {"host": "::1", "port": "7", "reservation": "code", "seed": "5", "game": "chess"}
OPTIONS = ["-h", "::1", "-p", "7", "-r", "code"]


PLAY = [sys.executable, "-P", "-m", "spielleiter", "play", "--strategy", "random", "--game", "chess", "--seed", "5"]


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("/bin/bot --level 'very high'", ["/bin/bot", "--level", "very high", *OPTIONS]),
        ("Bot.JAR -x", ["java", "-jar", "Bot.JAR", "-x", *OPTIONS]),
        ("bot --at {host}:{port} --code={reservation}", ["bot", "--at", "::1:7", "--code=code"]),
        ("bot --seed {seed} --play {game}", ["bot", "--seed", "5", "--play", "chess", *OPTIONS]),
        ("sh -c 'exec ${BOT} {port}'", ["sh", "-c", "exec ${BOT} 7"]),
        ("builtin:random", [*PLAY, *OPTIONS]),
        ("builtin:level-9@0.5", [*PLAY[:6], "level-9@0.5", *PLAY[7:], *OPTIONS]),
    ],
)
def test_placeholders_of_a_command_line_are_replaced(text: str, arguments: list[str]) -> None:
    assert Command.parse(text).arguments(VALUES) == arguments


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "expected a command line"),
        ("bot 'oh", "no closing quotation"),
        ("bot {code}", "there is no placeholder {code}, expected {host}"),
        ("builtin:gredy", r"no such strategy, expected first, random.*silent \(did you mean 'greedy'\?\)"),
        ("builtin:level-9@x", "no such strategy, expected level-9@ with 0.01 to 60 seconds"),
    ],
)
def test_an_invalid_command_line_is_refused(text: str, problem: str) -> None:
    with pytest.raises(SetupError, match=problem):
        Command.parse(text)


FILES = ("my bot", "bot", "my player.zip", "bot.exe", "bot.py", "bot.bat", "bot.jar")


@pytest.mark.parametrize(
    ("text", "platform", "words"),
    [
        ("{folder}/my bot", "linux", ["{folder}/my bot"]),  # the path of a file may have blanks
        ("my bot", "linux", ["./my bot"]),
        ("bot --fast", "linux", ["./bot", "--fast"]),
        ("./bot.exe", "linux", ["./bot.exe"]),
        ("my player.zip", "linux", ["my player.zip"]),
        ("bot.exe", "win32", ["{folder}/bot.exe"]),
        ("bot.py -x", "win32", [sys.executable, "bot.py", "-x"]),
        ("bot.jar -x", "win32", ["java", "-jar", "bot.jar", "-x"]),
        ("./bot.bat", "win32", ["{folder}/bot.bat"]),
        (r"C:\bots\bot.jar", "win32", ["java", "-jar", r"C:\bots\bot.jar"]),
        (r"C:\bots\bot.exe -x", "linux", [r"C:\bots\bot.exe", "-x"]),
    ],
)
def test_a_file_is_found_in_the_directory_of_the_program(
    text: str, platform: str, words: list[str], tmp_path: Path
) -> None:
    for name in FILES:
        (tmp_path / name).touch()
    expected = [word.format(folder=tmp_path) for word in words]
    assert Command.parse(text.format(folder=tmp_path), str(tmp_path), platform).words[: len(words)] == tuple(expected)
    assert Command.parse("my bot").words[0] == "my"


@pytest.mark.parametrize(
    ("text", "is_package", "parameters"),
    [
        ("./My.ZIP --level '3 4'", True, ("--level", "3 4")),
        ("player.zip -a {host}:{port}", True, ("-a", "{host}:{port}")),
        ("./bot player.zip", False, ("player.zip",)),
        ("builtin:greedy", False, None),
    ],
)
def test_a_package_is_recognised_by_its_suffix(text: str, is_package: bool, parameters: tuple[str, ...] | None) -> None:
    command = Command.parse(text, platform="linux")
    assert command.is_package == is_package
    assert parameters is None or command.parameters == parameters


@pytest.mark.parametrize(
    ("text", "on_windows", "elsewhere"),
    [
        (r"c:\bots\new\bot.exe --level 3", [r"c:\bots\new\bot.exe", "--level", "3"], None),
        (r'"C:\My Files\java.exe" -jar D:\bot.jar', [r"C:\My Files\java.exe", "-jar", r"D:\bot.jar"], None),
        (r"\\server\share\bot.exe", [r"\\server\share\bot.exe"], None),
        ('bot --name="a b" ""', ["bot", "--name=a b", ""], None),
        (" ", [], None),
        # a backslash is an escape character on other platforms only
        (r"bots\bot.exe -x", [r"bots\bot.exe", "-x"], ["botsbot.exe", "-x"]),
        (r"my\ bot", ["my\\", "bot"], ["my bot"]),
        ("bot 'a b'", ["bot", "'a", "b'"], ["bot", "a b"]),
        (r'bot "say \"hi\""', ["bot", 'say "hi"'], None),
    ],
)
def test_a_command_line_is_split_by_the_rules_of_its_platform(
    text: str, on_windows: list[str], elsewhere: list[str] | None
) -> None:
    assert split_command(text, "win32") == on_windows
    for platform in ("linux", "darwin"):
        assert split_command(text, platform) == (on_windows if elsewhere is None else elsewhere)
    for platform in ("win32", "linux"):
        with pytest.raises(ValueError, match=r"(?i)no closing quotation"):
            split_command('bot "oh', platform)


@pytest.mark.slow
@pytest.mark.parametrize("platform", ["win32", "linux"])
@given(words=st.lists(st.text(st.sampled_from("ab\\\"' \t{}$~*"))))
def test_join_command_is_the_inverse_of_split_command(platform: str, words: list[str]) -> None:
    assert split_command(join_command(words, platform), platform) == words


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("builtin:greedy", "greedy"),
        ("./rush.exe --fast", "rush"),
        ("./rush-1.2", "rush-1.2"),
        ("/bots/.hidden", ".hidden"),
        ("python3.12 src/bot.py --fast", "bot"),
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


@pytest.mark.parametrize(
    ("first", "second", "given_names", "names"),
    [
        ("./new", "./old", (None, None), ("new", "old")),
        ("python3 new/bot.py", "python3 old/bot.py", (None, None), ("new/bot", "old/bot")),
        ("./same/bot", "./same/bot", (None, None), ("bot (1)", "bot (2)")),
        ("bot", "old/bot", (None, None), ("bot (1)", "bot (2)")),
        ("builtin:first", "builtin:first", (None, None), ("first (1)", "first (2)")),
        ("builtin:first", "builtin:first", ("Jörg", None), ("Jörg", "first")),
        ("builtin:first", "builtin:first", (None, "first"), ("first (1)", "first (2)")),
    ],
)
def test_equal_names_are_told_apart(
    first: str, second: str, given_names: tuple[str | None, str | None], names: tuple[str, str]
) -> None:
    assert names_of(Command.parse(first), Command.parse(second), given_names) == names


ONE = hashlib.sha256(b"one").hexdigest()


@pytest.mark.parametrize("command", ["./bot -l 3", "{folder}/bot", "env A=b ./bot", "bot.zip -l 3", "bot.jar"])
def test_the_file_that_a_command_starts_is_its_content(command: str, tmp_path: Path) -> None:
    for name in ("bot", "bot.zip", "bot.jar"):
        (tmp_path / name).write_bytes(b"one")
        (tmp_path / name).chmod(0o755)
    assert content_of(command.format(folder=tmp_path), str(tmp_path)) == ONE


@pytest.mark.parametrize("command", ["builtin:greedy", "python3 -m bot", "./none", "./folder", "./pipe", "./a\0b"])
def test_a_command_without_a_file_has_no_known_content(command: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    if sys.platform != "win32":
        os.mkfifo(tmp_path / "pipe")
    assert content_of(command, str(tmp_path)) == ""
