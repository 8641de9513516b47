"""Publishing a version with one command, in real repositories."""

from __future__ import annotations

import subprocess
import tomllib
from datetime import date
from pathlib import Path

import pytest

from release.notes import ReleaseError
from release.publish import address_of, publish
from tests.documents import read

TODAY = date(2026, 12, 1)
ADDRESS = "https://git.example/jane/spielleiter"
FILES = ("pyproject.toml", "CHANGELOG.md", "docs/ci.md")
VERSION = tomllib.loads(read("pyproject.toml"))["project"]["version"]
TAG = f"v{VERSION}"


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the real files, whose `origin` is another repository."""
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "Jane")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "jane@example.org")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "none"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    git(tmp_path, "init", "--quiet", "--bare", "origin")
    git(tmp_path, "init", "--quiet", "--initial-branch=main", "checkout")
    folder = tmp_path / "checkout"
    for name in FILES:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(read(name), encoding="utf-8")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "Begin")
    git(folder, "remote", "add", "origin", str(tmp_path / "origin"))
    return folder


def test_a_version_is_published_with_the_address_in_its_place(checkout: Path) -> None:
    assert publish(checkout, ADDRESS, TODAY).startswith(f"{TAG} of {ADDRESS} was pushed")
    origin = checkout.parent / "origin"
    assert git(origin, "rev-parse", "main") == git(origin, "rev-parse", TAG) == git(checkout, "rev-parse", "HEAD")
    assert git(checkout, "status", "--porcelain") == ""
    project = tomllib.loads(git(origin, "show", f"{TAG}:pyproject.toml"))["project"]
    assert project == tomllib.loads(read("pyproject.toml"))["project"] | {"urls": {"Repository": ADDRESS}}
    assert f"## Unreleased\n\n## {VERSION} (2026-12-01)\n" in git(origin, "show", f"{TAG}:CHANGELOG.md")
    page = git(origin, "show", f"{TAG}:docs/ci.md")
    assert page.count(f"uses: jane/spielleiter@{TAG}\n") == read("docs/ci.md").count("uses: ./")
    assert "uses: ./" not in page


def test_the_next_version_replaces_the_first_one(checkout: Path) -> None:
    publish(checkout, ADDRESS, TODAY)
    for name, before, after in (
        ("pyproject.toml", f'version = "{VERSION}"', 'version = "9.8.7"'),
        ("CHANGELOG.md", "## Unreleased\n", "## Unreleased\n\n- new\n"),
    ):
        text = (checkout / name).read_text(encoding="utf-8")
        (checkout / name).write_text(text.replace(before, after), encoding="utf-8")
    git(checkout, "commit", "--quiet", "--all", "--message", "Go on")
    publish(checkout, ADDRESS, TODAY)
    project = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (project["version"], project["urls"]) == ("9.8.7", {"Repository": ADDRESS})
    page = (checkout / "docs" / "ci.md").read_text(encoding="utf-8")
    assert ("jane/spielleiter@v9.8.7" in page, TAG in page) == (True, False)


def test_a_rehearsal_changes_nothing(checkout: Path) -> None:
    before = git(checkout, "rev-parse", "HEAD")
    assert publish(checkout, ADDRESS, TODAY, is_rehearsal=True).endswith("nothing was changed")
    assert (git(checkout, "rev-parse", "HEAD"), git(checkout, "status", "--porcelain")) == (before, "")
    assert git(checkout, "tag") == ""


@pytest.mark.parametrize(
    ("prepare", "reason"),
    [
        (("checkout", "--quiet", "-b", "idea"), "the branch idea; publish from main"),
        (("rm", "--quiet", "docs/ci.md"), "no such file"),
        (("mv", "CHANGELOG.md", "CHANGES.md"), "no such file"),
        (("tag", TAG), f"{TAG} exists already"),
        (("remote", "remove", "origin"), "git remote failed"),
    ],
)
def test_what_is_not_in_order_is_not_published(checkout: Path, prepare: tuple[str, ...], reason: str) -> None:
    git(checkout, *prepare)
    with pytest.raises((ReleaseError, FileNotFoundError), match=f"(?i){reason}"):
        publish(checkout, None if "remote" in prepare else ADDRESS, TODAY)
    assert git(checkout.parent / "origin", "for-each-ref") == ""


def test_changes_that_are_not_committed_are_not_published(checkout: Path) -> None:
    (checkout / "new.txt").write_text("x", encoding="utf-8")
    with pytest.raises(ReleaseError, match="not committed"):
        publish(checkout, ADDRESS, TODAY)


@pytest.mark.parametrize(
    "remote",
    ["git@git.example:jane/spielleiter.git", "ssh://git@git.example/jane/spielleiter", f"{ADDRESS}.git\n", ADDRESS],
)
def test_the_address_is_that_of_the_remote(remote: str) -> None:
    assert address_of(remote) == ADDRESS


@pytest.mark.parametrize("remote", ["", "/home/jane/spielleiter", "https://git.example/spielleiter"])
def test_a_remote_that_is_no_address_is_refused(remote: str) -> None:
    with pytest.raises(ReleaseError, match="--address"):
        address_of(remote)
