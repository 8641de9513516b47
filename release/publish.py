"""Publishes the version that pyproject.toml names: `make publish`, on the branch `main` with nothing left to commit.

    python release/publish.py [--address https://example.org/owner/name] [--dry-run]

It writes the address of the repository to [project.urls] in pyproject.toml and to the workflow in docs/ci.md, turns
"Unreleased" in CHANGELOG.md into the version, commits these files, and pushes the branch together with the tag of the
version. The tag starts .github/workflows/release.yml, which tests, builds and publishes.

Invariants: nothing is changed before everything is known to be in order, and nothing is pushed unless the tag, the
version and the changelog agree. Without the push, the commit and the tag are only on this machine.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

if __name__ == "__main__":  # as a script, only this folder is on the import path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from release.notes import ReleaseError, notes

ROOT: Final = Path(__file__).resolve().parents[1]
_ADDRESS: Final = re.compile(r"https://[\w.-]+/([\w.-]+/[\w.-]+)")
_SCP_FORM: Final = re.compile(r"(?:ssh://)?[\w.-]+@([\w.-]+)[:/](.+)")


def address_of(remote: str) -> str:
    """Return the address of a repository for browsers, from that of its remote. Raises ReleaseError."""
    address = _SCP_FORM.sub(r"https://\1/\2", remote.strip()).removesuffix("/").removesuffix(".git")
    if not _ADDRESS.fullmatch(address):
        raise ReleaseError(f"the remote `origin` is {remote.strip() or 'missing'}; name the repository with --address")
    return address


def with_address(pyproject: str, address: str) -> str:
    """Return pyproject.toml, in which [project.urls] holds this address and nothing else. Raises ReleaseError."""
    changed, count = re.subn(
        r"(?m)^(\[project\.urls\](?:[ \t]*#.*)?\n)(?:\w+ = .*\n)*", rf'\g<1>Repository = "{address}"\n', pyproject
    )
    if count != 1:
        raise ReleaseError("pyproject.toml has no table [project.urls]")
    return changed


def with_action(page: str, address: str, tag: str) -> str:
    """Return docs/ci.md, whose workflows use the action of this repository and version."""
    found = _ADDRESS.fullmatch(address)
    assert found, address
    own = re.escape(found[1])
    return re.sub(rf"uses: (?:\./\S*|{own}@\S+)", f"uses: {found[1]}@{tag}", page)


def with_heading(changelog: str, version: str, today: date) -> str:
    """Return CHANGELOG.md, in which what was unreleased has the heading of this version, unless there is one."""
    if re.search(rf"(?m)^## {re.escape(version)}(?:\s|$)", changelog):
        return changelog
    return re.sub(r"(?m)^## Unreleased$", f"## Unreleased\n\n## {version} ({today.isoformat()})", changelog, count=1)


def publish(root: Path, address: str | None, today: date, *, is_rehearsal: bool = False) -> str:
    """Publish the version of the repository in the folder `root`, and return one line that says what was done.

    `address` is that of the repository for browsers; None: that of its remote `origin`. A rehearsal changes nothing.
    Raises ReleaseError.
    """
    files = {name: root / name for name in ("pyproject.toml", "CHANGELOG.md", "docs/ci.md")}
    texts = {name: path.read_text(encoding="utf-8") for name, path in files.items()}
    version = tomllib.loads(texts["pyproject.toml"])["project"]["version"]
    tag = f"v{version}"
    if (branch := _git(root, "branch", "--show-current").strip()) != "main":
        raise ReleaseError(f"this is the branch {branch or '(none)'}; publish from main")
    if _git(root, "status", "--porcelain"):
        raise ReleaseError("some files are not committed; commit or remove them first")
    if _git(root, "tag", "--list", tag):
        raise ReleaseError(f"{tag} exists already; raise the version in pyproject.toml")
    address = address_of(_git(root, "remote", "get-url", "origin") if address is None else address)
    changed = {
        "pyproject.toml": with_address(texts["pyproject.toml"], address),
        "CHANGELOG.md": with_heading(texts["CHANGELOG.md"], version, today),
        "docs/ci.md": with_action(texts["docs/ci.md"], address, tag),
    }
    notes(tag, changed["pyproject.toml"], changed["CHANGELOG.md"])
    if is_rehearsal:
        return f"{tag} of {address} can be published; nothing was changed"
    for name, text in changed.items():
        files[name].write_text(text, encoding="utf-8", newline="\n")
    _git(root, "add", *changed)
    if _git(root, "status", "--porcelain"):
        _git(root, "commit", "--message", f"Release {version}")
    _git(root, "tag", tag)
    _git(root, "push", "--atomic", "origin", "main", tag)
    return f"{tag} of {address} was pushed; the workflow `Release` publishes it"


def _git(root: Path, *arguments: str) -> str:
    """Run git and return its output. Raises ReleaseError with what it has written to standard error."""
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)  # noqa: S607
    if done.returncode:
        raise ReleaseError(f"git {arguments[0]} failed: {' '.join(done.stderr.split())}")
    return done.stdout


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", help="the address of the repository for browsers; default: that of `origin`")
    parser.add_argument("--dry-run", action="store_true", help="only say whether the version could be published")
    options = parser.parse_args(arguments)
    try:
        print(publish(ROOT, options.address, datetime.now(UTC).date(), is_rehearsal=options.dry_run))
    except ReleaseError as error:
        sys.exit(f"release/publish.py: {error}")


if __name__ == "__main__":
    main()
