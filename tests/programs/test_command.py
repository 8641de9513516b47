"""Command lines: their words, placeholders, names, and the files that they start."""

from __future__ import annotations

import hashlib
import os
import subprocess
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
    distinct_names,
    join_command,
    name_of,
    names_of,
    split_command,
    split_windows,
)

VALUES = {"host": "::1", "port": "7", "reservation": "code", "seed": "5", "game": "chess"}
OPTIONS = ["-h", "::1", "-p", "7", "-r", "code"]


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("/bin/bot", ["/bin/bot", *OPTIONS]),
        ("/bin/bot --level 'very high'", ["/bin/bot", "--level", "very high", *OPTIONS]),
        ("bot.jar", ["java", "-jar", "bot.jar", *OPTIONS]),
        ("Bot.JAR -x", ["java", "-jar", "Bot.JAR", "-x", *OPTIONS]),
        ("bot --at {host}:{port} --code={reservation}", ["bot", "--at", "::1:7", "--code=code"]),
        ("bot --seed {seed} --play {game}", ["bot", "--seed", "5", "--play", "chess", *OPTIONS]),
        ("sh -c 'exec ${BOT} {port}'", ["sh", "-c", "exec ${BOT} 7"]),
        (
            "builtin:random",
            [
                sys.executable,
                "-P",
                "-m",
                "spielleiter",
                "play",
                "--strategy",
                "random",
                "--game",
                "chess",
                "--seed",
                "5",
                *OPTIONS,
            ],
        ),
    ],
)
def test_placeholders_of_a_command_line_are_replaced(text: str, arguments: list[str]) -> None:
    assert Command.parse(text).arguments(VALUES) == arguments


def test_a_path_with_blanks_is_one_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my bot").touch()
    (tmp_path / "bot").touch()
    assert Command.parse(str(tmp_path / "my bot")).arguments(VALUES)[0] == str(tmp_path / "my bot")
    assert Command.parse("my bot").arguments(VALUES)[0] == "./my bot"
    assert Command.parse("bot --fast").arguments(VALUES)[:2] == ["./bot", "--fast"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "expected a command line"),
        ("bot 'oh", "no closing quotation"),
        ("bot {code}", "there is no placeholder {code}, expected {host}"),
        ("builtin:clever", "there is no such strategy, expected first, random"),
        ("builtin:gredy", r"silent \(did you mean 'greedy'\?\)"),
    ],
)
def test_an_invalid_command_line_is_refused(text: str, problem: str) -> None:
    with pytest.raises(SetupError, match=problem):
        Command.parse(text)


def test_a_command_line_is_parsed_for_the_directory_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "my bot").touch()
    assert Command.parse("my bot", str(tmp_path)).words[0] == "./my bot"
    assert Command.parse("my bot").words[0] == "my"


def test_paths_of_windows_are_kept(tmp_path: Path) -> None:
    for platform in ("win32", "linux"):
        assert Command.parse(r"C:\bots\bot.exe -x", platform=platform).words[:2] == (r"C:\bots\bot.exe", "-x")
        assert Command.parse(r"C:\bots\bot.jar", platform=platform).words[:3] == ("java", "-jar", r"C:\bots\bot.jar")
    (tmp_path / "bot.exe").touch()
    assert Command.parse("bot.exe", str(tmp_path), "win32").words[0] == str(tmp_path / "bot.exe")
    assert Command.parse("./bot.exe", str(tmp_path), "win32").words[0] == str(tmp_path / "bot.exe")
    assert Command.parse("./bot.exe", str(tmp_path), "linux").words[0] == "./bot.exe"


def test_on_windows_a_file_is_started_by_its_suffix(tmp_path: Path) -> None:
    for name in ("bot.py", "bot.bat", "bot.jar", "bot.zip"):
        (tmp_path / name).touch()
    words = {
        name: Command.parse(f"{name} -x", str(tmp_path), "win32").words for name in ("bot.py", "bot.bat", "bot.jar")
    }
    assert words["bot.py"][:3] == (sys.executable, "bot.py", "-x")
    assert words["bot.bat"][:2] == (str(tmp_path / "bot.bat"), "-x")
    assert words["bot.jar"][:4] == ("java", "-jar", "bot.jar", "-x")
    assert Command.parse("bot.zip -x", str(tmp_path), "win32").is_package
    assert Command.parse("bot", str(tmp_path), "win32").words[0] == str(tmp_path / "bot.bat")


@pytest.mark.parametrize(
    ("text", "is_package", "parameters"),
    [
        ("player.zip", True, ()),
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


def test_the_path_of_a_package_may_have_blanks(tmp_path: Path) -> None:
    (tmp_path / "my player.zip").touch()
    command = Command.parse("my player.zip", str(tmp_path))
    assert command.words[0] == "my player.zip"
    assert command.is_package
    assert command.parameters == ()


EVERYWHERE = ("win32", "linux", "darwin")


@pytest.mark.parametrize("platform", EVERYWHERE)
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (r"C:\bots\bot.exe", [r"C:\bots\bot.exe"]),
        (r"c:\bots\new\bot.exe --level 3", [r"c:\bots\new\bot.exe", "--level", "3"]),
        (r'"C:\Program Files\java.exe" -jar D:\bot.jar', [r"C:\Program Files\java.exe", "-jar", r"D:\bot.jar"]),
        (r"\\server\share\bot.exe", [r"\\server\share\bot.exe"]),
        ("python bot.py", ["python", "bot.py"]),
        ('bot --name "a b"', ["bot", "--name", "a b"]),
        ('bot --name="a b" ""', ["bot", "--name=a b", ""]),
        (" ", []),
    ],
)  # fmt: skip
def test_windows_paths_are_kept_on_every_platform(platform: str, text: str, words: list[str]) -> None:
    assert split_command(text, platform) == words


@pytest.mark.parametrize(
    ("text", "on_windows", "elsewhere"),
    [
        (r"bots\bot.exe -x", [r"bots\bot.exe", "-x"], ["botsbot.exe", "-x"]),
        (r"my\ bot", ["my\\", "bot"], ["my bot"]),
        ("bot 'a b'", ["bot", "'a", "b'"], ["bot", "a b"]),
        (r"java -jar C:\bots\bot.jar", ["java", "-jar", r"C:\bots\bot.jar"], ["java", "-jar", "C:botsbot.jar"]),
        (r'bot "say \"hi\""', ["bot", 'say "hi"'], ["bot", 'say "hi"']),
    ],
)
def test_a_backslash_is_an_escape_character_on_other_platforms_only(
    text: str, on_windows: list[str], elsewhere: list[str]
) -> None:
    assert split_command(text, "win32") == on_windows
    assert split_command(text, "linux") == elsewhere


@pytest.mark.parametrize("platform", EVERYWHERE)
def test_a_quotation_that_is_not_closed_is_refused(platform: str) -> None:
    with pytest.raises(ValueError, match=r"(?i)no closing quotation"):
        split_command('bot "oh', platform)


@given(st.lists(st.text(st.sampled_from('ab\\" \t'))))
def test_split_windows_is_the_inverse_of_list2cmdline(words: list[str]) -> None:
    assert split_windows(subprocess.list2cmdline(words)) == words


@pytest.mark.slow
@pytest.mark.parametrize("platform", EVERYWHERE)
@given(words=st.lists(st.text(st.sampled_from("ab\\\"' \t{}$~*"))))
def test_join_command_is_the_inverse_of_split_command(platform: str, words: list[str]) -> None:
    assert split_command(join_command(words, platform), platform) == words


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


ONE = hashlib.sha256(b"one").hexdigest()


@pytest.mark.parametrize(
    "command",
    [
        "./bot",
        "./bot --level 3",
        "{folder}/bot",
        "python3 ./bot --level 3",
        "env A=b ./bot",
        "java -jar bot",
        "bot.zip --level 3",
        "bot.jar",
    ],
)
def test_the_file_that_a_command_starts_is_its_content(command: str, tmp_path: Path) -> None:
    for name in ("bot", "bot.zip", "bot.jar"):
        (tmp_path / name).write_bytes(b"one")
        (tmp_path / name).chmod(0o755)
    assert content_of(command.format(folder=tmp_path), str(tmp_path)) == ONE
    for name in ("bot", "bot.zip", "bot.jar"):
        (tmp_path / name).write_bytes(b"two")
    assert content_of(command.format(folder=tmp_path), str(tmp_path)) not in {"", ONE}


@pytest.mark.parametrize("command", ["builtin:greedy", "python3 -m bot", "./none", "./folder", "./a\0b"])
def test_a_command_without_a_file_has_no_known_content(command: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert content_of(command, str(tmp_path)) == ""


@pytest.mark.skipif(sys.platform == "win32", reason="this system has no named pipes")
def test_nothing_but_a_file_is_read(tmp_path: Path) -> None:
    if sys.platform == "win32":
        raise AssertionError  # for mypy
    os.mkfifo(tmp_path / "bot")
    assert content_of("./bot", str(tmp_path)) == ""
