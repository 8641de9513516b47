"""The pages of a match's replays, which its report links to. They are made after the games, so they cost no game time.

Invariants: a page that cannot be made is no failure of the match: one line says why, and the report links to the
replay's file instead.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Final

from spielleiter.cli.commands import print_line

if TYPE_CHECKING:
    from spielleiter.match.records.game_record import GameRecord

PAGE_CHOICES: Final = ("auto", "all", "failed", "none")
"""The values of the option `--pages`."""
FEW_GAMES: Final = 20
"""The most games of a match in which `auto` means all.

A page takes about a fifth of a second and 30 kB, which is several times what a game of quick programs costs.
"""
_MANY: Final = 20
"""The number of pages from which the command says what it is waiting for."""


def write_pages(folder: Path, records: Collection[GameRecord], choice: str = "auto") -> bool:
    """Make the missing pages of kept replays in the folder of a match. Return whether there is any page.

    `choice` is one of PAGE_CHOICES. Ctrl-C leaves out the pages that are missing.
    """
    from spielleiter.match.records.game_record import Verdict
    from spielleiter.server.errors import os_error_text
    from spielleiter.viewer.exports.match_pages import PAGE, write_match_pages

    if choice == "auto":
        choice = "all" if len(records) <= FEW_GAMES else "failed"
    games = sorted(records, key=lambda record: record.game)
    replays = [
        f"{record.folder}/{record.replay}"
        for record in games
        if record.folder and record.replay
        if choice == "all" or (choice == "failed" and record.verdict != Verdict.REGULAR)
    ]
    missing = sum(1 for replay in replays if not (folder / replay).with_name(PAGE).exists())
    if missing >= _MANY:
        print_line(f"making the pages of {missing} replays; Ctrl-C leaves out the rest", err=True)
    try:
        for _ in write_match_pages(folder, replays):
            pass
    except KeyboardInterrupt:
        print_line("left out; `match --resume` makes the missing pages", err=True)
    except OSError as error:
        print_line(f"pages of the replays: {os_error_text(error)}", err=True)
    return bool(replays)
