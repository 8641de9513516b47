"""Splitting command lines into words, on Windows and elsewhere."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.programs.command import join_command, split_command, split_windows

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
