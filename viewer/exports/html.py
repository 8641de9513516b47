"""A game as a page for a browser: one self-contained file, or a small page that shares its script with other games.

The pages of a match share the script, which is most of a page, so that each game needs little space. The game itself is
compressed, and a few lines of script in the page decompress it and then load the shared script. Both work without a
server, when a file is opened by double click.

Invariants: nothing of a game becomes markup or code: it is JSON, escaped or compressed. A policy in the head of the
page forbids all scripts but those that are known here.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
from typing import Final

from spielleiter.common.text import escaped
from spielleiter.viewer.page import STATIC, bundle_modules, standalone_page
from spielleiter.viewer.positions.view import Json

SCRIPT: Final = "replay-page.js"
"""The name of the script that the pages of a match share."""

_LOADER: Final = """
const bytes = Uint8Array.from(atob(document.getElementById("packed").textContent), (char) => char.charCodeAt(0));
const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
new Response(stream).text().then((text) => {
  const data = document.createElement("script");
  data.type = "application/json";
  data.id = "game";
  data.textContent = text;
  const page = document.createElement("script");
  page.src = document.getElementById("packed").dataset.script;
  document.body.append(data, page);
});
"""


def encode_game(game: Json) -> bytes:
    """Return a game as compact JSON in UTF-8."""
    # a lone surrogate, which a hint or an output may contain, becomes an escape
    text = json.dumps(game, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


def render_page(game: Json) -> bytes:
    """Return a page with a game that needs no other file."""
    return standalone_page(encode_game(game), title=_title(game))


def render_shared_script() -> bytes:
    """Return the script of the pages that `render_small_page` makes."""
    return bundle_modules().encode()


def render_small_page(game: Json, folder: str) -> bytes:
    """Return a page with a game that loads the shared script from `folder`, a relative path that ends with a slash."""
    style = (STATIC / "style.css").read_text(encoding="utf-8")
    # 'strict-dynamic' allows the script that the loader adds; the loader itself is allowed by its hash
    policy = (
        f"default-src 'none'; script-src 'sha256-{_digest(_LOADER)}' 'strict-dynamic'; "
        f"style-src 'sha256-{_digest(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    packed = base64.b64encode(gzip.compress(encode_game(game), 9, mtime=0)).decode()
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(_title(game))}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f'<script type="text/plain" id="packed" data-script="{html.escape(folder + SCRIPT)}">{packed}</script>\n'
        f"<script>{_LOADER}</script>\n</body>\n</html>\n"
    ).encode()


def _title(game: Json) -> str:
    return escaped(game["title"])


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
