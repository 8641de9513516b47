"""The workflows of GitHub: they run on machines that are not here, so their files are checked instead."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.documents import ROOT, read
from tests.timeouts import HANG_TIMEOUT

FOLDER = ROOT / ".github" / "workflows"
FILES = sorted(FOLDER.glob("*.yml"))
WORKFLOWS: dict[str, dict[str, Any]] = {
    # YAML 1.1 takes the key `on` for a truth value
    path.stem: {"on" if key is True else key: value for key, value in yaml.safe_load(path.read_text("utf-8")).items()}
    for path in FILES
}
JOBS = {(name, job): content for name, workflow in WORKFLOWS.items() for job, content in workflow["jobs"].items()}
STEPS = [(f"{name}/{job}", step) for (name, job), content in JOBS.items() for step in content.get("steps", [])]
RUNS = [(place, step["run"]) for place, step in STEPS if "run" in step]
PROJECT: dict[str, Any] = tomllib.loads(read("pyproject.toml"))["project"]
CI, RELEASE = WORKFLOWS["ci"]["jobs"], WORKFLOWS["release"]["jobs"]

PINNED = re.compile(r"uses: ([\w-]+/[\w-]+)@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)$")


def checked(schema: str, path: Path) -> subprocess.CompletedProcess[str]:
    """Check a file with a schema that check-jsonschema brings along."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=HANG_TIMEOUT, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("schema", "path"),
    [*(("vendor.github-workflows", path) for path in FILES), ("vendor.github-actions", ROOT / "action.yml")],
    ids=lambda value: value.name if isinstance(value, Path) else "",
)
def test_github_understands_the_file(schema: str, path: Path) -> None:
    done = checked(schema, path)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("change", [("runs-on:", "run-on:"), ("timeout-minutes: 10", "timeout-minutes: long")])
def test_a_mistake_would_be_found(change: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "ci.yml"
    path.write_text((FOLDER / "ci.yml").read_text("utf-8").replace(*change, 1), encoding="utf-8")
    assert checked("vendor.github-workflows", path).returncode == 1


# -- what they may do ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_has_no_permissions_of_its_own(name: str) -> None:
    assert WORKFLOWS[name]["permissions"] == {}


def test_each_job_has_only_the_permissions_that_it_needs() -> None:
    more = {
        place: permissions for place, job in JOBS.items() if (permissions := job["permissions"]) != {"contents": "read"}
    }
    assert more == {
        ("release", "image"): {"contents": "read", "packages": "write"},
        ("release", "pypi"): {"id-token": "write"},
        ("release", "release"): {"contents": "write"},
        ("release", "latest"): {"packages": "write"},
    }


def test_the_permission_to_publish_is_used_by_one_action_in_an_environment() -> None:
    job = RELEASE["pypi"]
    assert job["environment"] == "pypi"
    assert [step["uses"].partition("@")[0] for step in job["steps"]] == [
        "actions/download-artifact",
        "pypa/gh-action-pypi-publish",
    ]
    assert job["steps"][-1]["with"]["attestations"] is True


def test_every_action_is_pinned_by_its_commit_and_in_one_version() -> None:
    pins: dict[str, set[tuple[str, str]]] = {}
    for path in (*FILES, ROOT / "action.yml"):
        for line in path.read_text("utf-8").splitlines():
            if "uses: " in line and "uses: ./" not in line:
                found = PINNED.search(line)
                assert found, line
                pins.setdefault(found[1], set()).add((found[2], found[3]))
    assert {name: len(versions) for name, versions in pins.items()} == dict.fromkeys(pins, 1)
    assert {"actions/checkout", "docker/build-push-action", "pypa/gh-action-pypi-publish"} <= set(pins)


def test_a_checkout_keeps_no_credentials() -> None:
    checkouts = [step for _, step in STEPS if step.get("uses", "").startswith("actions/checkout@")]
    assert checkouts
    assert [step["with"]["persist-credentials"] for step in checkouts] == [False] * len(checkouts)


@pytest.mark.parametrize(("place", "script"), RUNS, ids=[place for place, _ in RUNS])
def test_nothing_from_outside_becomes_part_of_a_script(place: str, script: str) -> None:
    """Names of branches and tags reach a script only as environment variables."""
    assert "${{" not in script


def test_every_job_ends_some_time() -> None:
    assert [place for place, job in JOBS.items() if "steps" in job and "timeout-minutes" not in job] == []


# -- what they run ---------------------------------------------------------------------------------------------------


def test_every_supported_system_and_python_is_tested() -> None:
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    strategy = CI["test"]["strategy"]
    assert strategy["matrix"]["python"] == named
    assert [system.partition("-")[0] for system in strategy["matrix"]["system"]] == ["ubuntu", "windows", "macos"]
    assert strategy["fail-fast"] is False


def test_the_tests_import_the_installed_wheel() -> None:
    """Neither an editable install nor the checkout's `src` is on the import path."""
    scripts = [step["run"] for step in CI["test"]["steps"] if "run" in step and "if" not in step]
    assert [line for line in scripts if "pip install" in line] == [
        "python -m pip install --require-hashes -r requirements/development.lock",
        "python -m pip install --no-deps --no-index dist/*.whl",
    ]
    assert not any("--editable" in script or "PYTHONPATH" in script for script in scripts)
    assert all(script.startswith("python ") for script in scripts)  # there is no make on Windows


def test_windows_starts_the_server_with_nothing_but_what_users_have() -> None:
    """The lock for development has more, and hid that a console of Windows showed no log."""
    [step] = [step for step in CI["test"]["steps"] if step.get("if") == "${{ runner.os == 'Windows' }}"]
    locks = re.findall(r"requirements/(\w+)\.lock", step["run"])
    assert locks == ["runtime"]
    assert "grep server_started log.txt\n" in step["run"]
    assert "spielleiter check player.zip" in step["run"]


def test_what_is_published_is_what_was_tested() -> None:
    """Only the job `packages` builds packages; the other ones take them from there."""
    assert [place for place, script in RUNS if "hatchling build" in script] == ["ci/packages"]
    taken = [place for place, step in STEPS if step.get("with", {}).get("name") == "packages"]
    assert taken == ["ci/packages", "ci/test", "release/programs", "release/pypi"]
    assert RELEASE["ci"]["uses"] == "./.github/workflows/ci.yml"
    assert "workflow_call" in WORKFLOWS["ci"]["on"]


def test_the_release_page_takes_the_artifacts_that_are_for_it() -> None:
    """Without a pattern, all artifacts are unpacked, and a build record of the image is no ZIP."""
    download = next(step for step in RELEASE["release"]["steps"] if "download-artifact" in step.get("uses", ""))
    patterns = download["with"]["pattern"].strip("{}").split(",")
    names = [step["with"]["name"] for _, step in STEPS if "upload-artifact" in step.get("uses", "")]
    assert len(names) == 3
    assert {name: any(map(partial(fnmatch, name), patterns)) for name in names} == dict.fromkeys(names, True)
    assert not any(map(partial(fnmatch, "owner~spielleiter~4K2XQ1.dockerbuild"), patterns))
    assert RELEASE["image"]["steps"][-1]["env"] == {"DOCKER_BUILD_RECORD_UPLOAD": "false"}


def before(job: str) -> set[str]:
    """The jobs of a release that are over before this one begins."""
    needs = RELEASE[job].get("needs", [])
    needs = [needs] if isinstance(needs, str) else needs
    return set(needs).union(*map(before, needs))


def test_the_index_comes_after_everything_that_may_fail() -> None:
    assert before("pypi") == set(RELEASE) - {"pypi", "release", "latest"}
    assert before("release") == set(RELEASE) - {"release", "latest"}


def test_the_latest_image_is_named_last() -> None:
    """A release that fails half-way leaves `latest` as it was."""
    assert before("latest") == set(RELEASE) - {"latest"}
    naming = [place for place, step in STEPS if "latest" in str(step.get("run", "")) + str(step.get("with", ""))]
    assert naming == ["release/latest"]


def test_a_program_or_an_image_that_cannot_be_built_holds_up_no_release() -> None:
    """The jobs that build them have never run when the first version is released."""
    assert "needs.ci.result == 'success'" in RELEASE["pypi"]["if"]
    for job in ("pypi", "release"):
        assert "!cancelled()" in RELEASE[job]["if"]  # without it, a job is skipped if one before it fails
        assert not {"programs", "image"} & set(re.findall(r"needs\.(\w+)\.result", RELEASE[job]["if"]))
    assert RELEASE["programs"]["strategy"]["fail-fast"] is False
    assert "needs.image.result == 'success'" in RELEASE["latest"]["if"]


def test_a_release_can_be_rehearsed_on_request() -> None:
    """Everything is built and tested, and nothing is published."""
    assert "workflow_dispatch" in WORKFLOWS["release"]["on"]
    assert "github.event_name == 'push'" in RELEASE["pypi"]["if"]
    assert {"pypi"} <= before("release") <= before("latest")
    for step in RELEASE["image"]["steps"]:
        if "login-action" in step.get("uses", ""):
            assert step["if"] == "${{ github.event_name == 'push' }}"
    assert RELEASE["image"]["steps"][-1]["with"]["push"] == "${{ github.event_name == 'push' }}"
    assert "if" not in RELEASE["programs"]


@pytest.mark.parametrize(("event", "version"), [("push", PROJECT["version"]), ("workflow_dispatch", "rehearsal")])
def test_only_a_tag_needs_its_notes(event: str, version: str, tmp_path: Path) -> None:
    [script] = [step["run"] for step in RELEASE["notes"]["steps"] if step.get("id") == "notes"]
    for name in ("release", "pyproject.toml"):
        (tmp_path / name).symlink_to(ROOT / name)
    copied = tmp_path / "python"
    copied.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "print(1)"\n')
    copied.chmod(0o755)
    output = tmp_path / "output"
    environment = {"EVENT": event, "TAG": f"v{PROJECT['version']}", "GITHUB_OUTPUT": str(output)}
    subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path, env={**os.environ, **environment, "PATH": f"{tmp_path}:{os.environ['PATH']}"}, check=True,
    )  # fmt: skip
    assert output.read_text() == f"version={version}\n"
    assert (tmp_path / "notes.md").read_text()


def test_packages_are_checked_with_the_tool_of_the_action_that_publishes_them() -> None:
    """Another version of the tool may accept what that one refuses."""
    pinned = read("requirements/publishing.in")
    [uses] = [line for line in (FOLDER / "release.yml").read_text("utf-8").splitlines() if "gh-action-pypi" in line]
    found = PINNED.search(uses)
    assert found
    assert f"{found[1]} {found[3]}," in pinned
    lock = read("requirements/publishing.lock")
    for line in pinned.splitlines():
        assert line.startswith("#") or f"\n{line} \\\n" in lock, line
    scripts = [step["run"] for step in CI["packages"]["steps"] if "run" in step]
    built, checked = (
        next(n for n, text in enumerate(scripts) if word in text) for word in ("hatchling", "twine check")
    )
    assert built < checked
    assert "--strict dist/*" in scripts[checked]
    assert "requirements/publishing.lock" in scripts[checked]


def test_the_image_tells_how_it_was_built() -> None:
    build = RELEASE["image"]["steps"][-1]["with"]
    assert (build["provenance"], build["sbom"]) == ("mode=max", True)
    assert (ROOT / build["file"]).is_file()


@pytest.mark.parametrize(("place", "script"), RUNS, ids=[place for place, _ in RUNS])
def test_scripts_name_files_and_targets_that_exist(place: str, script: str) -> None:
    for path in re.findall(r"\b(?:requirements|release|tests)/[\w./]+", script):
        assert (ROOT / path).exists(), path
    for target in re.findall(r"\bmake ([a-z-]+)", script):
        assert re.search(rf"^{target}:", read("Makefile"), re.MULTILINE), target
    checked = subprocess.run(
        ["bash", "-n"], input=script, capture_output=True, text=True, timeout=HANG_TIMEOUT, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")


def test_contributing_says_what_has_to_be_set_up() -> None:
    text = read("CONTRIBUTING.md")
    variables = set(re.findall(r"vars\.(\w+)", (FOLDER / "release.yml").read_text("utf-8")))
    assert variables == {"REGISTRY", "IMAGE"}
    for name in (*variables, "pypi", "ci.yml", "release.yml"):
        assert f"`{name}`" in text
