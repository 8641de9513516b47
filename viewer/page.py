"""The page as files: its folder, one self-contained HTML file that holds a game, and the pages of a match.

The modules in `static/` and those of the games are plain ES modules. A file that is opened by double click cannot load
modules, and from a server thirty of them are thirty requests, so all of them are put into one classic script: each
module becomes a function that returns its exports, in an order in which every module comes after those that it imports.
The pages of a match share that script, which is most of a page; a game is compressed there, and a few lines of script
decompress it first.

Invariants: nothing of a game becomes markup or code: it is JSON, escaped or compressed, and a policy in the head of
each page forbids all scripts but these. The modules use only those forms of `import` and `export` that `_IMPORT` and
`_EXPORT` match, and do not import each other in a circle; anything else raises ValueError, so a test finds it.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from spielleiter.common.files import write_whole
from spielleiter.common.text import escaped
from spielleiter.match.game_folder import REPLAY_PAGE
from spielleiter.viewer.game_details import details_beside
from spielleiter.viewer.game_json import describe_game
from spielleiter.viewer.positions.view import Json
from spielleiter.viewer.replay_files import ReplayFileError, load_replay

_VIEWER: Final = Path(__file__).parent
STATIC: Final = _VIEWER / "static"
"""The folder of the page: index.html, style.css, and the modules, of which main.js is the first."""
GAMES: Final = _VIEWER / "games"
"""A folder for each game, with its board.js and board.css."""
SCRIPT: Final = "replay-page.js"
"""The name of the script that the pages of a match share."""

_MAIN: Final = "static/main.js"
_IMPORT: Final = re.compile(r'^import \{ ([\w, ]+) \} from "(\.[\w./]+)";$', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=(?:async function|function|class|const) (\w+))", re.MULTILINE)
_UNSUPPORTED: Final = re.compile(r"^(?:import|export)\b|\bimport\(|</script|<!--", re.MULTILINE | re.IGNORECASE)
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
    """Return a page with a game that needs no other file and no server."""
    script = bundle_modules(game["game"])
    # `<` cannot end the element early if it is written as an escape, which JSON allows in every string
    data = encode_game(game).decode().replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    body = f'<script type="application/json" id="game">{data}</script>\n<script>{script}</script>'
    return _render(game, f"'sha256-{_digest(script)}'", body)


def render_small_page(game: Json, folder: str) -> bytes:
    """Return a page with a game that loads the shared script from `folder`, a relative path that ends with a slash."""
    packed = base64.b64encode(gzip.compress(encode_game(game), 9, mtime=0)).decode()
    script = html.escape(folder + SCRIPT)
    body = f'<script type="text/plain" id="packed" data-script="{script}">{packed}</script>\n<script>{_LOADER}</script>'
    # 'strict-dynamic' allows the script that the loader adds; the loader itself is allowed by its hash
    return _render(game, f"'sha256-{_digest(_LOADER)}' 'strict-dynamic'", body)


def _render(game: Json, scripts: str, body: str) -> bytes:
    style = bundle_styles(game["game"])
    policy = (
        f"default-src 'none'; script-src {scripts}; style-src 'sha256-{_digest(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(escaped(game['title']))}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f"{body}\n</body>\n</html>\n"
    ).encode()


def write_match_pages(folder: Path, replays: Iterable[str]) -> Iterator[str]:
    """Write the missing pages of a match, and yield the path of each replay when its page exists.

    Pages that exist are kept, so that a resumed match makes only those of its new games. A replay that cannot be read
    has no page, which is no error of the match.

    - `folder`: the folder of the match.
    - `replays`: the paths of the replays, relative to that folder, with slashes.

    Raises OSError if a file cannot be written.
    """
    has_script = False
    for name in replays:
        replay = folder / name
        page = replay.with_name(REPLAY_PAGE)
        if not page.exists():
            try:
                game = describe_game(load_replay(replay), details_beside(replay))
            except ReplayFileError:
                continue
            if not has_script:
                write_whole(folder / SCRIPT, bundle_modules(game["game"]).encode())
                has_script = True
            write_whole(page, render_small_page(game, "../" * name.count("/")))
        yield name


def bundle_styles(game: str = "*") -> str:
    """Return the style sheet of the page, with what one `game` adds to it, or every game."""
    sheets = [STATIC / "style.css", *sorted(GAMES.glob(f"{game}/board.css"))]
    return "".join(sheet.read_text(encoding="utf-8") for sheet in sheets)


def bundle_modules(game: str = "*", folder: Path = _VIEWER) -> str:
    """Return all modules that the page needs as one classic script.

    - `game`: the name of the only game whose board it draws; by default, it draws those of all games.
    - `folder`: where the folders `static` and `games` are.

    Raises ValueError for a form of import or export that is not supported, and for modules that import each other.
    """
    functions: dict[str, str] = {}  # by the module's path, in the order of the imports
    for board in sorted(folder.glob(f"games/{game}/board.js")):
        _add_module(folder, board.relative_to(folder).as_posix(), functions, ())
    _add_module(folder, _MAIN, functions, ())
    body = "\n".join(functions.values())
    return f'"use strict";\n(() => {{\nconst modules = {{}};\n{body}\n}})();\n'


def _add_module(folder: Path, name: str, functions: dict[str, str], importers: tuple[str, ...]) -> None:
    def path(target: str) -> str:
        return posixpath.normpath(posixpath.join(posixpath.dirname(name), target))

    if name in functions:
        return
    if name in importers:
        raise ValueError(f"modules import each other: {' -> '.join((*importers, name))}")
    source = (folder / name).read_text(encoding="utf-8")
    for imported in _IMPORT.finditer(source):
        _add_module(folder, path(imported[2]), functions, (*importers, name))
    code = _IMPORT.sub(lambda found: f'const {{ {found[1]} }} = modules["{path(found[2])}"];', source)
    exports = ", ".join(found[1] for found in _EXPORT.finditer(code))
    code = _EXPORT.sub("", code)
    if unsupported := _UNSUPPORTED.search(code):
        line = source.count("\n", 0, source.find(unsupported[0])) + 1
        raise ValueError(f"{name}, line {line}: {unsupported[0]!r} cannot be put into one script")
    functions[name] = f'modules["{name}"] = (() => {{\n{code}return {{ {exports} }};\n}})();'


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
