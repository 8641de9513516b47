"""Completion as a shell asks for it when the Tab key is pressed, in a real bash, too."""

from __future__ import annotations

import os
import re
import shlex
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
ROOT = Path(__file__).parents[2]
PROGRAM = """\
#!/bin/sh
exec {python} -c "import sys; from spielleiter.cli.cli import main; sys.argv = ['spielleiter']; main()"
"""
SCRIPT = """\
eval "$(_SPIELLEITER_COMPLETE=bash_source spielleiter)"
COMP_LINE=$1 COMP_POINT=${#1}
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
_spielleiter_completion spielleiter
printf '%s\\n' "${COMPREPLY[@]}"
"""


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


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "programs" / "spielleiter"
    file.parent.mkdir()
    file.write_text(PROGRAM.format(python=shlex.quote(sys.executable)))
    file.chmod(0o755)
    return file


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "words", "values"),
    [
        ("match --player1 builtin:gr", ["match", "--player1", "builtin", ":", "gr"], ["greedy"]),
        ("match --player1 builtin:si", ["match", "--player1", "builtin", ":", "si"], ["silent"]),
        ("match --player1 bu", ["match", "--player1", "bu"], None),
        ("match --player1=builtin:gr", ["match", "--player1", "=", "builtin", ":", "gr"], ["greedy"]),
        ("play --edition=blokus-2027", ["play", "--edition", "=", "blokus-2027"], ["blokus-2027"]),
        (
            "serve --edition swc_2021_blokus=blokus-2021-r",
            ["serve", "--edition", "swc_2021_blokus", "=", "blokus-2021-r"],
            ["blokus-2021-r3", "blokus-2021-r2", "blokus-2021-r1"],
        ),
        ("bor", ["bor"], ["borrow"]),
        ("play --strategy greedy --b", ["play", "--strategy", "greedy", "--b"], ["--board"]),
        ("play --strategy ", ["play", "--strategy", ""], None),
    ],
)
def test_bash_gets_the_completion_of_its_last_word(
    line: str, words: list[str], values: list[str] | None, program: Path
) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SPIELLEITER_")}
    environment |= {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": PACKAGES}
    done = subprocess.run(
        ["bash", "--norc", "-c", SCRIPT, "bash", f"spielleiter {line}", "spielleiter", *words],
        env=environment, capture_output=True, text=True, timeout=HANG_TIMEOUT, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    found = done.stdout.split()
    assert all(value.startswith(words[-1]) for value in found)
    assert found if values is None else found == values
