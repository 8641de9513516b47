"""A game as a file to keep: one page that holds everything, a picture of a position, or an animation.

`python -m spielleiter.viewer.exports FORM [PLY]` reads the JSON object of a game from its standard input and writes the
file to its standard output. The pages run it, so that drawing takes neither their time nor their memory. Its exit code
is 3 if Pillow is missing.
"""

from __future__ import annotations

import json
import sys
from typing import Final

from spielleiter.viewer.positions.view import Json

FORMS: Final = ("html", "png", "gif")
INSTALL_PICTURES: Final = "pip install 'spielleiter[pictures]'"
"""The command that installs what pictures need."""
PICTURES_MISSING: Final = 3
"""The exit code if it is not installed."""


class PicturesMissingError(Exception):
    """Pictures need Pillow, which is an extra. The text is the reason why it cannot be imported."""


def export_game(game: Json, form: str, ply: int = -1) -> bytes:
    """Return `game` as a file of this form.

    - `form`: one of `FORMS`.
    - `ply`: for ``png``, the position after this number of moves; negative numbers count from the end.

    Raises PicturesMissingError if the form needs Pillow and it is not installed.
    """
    if form == "html":
        from spielleiter.viewer.page import render_page

        return render_page(game)
    try:
        from spielleiter.viewer.pictures import render_gif, render_png
    except ImportError as error:
        raise PicturesMissingError(str(error)) from None
    return render_gif(game) if form == "gif" else render_png(game, ply)


def main() -> None:
    """Read a game and write a file."""
    form, *plies = sys.argv[1:]
    try:
        content = export_game(json.load(sys.stdin.buffer), form, *map(int, plies))
    except PicturesMissingError:
        sys.exit(PICTURES_MISSING)
    sys.stdout.buffer.write(content)


if __name__ == "__main__":
    main()
