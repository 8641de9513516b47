"""`spielleiter doctor`: its lines, its JSON and its exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from spielleiter.cli.cli import cli
from spielleiter.cli.doctor import command
from spielleiter.cli.doctor.command import shown, summary
from spielleiter.cli.doctor.finding import Finding, Level
from tests.cli.background import run
from tests.timeouts import HANG_TIMEOUT

FINE = Finding("python", "Python", Level.OK, "3.11.2", "Nothing else is needed.")
LIMITED = Finding("java", "Java", Level.LIMITED, "not found", "Install a Java runtime.")
MISSING = Finding("settings", "settings", Level.MISSING, "a wrong value", "Correct it.")


@pytest.mark.parametrize(
    ("findings", "code", "last"),
    [
        ([FINE], 0, "Everything works here."),
        ([FINE, LIMITED], 0, "Servers and players can start here; the line marked limited says what does not work."),
        ([LIMITED] * 2, 0, "Servers and players can start here; the 2 lines marked limited say what does not work."),
        ([MISSING, LIMITED], 1, "The server cannot start here: see the line marked missing."),
        ([MISSING] * 2, 1, "The server cannot start here: see the lines marked missing."),
    ],
)
def test_the_exit_code_says_whether_the_server_can_start(
    findings: list[Finding], code: int, last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "find_all", lambda: iter(findings))
    result = run("doctor")
    assert result.exit_code == code
    assert result.stdout.splitlines()[0].startswith("spielleiter 0.")
    assert result.stdout.splitlines()[-1] == last == summary(findings)
    as_json = json.loads(run("doctor", "--json").stdout)
    assert as_json["is_ready"] == (code == 0)
    assert as_json["findings"] == [finding.as_json() for finding in findings]


def test_every_line_says_what_follows_from_it() -> None:
    lines = click.unstyle(shown(LIMITED, 80)).splitlines()
    assert lines == ["limited  Java             not found", " " * 26 + "Install a Java runtime."]


@pytest.mark.parametrize("columns", [10, 60, 80, 110])
def test_long_texts_are_wrapped(columns: int) -> None:
    long = Finding("java", "Java", Level.OK, "word " * 40, "more " * 40)
    text = click.unstyle(shown(long, columns))
    assert max(map(len, text.splitlines())) <= max(columns, 56)
    assert text.split() == ["ok", "Java", *["word"] * 40, *["more"] * 40]


def test_control_characters_of_other_programs_are_not_printed() -> None:
    """The state contains what Java or Docker have written."""
    assert "\x1b" not in click.unstyle(shown(Finding("java", "Java", Level.OK, "\x1b]0;x\x07", "x"), 80))


@pytest.mark.parametrize(("no_color", "is_colored"), [("", True), ("1", False)])
def test_no_color_turns_colors_off(no_color: str, is_colored: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "find_all", lambda: iter([LIMITED]))
    result = CliRunner().invoke(cli, ["doctor"], env={"NO_COLOR": no_color}, color=True)
    assert ("\x1b[" in result.stdout) == is_colored


@pytest.mark.slow
def test_a_real_machine_is_looked_at(tmp_path: Path) -> None:
    words = [sys.executable, "-P", "-m", "spielleiter", "doctor"]

    def looked_at(*options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*words, *options], cwd=tmp_path, capture_output=True, text=True, timeout=HANG_TIMEOUT, check=False
        )

    as_json, text = looked_at("--json"), looked_at()
    assert (as_json.returncode, as_json.stderr, text.returncode, text.stderr) == (0, "", 0, "")
    found = json.loads(as_json.stdout)
    assert len(found["findings"]) > 10
    for finding in found["findings"]:
        assert finding["meaning"].endswith("."), finding
    assert text.stdout.count("\n") > 2 * len(found["findings"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_wrong_setting_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def settings_alone() -> Iterator[Finding]:
        from spielleiter.cli.doctor.server import find_server

        yield next(find_server())

    (tmp_path / "server.properties").write_text("port = many\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "find_all", settings_alone)
    result = run("doctor")
    assert result.exit_code == 1
    assert "missing  settings" in result.stdout
    assert "many" in result.stdout
