"""The page as files, and as one self-contained HTML file that holds a game.

The modules in `static/` are plain ES modules, which a browser loads one by one from a server. A file that is opened by
double click cannot load modules, so `standalone_page` puts all of them into one classic script: each module becomes a
function that returns its exports, in an order in which every module comes after those that it imports.

Invariants: the modules use only those forms of `import` and `export` that `_IMPORT` and `_EXPORT` match, and do not
import each other in a circle; anything else raises ValueError, so a test finds it. Nothing of the game becomes markup
or code.
"""

from __future__ import annotations

import base64
import hashlib
import html
import posixpath
import re
from pathlib import Path
from typing import Final

STATIC: Final = Path(__file__).parent / "static"
"""The folder of the page: index.html, style.css, and the modules, of which main.js is the first."""

_MAIN: Final = "main.js"
_IMPORT: Final = re.compile(r'^import \{ ([\w, ]+) \} from "(\.[\w./]+)";$', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=(?:async function|function|class|const) (\w+))", re.MULTILINE)
_UNSUPPORTED: Final = re.compile(r"^(?:import|export)\b|\bimport\(|</script|<!--", re.MULTILINE | re.IGNORECASE)


def standalone_page(game_json: bytes, *, title: str, language: str = "en") -> bytes:
    """Return a page that needs no other file and no server, as UTF-8.

    - `game_json`: the `game` that it shows, as UTF-8.
    - `title`: the title of the page until its script runs.
    - `language`: of the title; the page itself speaks the language of the browser.
    """
    script = bundle_modules()
    style = (STATIC / "style.css").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; script-src 'sha256-{_digest(script)}'; style-src 'sha256-{_digest(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    # `<` cannot end the element early if it is written as an escape, which JSON allows in every string
    data = game_json.decode().replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return (
        f'<!doctype html>\n<html lang="{html.escape(language)}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f'<script type="application/json" id="game">{data}</script>\n<script>{script}</script>\n</body>\n</html>\n'
    ).encode()


def bundle_modules(folder: Path = STATIC) -> str:
    """Return all modules that main.js in `folder` needs as one classic script.

    Raises ValueError for a form of import or export that is not supported, and for modules that import each other.
    """
    functions: dict[str, str] = {}  # by the module's path, in the order of the imports
    _add_module(folder, _MAIN, functions, ())
    body = "\n".join(functions.values())
    return f'"use strict";\n(() => {{\nconst modules = {{}};\n{body}\n}})();\n'


def _add_module(folder: Path, name: str, functions: dict[str, str], importers: tuple[str, ...]) -> None:
    if name in functions:
        return
    if name in importers:
        raise ValueError(f"modules import each other: {' -> '.join((*importers, name))}")
    source = (folder / name).read_text(encoding="utf-8")
    for imported in _IMPORT.finditer(source):
        _add_module(folder, _path(name, imported[2]), functions, (*importers, name))
    code = _IMPORT.sub(lambda found: f"const {{ {found[1]} }} = modules[{_quoted(_path(name, found[2]))}];", source)
    exports = ", ".join(found[1] for found in _EXPORT.finditer(code))
    code = _EXPORT.sub("", code)
    if unsupported := _UNSUPPORTED.search(code):
        line = source.count("\n", 0, source.find(unsupported[0])) + 1
        raise ValueError(f"{name}, line {line}: {unsupported[0]!r} is not supported in an exported page")
    functions[name] = f"modules[{_quoted(name)}] = (() => {{\n{code}return {{ {exports} }};\n}})();"


def _path(importer: str, target: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(importer), target))


def _quoted(name: str) -> str:
    return f'"{name}"'


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
