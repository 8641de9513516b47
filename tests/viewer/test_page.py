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
    GAMES,
    SCRIPT,
    STATIC,
    bundle_modules,
    render_page,
    render_small_page,
    write_match_pages,
)
from tests.viewer.replay_files import described, played, record_of, replay_of

EVIL = "</script><script>alert(1)</script><!--\"'& \u2028 \U0001f600 \ud800 \\u003c"


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
    (folder / "static").mkdir()
    for name, source in modules.items():
        (folder / "static" / f"{name}.js").write_text(source, encoding="utf-8")
    return folder


def test_every_module_of_the_page_is_in_the_script() -> None:
    script = bundle_modules()
    for path in (*STATIC.rglob("*.js"), *GAMES.rglob("*.js")):
        name = path.relative_to(STATIC.parent).as_posix()
        assert f'modules["{name}"] = ' in script, f"{name} is imported by no module"
    assert not re.search(r"^(?:import|export)\b", script, re.MULTILINE)


def test_a_module_comes_after_those_that_it_imports(tmp_path: Path) -> None:
    write(
        tmp_path,
        main='import { b } from "./b.js";\nimport { a } from "./a.js";\nb(a);\n',
        b='import { a, c } from "./a.js";\n\nexport function b() {\n  return a + c;\n}\n',
        a="export const a = 1;\nexport const c = 2;\n",
    )
    script = bundle_modules(folder=tmp_path)
    assert re.findall(r'^modules\["static/(.*)\.js"\] = ', script, re.MULTILINE) == ["a", "b", "main"]
    for line in ('const { a, c } = modules["static/a.js"];', "return { b };", "return { a, c };"):
        assert line in script


@pytest.mark.parametrize(
    ("line", "error"),
    [
        *(
            (line, r"main\.js, line 2: .* cannot be put into one script")
            for line in (
                'import a from "./a.js";',
                'import * as a from "./a.js";',
                'import { a } from "https://example.org/a.js";',
                "export default 1;",
                "export { a };",
                'const a = await import("./a.js");',
                'const a = "</script>";',
                "const a = '<!--';",
            )
        ),
        ('import { m } from "./main.js";', r"main\.js -> static/main\.js"),
    ],
)
def test_other_forms_and_circles_are_refused(line: str, error: str, tmp_path: Path) -> None:
    write(tmp_path, main=f"const x = 1;\n{line}\n", a="export const a = 1;\n")
    with pytest.raises(ValueError, match=error):
        bundle_modules(folder=tmp_path)


def test_a_game_stays_data_and_the_policy_allows_the_own_script_and_style_only() -> None:
    game = {"game": "blokus", "title": "<b>&\"'", "players": [{"name": EVIL}]}
    elements = Elements(render_page(game)).found
    (data, script) = [(attributes, text) for tag, attributes, text in elements if tag == "script"]
    assert (data[0], script[0]) == ({"type": "application/json", "id": "game"}, {})
    assert json.loads(data[1]) == game
    texts = {tag: text for tag, _, text in elements if tag in {"title", "style"}}
    assert texts["title"] == "<b>&\"'"
    policy = next(attributes["content"] or "" for tag, attributes, _ in elements if "http-equiv" in attributes)
    for name, text in (("script", script[1]), ("style", texts["style"])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy


@pytest.mark.slow
def test_a_small_page_holds_the_compressed_game() -> None:
    edition = EDITIONS["blokus-2027"]
    game = described(edition, record_of(edition, played(edition), (EVIL, "Berta")), "a.xml")
    page = render_small_page(game, "../../")
    assert len(page) < 60_000
    packed = next(
        (attributes, text) for _, attributes, text in Elements(page).found if attributes.get("id") == "packed"
    )
    assert packed[0]["data-script"] == f"../../{SCRIPT}"
    assert json.loads(gzip.decompress(base64.b64decode(packed[1]))) == game
    assert b"<script>alert" not in page


def match_with(folder: Path, *contents: bytes) -> tuple[list[str], list[Path]]:
    """Write the replays of a match; return their names and where their pages would be."""
    names = [f"games/{number:04d}/{REPLAY}" for number, _ in enumerate(contents, 1)]
    for name, content in zip(names, contents, strict=True):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_bytes(content)
    return names, [(folder / name).with_name(REPLAY_PAGE) for name in names]


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_page_is_made_beside_each_replay_that_can_be_read(tmp_path: Path) -> None:
    good = gzip.compress(replay_of("blokus-2027", plies=2))
    names, pages = match_with(tmp_path, good, b"damaged", good)
    assert list(write_match_pages(tmp_path, names)) == [names[0], names[2]]
    assert [page.exists() for page in pages] == [True, False, True]
    assert b'data-script="../../' in pages[0].read_bytes()
    assert files_in(tmp_path) == sorted([SCRIPT, *[REPLAY_PAGE] * 2, *[REPLAY] * 3])
    (tmp_path / SCRIPT).unlink()
    pages[0].write_text("mine")  # a page that exists is kept
    assert list(write_match_pages(tmp_path, names)) == [names[0], names[2]]
    assert (pages[0].read_text(), (tmp_path / SCRIPT).exists()) == ("mine", False)


def test_a_page_that_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names, _ = match_with(tmp_path, replay_of("blokus-2027", plies=1))

    def fail(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        list(write_match_pages(tmp_path, names))
    assert files_in(tmp_path) == [REPLAY]
