"""Pages with a game: data never becomes markup; the pages of a match are small and share their script."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html.parser
import json
import re
from pathlib import Path

import pytest

from spielleiter.match.game_folder import REPLAY, REPLAY_PAGE
from spielleiter.server.editions import EDITIONS
from spielleiter.viewer.page import (
    PAGE,
    SCRIPT,
    STATIC,
    bundle_modules,
    encode_game,
    render_page,
    render_small_page,
    write_match_pages,
)
from spielleiter.viewer.positions.view import Json
from tests.viewer.replay_files import described, played, record_of, replay_of


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
    game = {"game": "blokus", "title": "<b>&\"'", "players": [{"name": hostile}]}
    page = render_page(game)
    elements = Elements(page)
    scripts = [(attributes, text) for tag, attributes, text in elements.found if tag == "script"]
    assert [attributes for attributes, _ in scripts] == [{"type": "application/json", "id": "game"}, {}]
    assert json.loads(scripts[0][1]) == game
    assert next(text for tag, _, text in elements.found if tag == "title") == "<b>&\"'"


def test_the_policy_of_the_page_allows_its_own_script_and_style_only() -> None:
    elements = Elements(render_page({"title": "A game"})).found
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


EVIL = "</script><script>alert(1)</script><!--\"'&\u2028\ud800"
EDITION = EDITIONS["blokus-2027"]


def game_of(plies: int = 3, name: str = EVIL) -> Json:
    return described(EDITION, record_of(EDITION, played(EDITION, plies=plies), (name, "Berta")), "a.xml")


def element(page: bytes, name: str) -> str:
    found = re.search(rf'<script[^>]* id="{name}"[^>]*>(.*?)</script>', page.decode(), re.DOTALL)
    assert found is not None
    return found[1]


def test_a_page_of_its_own_holds_the_game_and_no_markup_of_strangers() -> None:
    page = render_page(game_of())
    assert json.loads(element(page, "game"))["players"][0]["name"] == EVIL
    assert b"alert(1)</script>" not in page
    assert b"<script>alert" not in page
    assert b"default-src &#x27;none&#x27;" in page
    assert b'src="' not in page


def test_a_small_page_holds_the_compressed_game() -> None:
    page = render_small_page(game_of(), "../../")
    packed = element(page, "packed")
    assert json.loads(gzip.decompress(base64.b64decode(packed)))["players"][1]["name"] == "Berta"
    assert f'data-script="../../{SCRIPT}"'.encode() in page
    assert b"alert(1)</script>" not in page
    assert b"<script>alert" not in page


@pytest.mark.slow
def test_a_whole_game_of_a_match_takes_less_than_60_kilobytes() -> None:
    for seed in range(3):
        states = played(EDITION, seed)
        page = render_small_page(described(EDITION, record_of(EDITION, states), "replay.xml.gz"), "../../")
        assert len(page) < 60_000


def test_characters_that_cannot_be_encoded_become_escapes() -> None:
    assert json.loads(encode_game({"hint": "a\ud800b"})) == {"hint": "a\ud800b"}


def match_with(folder: Path, *contents: bytes) -> list[str]:
    names = []
    for number, content in enumerate(contents, 1):
        name = f"games/{number:04d}/{REPLAY}"
        path = folder / name
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
        names.append(name)
    return names


def test_a_page_is_made_beside_each_replay_that_can_be_read(tmp_path: Path) -> None:
    good = gzip.compress(replay_of("blokus-2027", plies=2))
    names = match_with(tmp_path, good, b"damaged", good)
    assert list(write_match_pages(tmp_path, names)) == [names[0], names[2]]
    pages = [(tmp_path / name).with_name(PAGE) for name in names]
    assert [page.exists() for page in pages] == [True, False, True]
    assert (tmp_path / SCRIPT).exists()
    assert b'data-script="../../' in pages[0].read_bytes()
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == sorted(
        [SCRIPT, PAGE, PAGE, REPLAY, REPLAY, REPLAY]
    )


def test_a_page_that_exists_is_kept(tmp_path: Path) -> None:
    names = match_with(tmp_path, replay_of("blokus-2027", plies=1))
    page = (tmp_path / names[0]).with_name(PAGE)
    page.write_text("mine")
    assert list(write_match_pages(tmp_path, names)) == names
    assert page.read_text() == "mine"
    assert not (tmp_path / SCRIPT).exists()


def test_a_page_that_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = match_with(tmp_path, replay_of("blokus-2027", plies=1))

    def fail(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        list(write_match_pages(tmp_path, names))
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [REPLAY]


def test_the_name_of_the_page_is_the_one_that_the_report_links_to() -> None:
    assert PAGE == REPLAY_PAGE
