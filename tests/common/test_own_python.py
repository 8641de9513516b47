"""Helper processes are started with `own_python()`, and the frozen program does what `python` does for them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from spielleiter.common.own_python import RUN_PYTHON, own_python, run_as_python
from spielleiter.programs.command import Command
from spielleiter.programs.sandbox import pythons as python_inside
from tests.documents import ROOT
from tests.timeouts import HANG_TIMEOUT

ENTRY = ROOT / "release" / "start.py"


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Let this process look like the one-folder build, and return the path of its program."""
    program = tmp_path / "spielleiter"
    program.touch()
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", str(program))
    return program


def run_entry(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the first module of the one-folder build, but with this interpreter."""
    command = [sys.executable, "-P", str(ENTRY), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=HANG_TIMEOUT, check=False)


def test_programs_of_a_match_are_started_with_the_frozen_program(frozen: Path) -> None:
    assert own_python() == [str(frozen), RUN_PYTHON]
    assert Command.parse("builtin:first").words[:2] == (str(frozen), RUN_PYTHON)
    assert python_inside.python_outside()[:2] == [str(frozen), RUN_PYTHON]


def test_a_sandbox_gets_the_folder_of_the_frozen_program(frozen: Path) -> None:
    inside = python_inside.python_inside()
    assert inside.mounts[f"{python_inside.TOOLS}/python"] == str(frozen.parent)
    program, *rest = inside.command[inside.command.index(f"{python_inside.TOOLS}/python/spielleiter") :][-6:]
    assert [program, *rest] == [
        f"{python_inside.TOOLS}/python/spielleiter", RUN_PYTHON, "-I", "-S", "-B", f"{python_inside.TOOLS}/helper.py",
    ]  # fmt: skip


# -- in place of the interpreter ------------------------------------------------------------------------------------


def test_a_module_code_or_a_file_is_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "shown.py").write_text("import sys\nprint(__name__, sys.argv[1:])\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "argv", sys.argv)
    run_as_python(["-P", "-m", "shown", "-m", "x"])
    run_as_python(["-I", "-S", "-c", "import sys; print(__name__, sys.argv)", "x"])
    run_as_python(["-B", str(tmp_path / "shown.py"), "first"])
    lines = ["__main__ ['-m', 'x']", "__main__ ['-c', 'x']", "__main__ ['first']"]
    assert capsys.readouterr().out.splitlines() == lines


@pytest.mark.parametrize("arguments", [[], ["-m"], ["-c"], ["-X", "dev", "-m", "this"], ["-"]])
def test_anything_else_is_refused(arguments: list[str]) -> None:
    with pytest.raises(SystemExit, match=r"^--run-python: expected -m MODULE, -c CODE or a file, but got "):
        run_as_python(arguments)


@pytest.mark.slow
def test_the_entry_of_the_build_runs_the_command_or_python() -> None:
    assert run_entry("--version").stdout.startswith("spielleiter ")
    assert run_entry(RUN_PYTHON, "-P", "-c", "print(6 * 7)").stdout == "42\n"
    refused = run_entry(RUN_PYTHON)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.count("\n") == 1
