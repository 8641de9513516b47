"""The page in a single file: the order of the modules, what is refused, and what a game can never become."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import json
import re
from pathlib import Path

import pytest

from spielleiter.viewer.page import STATIC, bundle_modules, standalone_page


class Elements(html.parser.HTMLParser):
    """The elements of a page with the text inside each."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], str]] = []
        self.feed(page.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        self.found.append((f"/{tag}", {}, ""))  # what follows is outside

    def handle_data(self, data: str) -> None:
        if self.found:
            tag, attributes, text = self.found[-1]
            self.found[-1] = tag, attributes, text + data


def write(folder: Path, **modules: str) -> Path:
    for name, source in modules.items():
        (folder / f"{name}.js").write_text(source, encoding="utf-8")
    return folder


def test_every_module_of_the_page_is_in_the_script() -> None:
    script = bundle_modules()
    for path in STATIC.rglob("*.js"):
        assert f'modules["{path.relative_to(STATIC).as_posix()}"] = ' in script, f"{path.name} is imported by no module"
    assert not re.search(r"^(?:import|export)\b", script, re.MULTILINE)


def test_a_module_comes_after_those_that_it_imports(tmp_path: Path) -> None:
    write(
        tmp_path,
        main='import { b } from "./b.js";\nimport { a } from "./a.js";\nb(a);\n',
        b='import { a, c } from "./a.js";\n\nexport function b() {\n  return a + c;\n}\n',
        a="export const a = 1;\nexport const c = 2;\n",
    )
    script = bundle_modules(tmp_path)
    assert [script.index(f'modules["{name}.js"] = ') for name in "ab"] == sorted(
        script.index(f'modules["{name}.js"] = ') for name in "ab"
    )
    assert 'const { a, c } = modules["a.js"];' in script
    assert "return { b };" in script
    assert "return { a, c };" in script
    assert script.index('modules["b.js"] = ') < script.index('modules["main.js"] = ')


def test_modules_that_import_each_other_are_refused(tmp_path: Path) -> None:
    write(
        tmp_path, main='import { a } from "./a.js";\na();\n', a='import { m } from "./main.js";\nexport const a = m;\n'
    )
    with pytest.raises(ValueError, match=r"main\.js -> a\.js -> main\.js"):
        bundle_modules(tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        'import a from "./a.js";',
        'import * as a from "./a.js";',
        'import { a } from "https://example.org/a.js";',
        "export default 1;",
        "export { a };",
        'const a = await import("./a.js");',
        'const a = "</script>";',
        "const a = '<!--';",
    ],
)
def test_other_forms_are_refused(line: str, tmp_path: Path) -> None:
    write(tmp_path, main=f"const x = 1;\n{line}\n", a="export const a = 1;\n")
    with pytest.raises(ValueError, match=r"main\.js, line 2: .* is not supported"):
        bundle_modules(tmp_path)


def test_a_game_stays_data() -> None:
    hostile = "</script><script>alert(1)</script><!-- \u2028 \U0001f600 \\u003c"
    game = {"game": "blokus", "players": [{"name": hostile}]}
    page = standalone_page(json.dumps(game, ensure_ascii=False).encode(), title="<b>&\"'")
    elements = Elements(page)
    scripts = [(attributes, text) for tag, attributes, text in elements.found if tag == "script"]
    assert [attributes for attributes, _ in scripts] == [{"type": "application/json", "id": "game"}, {}]
    assert json.loads(scripts[0][1]) == game
    assert next(text for tag, _, text in elements.found if tag == "title") == "<b>&\"'"


def test_the_policy_of_the_page_allows_its_own_script_and_style_only() -> None:
    elements = Elements(standalone_page(b"{}", title="A game")).found
    policy = next(
        attributes["content"] or "" for tag, attributes, _ in elements if tag == "meta" and "http-equiv" in attributes
    )
    digest = {
        tag: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for tag, attributes, text in elements
        if tag in {"script", "style"} and not attributes
    }
    assert f"script-src 'sha256-{digest['script']}';" in policy
    assert f"style-src 'sha256-{digest['style']}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
