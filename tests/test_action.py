"""action.yml, whose scripts are run by bash as GitHub's runner does, and the script of docs/ci.md."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from lxml import etree

from tests.contest.packages import write_package
from tests.documents import blocks
from tests.shell import end_of, shell
from tests.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).parents[1]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
SCRIPTS = [step for step in STEPS if "run" in step]
[PLAY] = [step for step in STEPS if step.get("id") == "match"]
[CHECK] = [step for step in STEPS if step.get("id") == "check"]
GITHUB = yaml.safe_load(blocks("docs/ci.md", "yaml")[0].text)
DEFAULTS = {name: value["default"] for name, value in ACTION["inputs"].items() if not value.get("required")}


@dataclass
class Run:
    """What a run of the match step left behind."""

    code: int
    output: dict[str, str]
    summary: str
    printed: str


def play(folder: Path, **inputs: str) -> Run:
    """Run the match step with these inputs, in the way in which GitHub runs bash."""
    return run_step(PLAY, folder, inputs)


def run_step(step: dict[str, Any], folder: Path, inputs: Mapping[str, str]) -> Run:
    values = {**DEFAULTS, **{name.replace("_", "-"): value for name, value in inputs.items()}}
    environment = {"PROGRAMS": str(Path(sys.executable).parent)}
    for name, text in step["env"].items():
        if found := re.fullmatch(r"\$\{\{ inputs\.([a-z0-9-]+) \}\}", text):
            environment[name] = values[found[1]]
    files = {name: folder / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for path in files.values():
        path.touch()
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=folder, timeout=HANG_TIMEOUT, check=False, capture_output=True, text=True,
        env={**os.environ, **environment, **{name: str(path) for name, path in files.items()}},
    )  # fmt: skip
    lines = files["GITHUB_OUTPUT"].read_text(encoding="utf-8").splitlines()
    return Run(
        done.returncode,
        dict(line.split("=", 1) for line in lines),
        files["GITHUB_STEP_SUMMARY"].read_text(encoding="utf-8"),
        done.stdout + done.stderr,
    )


FAKE_PYTHON = """\
#!/bin/sh
case "$1 $2" in
"-m venv") mkdir -p "$3/$FOLDER"; cp "$0" "$3/$FOLDER/python" ;;
"-m pip") echo "$@" ;;
esac
"""


@pytest.mark.parametrize("folder", ["bin", "Scripts"])
def test_the_programs_are_found_in_an_environment_of_every_system(folder: str, tmp_path: Path) -> None:
    """On Windows, an environment has `Scripts` instead of `bin`."""
    python = tmp_path / "python"
    python.write_text(FAKE_PYTHON, encoding="utf-8")
    python.chmod(0o755)
    [install] = [step for step in SCRIPTS if step.get("id") == "install"]
    output = tmp_path / "output"
    variables = {"PYTHON": str(python), "SOURCE": "source", "VENV": str(tmp_path / "environment"), "FOLDER": folder}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", install["run"]],
        env={**os.environ, **variables, "GITHUB_OUTPUT": str(output)}, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert len(done.stdout.splitlines()) == 2
    assert output.read_text(encoding="utf-8") == f"programs={tmp_path / 'environment' / folder}\n"
    for step in (PLAY, CHECK):
        assert step["env"]["PROGRAMS"] == "${{ steps.install.outputs.programs }}"


# -- the match step --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_match_is_played_and_reported(tmp_path: Path) -> None:
    run = play(
        tmp_path, player1="builtin:first", player2="builtin:illegal", games="2", concurrency="2", name1="new version",
        options="--seed 1\n--exit-timeout 1",
    )  # fmt: skip
    assert run.code == 0, run.printed
    assert run.output["exit-code"] == "0"
    assert run.output["elo"] == ""
    assert float(run.output["likelihood-of-superiority"]) > 0.5  # one pair of games shows no more than that
    assert "new version" in run.summary
    summary = json.loads((tmp_path / "match" / "summary.json").read_text(encoding="utf-8"))
    assert summary["results"] == {"wins": 2, "draws": 0, "losses": 0}


@pytest.mark.slow
@pytest.mark.parametrize(("new", "old", "code"), [("first", "illegal", 0), ("illegal", "first", 3)])
def test_the_example_is_red_only_for_the_faults_of_the_new_program(
    new: str, old: str, code: int, tmp_path: Path
) -> None:
    """With the options of the page; a few games are enough, and the machine of the tests may be busy."""
    [step] = [step for step in GITHUB["jobs"]["match"]["steps"] if step.get("id") == "match"]
    options = f"{step['with']['options']} --seed 1 --soft-timeout 60000 --hard-timeout 60000"
    run = play(
        tmp_path, player1=f"builtin:{new}", player2=f"builtin:{old}", games="12", concurrency="2", options=options
    )
    assert (run.code, run.output["exit-code"]) == (code, str(code)), run.printed
    suite = etree.parse(tmp_path / "match" / "junit.xml").getroot()[0]
    failures = suite.findall("testcase/failure")
    assert suite.get("failures") == str(len(failures))
    assert bool(failures) is (code == 3)
    assert "illegal move" in run.summary


@pytest.mark.slow
def test_no_input_is_run_as_a_command_and_what_cannot_be_played_has_no_summary(tmp_path: Path) -> None:
    injection = "$(touch evil1) `touch evil2`; touch evil3 \"; touch evil4 '; touch evil5"
    run = play(tmp_path, **dict.fromkeys(("player1", "player2", "name1", "name2", "options", "games"), injection))
    assert (run.code, run.output, run.summary) == (2, {"exit-code": "2"}, "")
    assert list(tmp_path.glob("evil*")) == []


# -- the check step --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_package_is_checked_and_reported(tmp_path: Path) -> None:
    """Nothing is started, since the script has the line ends of Windows."""
    write_package(tmp_path / "my player.zip", {"start.sh": "#!/bin/sh\r\n"})
    run = run_step(CHECK, tmp_path, {"package": "my player.zip", "options": "--sandbox none\n--speed 1"})
    assert (run.code, run.output) == (3, {"exit-code": "3"}), run.printed
    assert "## my player.zip: not fit" in run.summary
    assert "| the ZIP | red |" in run.summary
    assert "crlf" in run.summary
    assert {path.name for path in (tmp_path / "match").iterdir()} == {"report.html", "check.json", "junit.xml"}


@pytest.mark.slow
def test_a_package_that_is_not_there_has_no_summary(tmp_path: Path) -> None:
    run = run_step(CHECK, tmp_path, {"package": "$(touch evil).zip"})
    assert (run.code, run.output, run.summary) == (2, {"exit-code": "2"}, "")
    assert not (tmp_path / "evil").exists()


# -- the script of the documentation --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "code", "expected"),
    [
        ('exec spielleiter play --strategy first "$@"', 0, ["won: 1 of 2", "Elo: 0", '{"regular": 2}']),
        ("exit 7", 5, ["won: 0 of 0", "null", '{"does not start": ']),
    ],
    ids=["equal programs", "a program that does not start"],
)
def test_the_script_prints_figures_of_the_summary(program: str, code: int, expected: list[str], tmp_path: Path) -> None:
    (script,) = blocks("docs/ci.md", "bash")
    with shell(tmp_path) as (here, _server):
        for name in ("new", "old"):
            (tmp_path / name).write_text(f"#!/bin/sh\n{program}\n", encoding="utf-8")
            (tmp_path / name).chmod(0o755)
        started = here.start(script.text)
        output = end_of(started)
    assert started.returncode == code, output
    for text in expected:
        assert text in output
