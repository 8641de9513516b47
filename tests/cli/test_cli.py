"""The command `spielleiter` itself: its help, its version, and what it imports."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys

import pytest

from spielleiter.cli.cli import COMMANDS, main
from tests.cli.background import run


def test_the_help_names_every_command_and_how_to_complete_them() -> None:
    result = run("--help")
    assert result.exit_code == 0
    for name, (_, line) in COMMANDS.items():
        assert f"  {name} " in result.stdout
        assert line in result.stdout
    assert "_SPIELLEITER_COMPLETE=bash_source" in result.stdout


def test_the_command_alone_says_in_five_lines_how_to_begin() -> None:
    result = run()
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert len(lines) == 5
    assert all(len(line) < 80 for line in lines)
    named = re.findall(r"^  spielleiter (\w+) ", result.stdout, re.MULTILINE) + re.findall(
        r"`spielleiter (\w+)`", lines[-1]
    )
    assert named == ["demo", "serve", "play", "doctor"]
    assert set(named) < set(COMMANDS)


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_help(name: str) -> None:
    result = run(name, "--help")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: spielleiter {name} ")


def test_the_version_is_printed() -> None:
    assert run("--version").stdout.startswith("spielleiter 0.")


def test_main_is_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["spielleiter", "--version"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 0
    assert capsys.readouterr().out.startswith("spielleiter ")


def test_the_module_is_the_command_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["__main__.py", "--version"])
    with pytest.raises(SystemExit):
        runpy.run_module("spielleiter", run_name="__main__")
    assert capsys.readouterr().out.startswith("spielleiter ")


@pytest.mark.slow
def test_the_help_loads_nothing_it_does_not_need() -> None:
    program = (
        "import runpy, sys\n"
        "sys.argv = ['spielleiter', '--help']\n"
        "try:\n    runpy.run_module('spielleiter', run_name='__main__', alter_sys=True)\n"
        "except SystemExit:\n    pass\n"
        "needless = ('trio', 'lxml', 'structlog', 'javaproperties', 'server', 'json', 'unicodedata')\n"
        "print([name for name in needless if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage: ")
    assert done.stdout.endswith("[]\n")
