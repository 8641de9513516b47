"""Writes the files of a new season, which fail until they are filled in.

The texts are in `skeleton_files`, where § begins a name that is replaced, and PACKAGE and YEAR in a file's name are.
"""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from string import Template
from typing import Final

import click

ROOT: Final = Path(__file__).parents[2]
_FILES: Final = Path(__file__).parent / "skeleton_files"
_NAME: Final = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_SUFFIX: Final = ".txt"
_ENTRY: Final = """\
        Edition(
            "§edition",
            "§game_type",
            "game.§package:§{constant}_§year",
            "protocol.dialects.§{package}_§year:§{constant}_§year",
            §policy,
            release="§release",
            since="§since",
        ),
"""
_ROW: Final = "| `§game_type` | `§edition` | §since | release §release | clients of §year |\n"
_ENTRY_OF: Final = re.compile(r' +Edition\(\n +"[^"]*",\n +"swc_(\d+)_(?:.*\n){3} +(_\w+),')
"""The year and the policy of an entry."""
_EDITIONS: Final = "server/editions.py"
_TABLE: Final = "docs/compatibility.md"


class _Text(Template):
    delimiter = "§"


class SkeletonError(Exception):
    """The files cannot be written; the text says why."""


class _Season:
    """The names of a season."""

    def __init__(self, package: str, year: int, title: str | None, release: str, since: str) -> None:
        words = package.split("_")
        self.names = {
            "package": package,
            "prefix": "".join(word.capitalize() for word in words),
            "constant": package.upper(),
            "title": title or " ".join(word.capitalize() for word in words),
            "year": str(year),
            "edition": f"{package.replace('_', '-')}-{year}",
            "game_type": f"swc_{year}_{package}",
            "release": release,
            "since": since,
        }
        self.year = year

    def filled(self, text: str) -> str:
        return _Text(text).substitute(self.names)

    def path(self, template: Path) -> str:
        name = template.relative_to(_FILES).as_posix().removesuffix(_SUFFIX)
        return name.replace("PACKAGE", self.names["package"]).replace("YEAR", self.names["year"])


def write_skeleton(
    root: Path, package: str, year: int, since: str, *, title: str | None = None, release: str = ""
) -> list[str]:
    """Write the files of a season into the project in `root`, add its edition, and return the path of each file.

    - `package`: the name of the game in Python, such as ``mississippi_queen``.
    - `since`: the day from which the rules hold, ISO 8601.
    - `title`: what people call it; by default, the name in words.
    - `release`: the release that is followed; by default, the first one of the year, such as ``28.0.0``.

    Raises SkeletonError if the name is not usable, or there is such a game.
    """
    if not _NAME.fullmatch(package):
        raise SkeletonError(f"{package!r} cannot be the name of a package, expected words such as mississippi_queen")
    season = _Season(package, year, title, release or f"{year % 100}.0.0", since)
    season.names["policy"] = _nearest_policy(root / _EDITIONS, year)
    new = {season.path(template): template for template in sorted(_FILES.rglob(f"*{_SUFFIX}"))}
    for name in new:
        if (root / name).exists():
            raise SkeletonError(f"{name} is there already")
    changed = {
        _EDITIONS: _before_older(root / _EDITIONS, r'^ +Edition\(\n +"[^"]*",\n +"swc_(\d+)_', season, _ENTRY),
        _TABLE: _before_older(root / _TABLE, r"^\| `swc_(\d+)_", season, _ROW),
    }
    for name, template in new.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(season.filled(template.read_text("utf-8")), "utf-8")
    for name, text in changed.items():
        (root / name).write_text(text, "utf-8")
    # the order and the length of names depend on the name of the game
    python = [name for name in (*new, *changed) if name.endswith(".py")]
    for command in (("check", "--fix", "--quiet", "--no-cache"), ("format", "--quiet", "--no-cache")):
        subprocess.run([sys.executable, "-m", "ruff", *command, *python], cwd=root, check=True)
    return [*new, *changed]


def _nearest_policy(path: Path, year: int) -> str:
    """Return the name of the policy that the edition of the nearest season has; of two, the later one."""
    entries = [(int(found[1]), found[2]) for found in _ENTRY_OF.finditer(path.read_text("utf-8"))]
    if not entries:
        raise SkeletonError(f"{path} has no entry of another season")
    return min(entries, key=lambda entry: (abs(entry[0] - year), -entry[0]))[1]


def _before_older(path: Path, pattern: str, season: _Season, text: str) -> str:
    """Return the content of a file with `text` before the entry of an older season, which `pattern` finds."""
    content = path.read_text("utf-8")
    for found in re.finditer(pattern, content, re.MULTILINE):
        if int(found[1]) < season.year:
            return content[: found.start()] + season.filled(text) + content[found.start() :]
    raise SkeletonError(f"{path} has no entry of an older season")


@click.command()
@click.argument("name")
@click.argument("year", type=click.IntRange(2022, 2999))
@click.option("--title", help="What people call the game.  [default: NAME in words]")
@click.option("--release", default="", help="The release that is followed.  [default: the first one of YEAR]")
@click.option("--since", default="", help="The day from which it holds.  [default: today]")
def skeleton(name: str, year: int, title: str | None, release: str, since: str) -> None:
    """Write the files of a new season, which fail until they are filled in: the game NAME of YEAR."""
    try:
        today = datetime.now().astimezone().date().isoformat()
        for path in write_skeleton(ROOT, name, year, since or today, title=title, release=release):
            click.echo(path)
    except SkeletonError as error:
        raise click.ClickException(str(error)) from None
    click.echo("`git grep -n NotImplementedError` says what is left to write; docs/adding-a-season.md has the order")
