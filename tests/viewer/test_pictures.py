"""Pictures: every cell has its colour, an animation has every position, and hostile texts do no harm."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from spielleiter.game.blokus import SetMove
from spielleiter.game.blokus.pieces import Color, Rotation, Shape
from spielleiter.server.editions import EDITIONS
from spielleiter.viewer.pictures import (
    _BASE,
    CELL,
    EDGE,
    Picture,
    draw_position,
    fitted,
    render_gif,
    render_png,
    wrapped_text,
)
from spielleiter.viewer.positions.view import Json
from tests.viewer.replay_files import described, played, record_of, refused_record

BLOKUS = EDITIONS["blokus-2027"]
LETTERS = {color.name[0]: color.name for color in Color}


def game_of(name: str, plies: int = 12, names: tuple[str, str] = ("Anton", "Berta")) -> Json:
    edition = EDITIONS[name]
    return described(edition, record_of(edition, played(edition, plies=plies), names), "a.xml")


def opened(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content))


def pixel(image: Image.Image, x: int, y: int) -> tuple[int, ...]:
    value = image.convert("RGB").getpixel((x, y))
    assert isinstance(value, tuple)
    return value


def test_every_cell_of_the_board_has_its_colour() -> None:
    game = game_of("blokus-2027")
    image = opened(render_png(game, 12))
    assert image.format == "PNG"
    colors = image.convert("RGB")
    for index, letter in enumerate(game["positions"][12]["board"]["cells"]):
        y, x = divmod(index, 20)
        place = ((EDGE + x) * CELL + 2, (EDGE + y) * CELL + 2)
        assert colors.getpixel(place) == _BASE["board" if letter == "." else LETTERS[letter]], (x, y)


def test_a_position_can_be_chosen() -> None:
    game = game_of("blokus-2027")
    pictures = [render_png(game, ply) for ply in range(13)]
    assert len(set(pictures)) == 13
    assert render_png(game) == render_png(game, -1) == pictures[-1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["blokus-2027", "hase-und-igel-2018"])
def test_an_animation_has_every_position(name: str) -> None:
    game = game_of(name)
    image = opened(render_gif(game))
    assert image.format == "GIF"
    assert getattr(image, "n_frames") == 13  # noqa: B009 - the type of an opened image does not say so
    assert image.info["loop"] == 0
    for ply in range(13):
        image.seek(ply)
        assert image.convert("RGB").tobytes() == draw_position(game, ply).image.convert("RGB").tobytes()


def test_an_animation_of_one_position() -> None:
    image = opened(render_gif(game_of("blokus-2027", plies=0)))
    assert getattr(image, "n_frames") == 1  # noqa: B009 - as above


def test_an_illegal_move_is_drawn_where_it_was_put() -> None:
    states = played(BLOKUS, plies=4)
    move = SetMove(Color.BLUE, Shape.PENTO_I, Rotation.RIGHT, is_flipped=False, x=17, y=9)
    game = described(BLOKUS, refused_record(BLOKUS, states, move), "")
    assert sorted(game["end"]["illegal"]["cells"]) == [[17 + n, 9] for n in range(5)]
    image, before = opened(render_png(game)), opened(render_png({**game, "end": None}))
    for x in range(17, 22):
        corner = ((EDGE + x) * CELL + 2, (EDGE + 9) * CELL + 2)
        assert pixel(image, *corner) == _BASE["fault"]
        assert pixel(before, *corner) != _BASE["fault"]
        centre = ((EDGE + x) * CELL + CELL // 2, (EDGE + 9) * CELL + CELL // 2)
        assert (pixel(image, *centre) == _BASE["fault"]) == ([x, 9] in game["end"]["illegal"]["offendingCells"])
    far = SetMove(Color.BLUE, Shape.PENTO_I, Rotation.RIGHT, is_flipped=False, x=2**31 - 1, y=-(2**31))
    render_png(described(BLOKUS, refused_record(BLOKUS, states, far), ""))


def test_players_of_hase_und_igel_are_on_their_fields() -> None:
    game = game_of("hase-und-igel-2018", plies=1)
    before, after = opened(render_png(game, 0)), opened(render_png(game, 1))
    assert before.size == after.size
    assert before.tobytes() != after.tobytes()


def test_a_game_without_a_drawing_is_a_table() -> None:
    game = {**game_of("blokus-2027"), "game": "something else"}
    assert opened(render_png(game, 0)).size == (640, 560)
    assert render_png(game, 0) != render_png(game, 1)


@pytest.mark.parametrize("name", ["\x1b[31m\x00\n", "<script>", "x" * 5000, "\u202eevil", "日本語 🎲", ""])
def test_names_of_any_kind_can_be_drawn(name: str) -> None:
    game = game_of("blokus-2027", plies=2, names=(name, name))
    assert opened(render_png(game)).size == opened(render_png(game_of("blokus-2027", plies=2))).size


def test_texts_are_cut_to_their_space() -> None:
    assert fitted("short", 15, 500) == "short"
    cut = fitted("a much longer text than that", 15, 60)
    assert cut.endswith("…")
    assert cut != "…"
    assert fitted("text", 15, 3) == ""
    assert wrapped_text("one two three four", 15, 70, 2)[0] == "one two"
    assert len(wrapped_text("word " * 100, 15, 70, 3)) == 3
    assert wrapped_text("x" * 900, 15, 70, 2)[-1].endswith("…")
    canvas = Picture(10, 10)
    canvas.text(0, 0, "", 15)
    assert canvas.image.getextrema() == (0, 0)
