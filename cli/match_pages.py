"""The pages of the replays of a match or a tournament, which its reports link to: the option, and making them.

They are made after the games, so they cost no game time.

Invariants: a page that cannot be made is no failure of the match: one line says why, and the report links to the
replay's file instead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from spielleiter.cli.commands import print_line
from spielleiter.cli.decorated import Decorated

if TYPE_CHECKING:
    from spielleiter.match.records import GameRecord

PAGE_CHOICES: Final = ("auto", "all", "failed", "none")
"""The values of the option `--pages`."""
FEW_GAMES: Final = 20
"""The most games of a match or a tournament for which `auto` means all.

A page takes about a fifth of a second and 30 kB, which is several times what a game of quick programs costs.
"""
_MANY: Final = 20
"""The number of pages from which the command says what it is waiting for."""


def pages_option(command: Decorated) -> Decorated:
    """Decorate a command with the option `--pages`."""
    return click.option(
        "--pages",
        type=click.Choice(PAGE_CHOICES),
        default=PAGE_CHOICES[0],
        show_default=True,
        help="Which kept games get a page that shows the replay in a browser: all, none, those in which something went "
        f"wrong (failed), or auto, which means all for up to {FEW_GAMES} games and failed for more.",
    )(command)


def write_pages(
    matches: Mapping[Path, Collection[GameRecord]], choice: str = "auto", command: str = "match"
) -> list[Path]:
    """Make the missing pages of kept replays. Return the folders of the matches in which a game should have a page.

    - `matches`: the records of each match, by its folder.
    - `choice`: one of PAGE_CHOICES.
    - `command`: the command that makes missing pages later, with `--resume`.

    Ctrl-C leaves out the pages that are missing.
    """
    from spielleiter.common.errors import os_error_text
    from spielleiter.viewer.exports.match_pages import PAGE, write_match_pages

    if choice == "auto":
        choice = "all" if sum(map(len, matches.values())) <= FEW_GAMES else "failed"
    replays = {folder: chosen for folder, records in matches.items() if (chosen := _chosen(records, choice))}
    missing = sum(
        not (folder / replay).with_name(PAGE).exists() for folder, names in replays.items() for replay in names
    )
    if missing >= _MANY:
        print_line(f"making the pages of {missing} replays; Ctrl-C leaves out the rest", err=True)
    try:
        for folder, names in replays.items():
            for _ in write_match_pages(folder, names):
                pass
    except KeyboardInterrupt:
        print_line(f"left out; `{command} --resume` makes the missing pages", err=True)
    except OSError as error:
        print_line(f"pages of the replays: {os_error_text(error)}", err=True)
    return list(replays)


def _chosen(records: Iterable[GameRecord], choice: str) -> list[str]:
    """Return the paths of the replays that should have a page, relative to the folder of their match."""
    from spielleiter.match.verdict import Verdict

    return [
        f"{record.folder}/{record.replay}"
        for record in sorted(records, key=lambda record: record.game)
        if record.folder and record.replay
        if choice == "all" or (choice == "failed" and record.verdict != Verdict.REGULAR)
    ]
