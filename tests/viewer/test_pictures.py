"""Pictures: every cell has its colour, an animation has every position, and hostile texts do no harm."""

from __future__ import annotations

import io
from itertools import product

import pytest
from PIL import Image

from spielleiter.game.blokus import SetMove
from spielleiter.game.blokus.pieces import Color, Rotation, Shape
from spielleiter.server.editions import EDITIONS
from spielleiter.viewer.games.blokus.picture import CELL, EDGE
from spielleiter.viewer.pictures import render_gif, render_png
from spielleiter.viewer.positions.view import Json
from tests.viewer.replay_files import described, played, record_of, refused_record

BLOKUS = EDITIONS["blokus-2027"]


def game_of(name: str = "blokus-2027", plies: int = 12, names: tuple[str, str] = ("Anton", "Berta")) -> Json:
    edition = EDITIONS[name]
    return described(edition, record_of(edition, played(edition, plies=plies), names), "a.xml")


def opened(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content))


def color_at(image: Image.Image, x: int, y: int, inside: int = 2) -> object:
    """The colour of a cell of Blokus, that many pixels from its corner."""
    return image.convert("RGB").getpixel(((EDGE + x) * CELL + inside, (EDGE + y) * CELL + inside))


def test_every_cell_of_the_board_has_its_colour_in_every_position() -> None:
    game = game_of()
    pictures = [render_png(game, ply) for ply in range(13)]
    assert len(set(pictures)) == 13
    assert render_png(game) == pictures[-1]
    image = opened(pictures[-1])
    assert image.format == "PNG"
    cells = game["positions"][12]["board"]["cells"]
    found = {(cells[20 * y + x], color_at(image, x, y)) for x, y in product(range(20), repeat=2)}
    assert {letter for letter, _ in found} == set("BYRG.")
    assert len({color for _, color in found}) == len(found) == 5


@pytest.mark.slow
@pytest.mark.parametrize(("name", "plies"), [("blokus-2027", 6), ("hase-und-igel-2018", 6), ("blokus-2027", 0)])
def test_an_animation_has_every_position(name: str, plies: int) -> None:
    game = game_of(name, plies)
    image = opened(render_gif(game))
    assert image.format == "GIF"
    assert getattr(image, "n_frames") == plies + 1  # noqa: B009 - the type of an opened image does not say so
    for ply in range(plies + 1):
        image.seek(ply)
        assert image.convert("RGB").tobytes() == opened(render_png(game, ply)).convert("RGB").tobytes()
    assert image.info.get("loop", 0) == 0


def test_an_illegal_move_is_drawn_where_it_was_put() -> None:
    states = played(BLOKUS, plies=4)
    move = SetMove(Color.BLUE, Shape.PENTO_I, Rotation.RIGHT, is_flipped=False, x=17, y=9)
    game = described(BLOKUS, refused_record(BLOKUS, states, move), "")
    image, before = opened(render_png(game)), opened(render_png({**game, "end": None}))
    outline = color_at(image, 17, 9)
    for x in range(17, 22):  # the last two are outside of the board, and crossed out
        assert color_at(image, x, 9) == outline != color_at(before, x, 9)
        assert (color_at(image, x, 9, CELL // 2) == outline) == (x >= 20)
    far = SetMove(Color.BLUE, Shape.PENTO_I, Rotation.RIGHT, is_flipped=False, x=2**31 - 1, y=-(2**31))
    render_png(described(BLOKUS, refused_record(BLOKUS, states, far), ""))


def test_a_game_without_a_drawing_is_a_table() -> None:
    game = {**game_of(), "game": "something else"}
    assert len({render_png(game, ply) for ply in (0, 1)}) == 2


@pytest.mark.parametrize(
    "name", ["\x1b[31m\x00\n", "<script>", "word " * 1000, "x" * 5000, "\u202eevil", "日本語 🎲", ""]
)
def test_names_of_any_kind_can_be_drawn(name: str) -> None:
    plain = opened(render_png(game_of(plies=2)))
    image = opened(render_png(game_of(plies=2, names=(name, name))))
    assert image.size == plain.size
    # a long name does not run into the points to its right
    right = (image.width - 40, 0, image.width, image.height)
    assert image.convert("RGB").crop(right).tobytes() == plain.convert("RGB").crop(right).tobytes()
