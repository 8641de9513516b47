"""`--on-end`: the command that is run after a match or tournament."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click
import pytest

from spielleiter.cli.commands import Misuse
from spielleiter.cli.on_end import described_on_end, read_on_end, run_on_end
from tests.interpreter import PYTHON


def test_the_command_gets_folder_summary_and_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = "import os, sys; open('received', 'w').write(repr((sys.argv[1:], os.environ['MATCH_EXIT_CODE'])))"
    run_on_end(read_on_end(f"{PYTHON} -c {shlex.quote(code)} more"), Path("out"), Path("out/summary.json"), 3)
    expected = (["more", str(tmp_path / "out"), str(tmp_path / "out" / "summary.json")], "3")
    assert (tmp_path / "received").read_text() == repr(expected)


def test_no_shell_interprets_the_command(tmp_path: Path) -> None:
    words = read_on_end(f"{PYTHON} -c 'import sys; sys.exit(sys.argv[1] != chr(36) + chr(48))' '$0'")
    assert words[-1] == "$0"
    run_on_end(words, tmp_path, tmp_path, 0)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("raise SystemExit(7)", "ended with exit code 7"),
        ("import os; os.kill(os.getpid(), 9)", "was ended by signal 9"),
        ("print('out')", ""),
    ],
)
def test_a_failing_command_is_reported_on_standard_error(
    code: str, expected: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run_on_end([sys.executable, "-c", code], tmp_path, tmp_path, 0)
    out, error = capfd.readouterr()
    assert out == ""
    assert error == (f"--on-end {sys.executable}: {expected}\n" if expected else "out\n")


def test_a_command_that_has_disappeared_is_reported(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run_on_end([str(tmp_path / "gone")], tmp_path, tmp_path, 0)
    assert "gone: cannot be started (No such file or directory)" in capfd.readouterr().err


def test_without_a_command_nothing_is_run(tmp_path: Path) -> None:
    run_on_end(None, tmp_path, tmp_path, 0)
    assert described_on_end(None) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [("", "expected a command"), ("no-such-program x", "there is no program no-such-program"), ("a 'b", "quotation")],
)
def test_a_command_that_cannot_be_started_is_refused(text: str, problem: str) -> None:
    with pytest.raises(Misuse, match=problem):
        described_on_end(text)
    with pytest.raises(ValueError, match=problem if "quot" not in problem else "(?i)quotation"):
        read_on_end(text)
    assert click.ClickException in Misuse.__mro__


@pytest.mark.parametrize("word", ["/Nowhere/Notify", "~nobody-of-this-name/Notify"])
def test_a_missing_program_is_named_as_it_was_written(word: str) -> None:
    with pytest.raises(ValueError, match=f"there is no program {word}, "):
        read_on_end(word)
    with pytest.raises(Misuse, match=f"there is no program {word}, "):
        described_on_end(word)
