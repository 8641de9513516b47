"""Pages with a game: data never becomes markup, and the pages of a match are small and share their script."""

from __future__ import annotations

import base64
import gzip
import json
import re

import pytest

from spielleiter.server.editions import EDITIONS
from spielleiter.viewer.exports.html import SCRIPT, encode_game, render_page, render_shared_script, render_small_page
from spielleiter.viewer.page import bundle_modules
from spielleiter.viewer.positions.view import Json
from spielleiter.viewer.replays.game import describe_record
from tests.viewer.replay_files import played, record_of

EVIL = "</script><script>alert(1)</script><!--\"'&\u2028\ud800"
EDITION = EDITIONS["blokus-2027"]


def game_of(plies: int = 3, name: str = EVIL) -> Json:
    return describe_record(EDITION, record_of(EDITION, played(EDITION, plies=plies), (name, "Berta")), "a.xml")


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
    assert render_shared_script() == bundle_modules().encode()


@pytest.mark.slow
def test_a_whole_game_of_a_match_takes_less_than_60_kilobytes() -> None:
    for seed in range(3):
        states = played(EDITION, seed)
        page = render_small_page(describe_record(EDITION, record_of(EDITION, states), "replay.xml.gz"), "../../")
        assert len(page) < 60_000


def test_characters_that_cannot_be_encoded_become_escapes() -> None:
    assert json.loads(encode_game({"hint": "a\ud800b"})) == {"hint": "a\ud800b"}
