"""The real command, called as a shell calls it when the Tab key is pressed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from spielleiter.game.blokus.pieces import PENTOMINOES
from spielleiter.server.editions import EDITIONS
from tests.interpreter import PACKAGES
from tests.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).parents[2]
START = "import sys; from spielleiter.cli.cli import main; sys.argv = ['spielleiter']; main()"


def ask(instruction: str, words: list[str], number: int | None = None) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SPIELLEITER_")}
    environment |= {
        "_SPIELLEITER_COMPLETE": instruction,
        "COMP_LINE": " ".join(words),
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1) if number is None else words[number],
        "PYTHONPATH": PACKAGES,
    }
    done = subprocess.run(
        [sys.executable, "-c", START],
        env=environment,
        capture_output=True,
        text=True,
        timeout=HANG_TIMEOUT,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "values"),
    [
        (["serve", "--start-piece", "PENTO_"], {shape.name for shape in PENTOMINOES}),
        (["play", "--edition", "b"], {name for name in EDITIONS if name.startswith("b")}),
        (["play", "--game", "s"], {each.game_type for each in EDITIONS.values() if each.game_type.startswith("s")}),
        (
            ["serve", "--edition", "s"],
            {f"{each.game_type}={each.name}" for each in EDITIONS.values() if each.game_type.startswith("s")},
        ),
        (["bor"], {"borrow"}),
    ],
)
def test_bash_gets_the_values(words: list[str], values: set[str]) -> None:
    lines = ask("bash_complete", ["spielleiter", *words]).splitlines()
    assert {line.removeprefix("plain,") for line in lines} == values


@pytest.mark.slow
def test_zsh_and_fish_get_descriptions_as_well() -> None:
    words = ["spielleiter", "play", "--strategy", "first"]
    assert ask("zsh_complete", words).splitlines() == ["plain", "first", "always the first legal move"]
    output = ask("fish_complete", words, -1)  # the separator depends on the version of click
    assert re.split(r"[,\t\n]", output.strip()) == ["plain", "first", "always the first legal move"]


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_a_script(shell: str) -> None:
    script = ask(f"{shell}_source", ["spielleiter"])
    assert f"_SPIELLEITER_COMPLETE={shell}_complete" in script
