"""Commands of programs: placeholders, paths and invalid command lines."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from spielleiter.common.errors import SetupError
from spielleiter.programs.command import Command

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
