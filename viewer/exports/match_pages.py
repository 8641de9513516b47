"""The pages of a match: one beside each kept replay, and the script that they share in the folder of the match.

Invariants: a page is written completely or not at all. A replay that cannot be read has no page, which is no error of
the match. Pages that exist already are kept, so that a resumed match makes only those of its new games.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from spielleiter.common.files import write_whole
from spielleiter.viewer.exports.html import SCRIPT, render_shared_script, render_small_page
from spielleiter.viewer.replays.details import details_beside
from spielleiter.viewer.replays.errors import ReplayFileError
from spielleiter.viewer.replays.game import describe_game
from spielleiter.viewer.replays.reading import load_replay

PAGE: Final = "replay.html"


def write_match_pages(folder: Path, replays: Iterable[str]) -> Iterator[str]:
    """Write the missing pages of a match, and yield the path of each replay when its page exists.

    - `folder`: the folder of the match.
    - `replays`: the paths of the replays, relative to that folder, with slashes.

    Raises OSError if a file cannot be written.
    """
    has_script = False
    for name in replays:
        replay = folder / name
        page = replay.with_name(PAGE)
        if not page.exists():
            try:
                game = describe_game(load_replay(replay), details_beside(replay))
            except ReplayFileError:
                continue
            if not has_script:
                write_whole(folder / SCRIPT, render_shared_script())
                has_script = True
            write_whole(page, render_small_page(game, "../" * name.count("/")))
        yield name
