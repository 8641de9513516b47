"""Prints what CHANGELOG.md says about a version: the text of the release page.

    python release/notes.py v1.2.0

The tag, the version in pyproject.toml and a heading in CHANGELOG.md must agree, and the section below that
heading must not be empty. Otherwise the exit code is 1 and one line says what to change, so nothing is published.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]


class ReleaseError(Exception):
    """Something has to be changed before this version can be released; the text is one line."""


def notes(tag: str, pyproject: str, changelog: str) -> str:
    """Return the section of the changelog for the version that `tag` names.

    - `tag`: ``v`` and the version.
    - `pyproject`, `changelog`: the contents of these files.

    Raises ReleaseError if they do not agree.
    """
    version = tomllib.loads(pyproject)["project"]["version"]
    if tag != f"v{version}":
        raise ReleaseError(f"the tag is {tag}, but pyproject.toml has the version {version}; expected v{version}")
    sections = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL))
    for heading, text in sections.items():
        if heading.split()[0] == version:
            if not text.strip():
                raise ReleaseError(f"CHANGELOG.md says nothing about {version}")
            return f"{text.strip()}\n"
    raise ReleaseError(f"CHANGELOG.md has no heading for {version}; expected: ## {version}, and the date")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tag", metavar="TAG", help="the tag of the release: v and the version")
    options = parser.parse_args(arguments)
    pyproject, changelog = ((ROOT / name).read_text(encoding="utf-8") for name in ("pyproject.toml", "CHANGELOG.md"))
    try:
        sys.stdout.write(notes(options.tag, pyproject, changelog))
    except ReleaseError as error:
        sys.exit(f"release/notes.py: {error}")


if __name__ == "__main__":
    main()
