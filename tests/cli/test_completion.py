"""Completion as a shell asks for it when the Tab key is pressed, in a real bash, too."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import BashComplete

from spielleiter.cli.cli import cli
from spielleiter.game.blokus.pieces import PENTOMINOES
from tests.interpreter import PACKAGES
from tests.timeouts import HANG_TIMEOUT

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


@pytest.mark.parametrize(
    ("words", "completions"),
    [
        (["s"], ["serve"]),
        (["serve", "--log-format", "j"], ["json"]),
        (["serve", "--game-end", ""], ["colorFinished", "noMovesLeft"]),
        (["serve", "--default-game", "swc_2027"], ["swc_2027_blokus"]),
        (["serve", "--edition", "swc_2021_blokus=blokus-2021-r1"], ["swc_2021_blokus=blokus-2021-r1"]),
        (["serve", "--start-piece", "PENTO_"], [shape.name for shape in PENTOMINOES]),
        (["play", "--strategy", "gr"], ["greedy"]),
        (["play", "--game", "swc_2021"], ["swc_2021_blokus"]),
        (["play", "--edition", "hase"], ["hase-und-igel-2018"]),
        (["match", "--start-piece", "PENTO_V"], ["PENTO_V"]),
        (["match", "--player1", "builtin:g"], ["builtin:greedy", "builtin:garbage"]),
        (["demo", "--first", "gr"], ["greedy"]),
        (["admin", "ob"], ["observe"]),
    ],
)
def test_words_are_completed(words: list[str], completions: list[str]) -> None:
    found = BashComplete(cli, {}, "spielleiter", "_SPIELLEITER_COMPLETE").get_completions(words[:-1], words[-1])
    assert [each.value for each in found] == completions


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The variables of a shell that finds `spielleiter`."""
    file = tmp_path / "programs" / "spielleiter"
    file.parent.mkdir()
    file.write_text(PROGRAM.format(python=shlex.quote(sys.executable)))
    file.chmod(0o755)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SPIELLEITER_")}
    return inherited | {"PATH": f"{file.parent}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": PACKAGES}


def output(environment: dict[str, str], *command: str, **more: str) -> str:
    done = subprocess.run(
        command, env=environment | more, capture_output=True, text=True, timeout=HANG_TIMEOUT, check=False
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_zsh_and_fish_have_a_script_and_get_descriptions_as_well(shell: str, environment: dict[str, str]) -> None:
    script = output(environment, "spielleiter", _SPIELLEITER_COMPLETE=f"{shell}_source")
    assert f"_SPIELLEITER_COMPLETE={shell}_complete" in script
    words = {"COMP_WORDS": "spielleiter play --strategy first", "COMP_CWORD": "3" if shell == "zsh" else "first"}
    answer = output(environment, "spielleiter", _SPIELLEITER_COMPLETE=f"{shell}_complete", **words)
    # the separator depends on the shell and on the version of click
    assert re.split(r"[,\t\n]", answer.strip()) == ["plain", "first", "always the first legal move"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "words", "values"),
    [
        ("match --player1 builtin:gr", ["match", "--player1", "builtin", ":", "gr"], ["greedy"]),
        ("match --player1=builtin:gr", ["match", "--player1", "=", "builtin", ":", "gr"], ["greedy"]),
        ("play --strategy ", ["play", "--strategy", ""], None),
    ],
)
def test_bash_gets_the_completion_of_its_last_word(
    line: str, words: list[str], values: list[str] | None, environment: dict[str, str]
) -> None:
    command = ("bash", "--norc", "-c", SCRIPT, "bash", f"spielleiter {line}", "spielleiter", *words)
    found = output(environment, *command).split()
    assert all(value.startswith(words[-1]) for value in found)
    assert found if values is None else found == values
