"""The configuration of Sphinx, which makes the documents a site: `make docs`.

The sources are the files as they lie in the repository, so that their links work there as well. Links to other files of
the repository (a script, the licence) become downloads. docs/generated_parts.py fills in what is made from the code.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # for docs.generated_parts

project = "spielleiter"
copyright = "the authors of spielleiter"  # noqa: A001 - Sphinx's name
release = version = installed_version(project)
language = "en"

root_doc = "docs/index"
include_patterns = ["README.md", "README.de.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**"]
exclude_patterns = ["**/.*", "docs/*.py", "build", "node_modules"]
extensions = ["myst_parser"]
nitpicky = True
smartquotes = False  # it would make a dash of the two hyphens of an option

myst_heading_anchors = 4  # the levels of headings that a link can name, by the words that GitHub makes of them
myst_links_external_new_tab = False

html_theme = "furo"
html_title = "spielleiter"
html_copy_source = False
html_show_sourcelink = False
html_permalinks_icon = "#"
html_additional_pages = {"index": "start.html"}
templates_path = ["templates"]

linkcheck_timeout = 20
linkcheck_workers = 4
linkcheck_ignore = [r"https?://(127\.|192\.168\.|localhost\b|\[::1\])"]  # examples of addresses


_FETCHED: Final = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\ssrc=["'](?:https?:)?//[^"']+"""
    r"""|<link\b(?![^>]*rel=["'](?:canonical|next|prev)["'])[^>]*\shref=["'](?:https?:)?//[^"']+"""
    r"""|(?:url\(|@import\s)["'\s]*(?:https?:)?//[^"')\s]+"""
)
"""What is fetched from another host. Links, which a browser follows only on a click, are none of it."""


def fetched_from_elsewhere(text: str) -> list[str]:
    """Return what a browser that shows `text`, a page or a style sheet, would fetch from other hosts."""
    return _FETCHED.findall(text)


def _expand(_app: Any, _name: str, source: list[str]) -> None:
    from docs.generated_parts import expand

    source[0] = expand(source[0])


def _made_from_the_code(_app: Any, env: Any, *_changes: object) -> list[str]:
    """Return the documents to read again although their files have not changed."""
    return [name for name in env.found_docs if name.startswith("docs/reference/")]


def _name_the_language(_app: Any, name: str, _template: str, context: dict[str, Any], _doctree: object) -> None:
    if name.startswith("docs/de/") or name == "README.de":
        context["language"] = "de"


def _refuse_foreign_hosts(app: Any, exception: Exception | None) -> None:
    """Raise ExtensionError if a page fetches something from another host, which would learn who reads it."""
    from sphinx.errors import ExtensionError

    if exception is not None or app.builder.name != "html":
        return
    for file in sorted(Path(app.outdir).rglob("*")):
        if file.suffix in {".html", ".css"}:
            for found in fetched_from_elsewhere(file.read_text(encoding="utf-8")):
                raise ExtensionError(f"{file}: fetches something from another host: {found}")


def setup(app: Any) -> None:
    """Fill in what is made from the code, and check the pages that were built; called by Sphinx."""
    app.connect("source-read", _expand)
    app.connect("env-get-outdated", _made_from_the_code)
    app.connect("html-page-context", _name_the_language)
    app.connect("build-finished", _refuse_foreign_hosts)
