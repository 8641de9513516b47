"""Drawings of positions."""

from __future__ import annotations

import random
import re

import click
import pytest
from msgspec.structs import replace

from spielleiter.common.text import text_width
from spielleiter.game.api import State
from spielleiter.game.blokus.moves import SkipMove
from spielleiter.game.blokus.pieces import Color
from spielleiter.game.blokus.state import BLOKUS_2027, BlokusState
from spielleiter.game.hase_und_igel.state import HASE_UND_IGEL_2018
from spielleiter.viewer.terminal import Canvas, colors_of, draw

NAMES = ("Alice", "Jörg")
NO_NAMES = ("", "")
BLOKUS = BLOKUS_2027.with_options({"startPiece": "PENTO_V"}).new_state(random.Random(1))
TRACK = HASE_UND_IGEL_2018.new_state(random.Random(1))


def played(state: State, count: int, seed: int = 1) -> State:
    rng = random.Random(seed)
    for _ in range(count):
        if state.outcome() is None:
            state = state.play(rng.choice(list(state.generate_legal_moves())))
    return state


def drawn(state: State, canvas: Canvas, names: tuple[str, str] = NAMES) -> list[str]:
    lines = draw(state, names, canvas)
    assert lines is not None
    return lines


def words(lines: list[str]) -> set[str]:
    """All words except the letters on the board."""
    return set(re.findall(r"\w*[a-z_]\w*", " ".join(lines)))


def test_a_board_has_a_letter_for_each_cell_and_two_for_the_last_piece() -> None:
    one = played(BLOKUS, 1)
    two = played(one, 1)
    rows = [line[3:43] for line in drawn(two, Canvas())[1:]]
    assert len(rows) == 20
    for y, row in enumerate(rows):
        for x in range(20):
            assert isinstance(two, BlokusState)
            color = two.color_at(x, y)
            expected = ". " if color is None else {Color.BLUE: "B ", Color.YELLOW: "YY"}[color]
            assert row[2 * x : 2 * x + 2].ljust(2) == expected


@pytest.mark.parametrize("state", [played(BLOKUS, 30), played(TRACK, 12)], ids=["blokus", "track"])
@pytest.mark.parametrize("columns", [23, 43, 59, 79])
@pytest.mark.parametrize("rows", [20, 23, 49])
def test_a_drawing_fits_and_splits_no_word(state: State, columns: int, rows: int) -> None:
    canvas = Canvas(columns, rows, is_coloured=True)
    lines = draw(state, ("A name that is a little too long for any table", "Jörg"), canvas)
    if lines is None:
        assert columns < 59  # only the track, whose texts need more rows then
        return
    assert len(lines) <= rows
    assert any("\033[" in line for line in lines)
    plain = [click.unstyle(line) for line in lines]
    assert max(map(text_width, plain)) <= columns
    whole = draw(state, ("A name that is a little too long for any table", "Jörg"), Canvas(1000, 1000))
    assert whole is not None
    assert words(plain) <= words(whole)


def test_colours_do_not_change_the_text_which_is_ascii() -> None:
    for state in (played(BLOKUS, 30), played(TRACK, 12)):
        coloured = drawn(state, Canvas(is_coloured=True))
        assert [click.unstyle(line).rstrip() for line in coloured] == drawn(state, Canvas())
        assert "\n".join(drawn(state, Canvas(), NO_NAMES)).isascii()
    assert "·" in "".join(drawn(BLOKUS, Canvas(empty="·")))


def test_the_state_of_the_game_is_beside_the_board() -> None:
    lines = [line[43:].strip() for line in drawn(played(BLOKUS, 5), Canvas())]
    assert [line for line in lines if line][:7] == [
        "turn 5, round 2",
        "Alice: 13 points",
        "B  BLUE    19 pieces left",
        "R  RED     20 pieces left",
        "Jörg: 10 points",
        "Y  YELLOW  20 pieces left",
        "G  GREEN   20 pieces left",
    ]
    assert "next: YELLOW (Jörg)" in lines
    assert any(line.startswith("last: BLUE ") for line in lines)


def test_the_state_of_the_game_is_below_a_narrow_board() -> None:
    lines = drawn(played(BLOKUS, 5), Canvas(60, 23), NO_NAMES)[21:]
    assert lines == ["BR player 1 13 : YG player 2 10", "turn 5, round 2, next: YELLOW (player 2)"]
    assert len(drawn(played(BLOKUS, 5), Canvas(60, 30))) == 24
    assert len(drawn(played(BLOKUS, 5), Canvas(60, 20))) == 20


def test_colours_without_moves_and_without_pieces_are_marked() -> None:
    assert isinstance(BLOKUS, BlokusState)
    state = replace(BLOKUS, remaining_masks=(0, 1, 3, 7), valid_mask=0b1010)
    text = "\n".join(drawn(state, Canvas()))
    assert "BLUE    all pieces placed" in text
    assert "YELLOW  1 piece left\n" in text
    assert "RED     2 pieces left, out" in text
    skipped = replace(BLOKUS, last_move=SkipMove(Color.BLUE))
    assert "last: BLUE skip" in "\n".join(drawn(skipped, Canvas()))
    over = "\n".join(drawn(played(BLOKUS, 200), Canvas()))
    assert "the game is over" in over
    assert "next" not in over


def test_a_narrow_terminal_has_one_column_per_cell_and_a_tiny_one_no_board() -> None:
    state = played(BLOKUS, 1)
    rows = drawn(state, Canvas(23, 30))
    assert rows[0] == "   0 2 4 6 8 0 2 4 6 8"
    assert sum(row[3:].count("B") for row in rows[1:21]) == 5
    assert draw(state, NAMES, Canvas(22, 30)) is None
    assert draw(state, NAMES, Canvas(79, 19)) is None
    assert draw(TRACK, NAMES, Canvas(4, 100)) is None
    assert draw(TRACK, NAMES, Canvas(79, 13)) is None


def test_the_track_shows_every_field_and_the_players_on_it() -> None:
    state = played(TRACK, 8)
    text = drawn(state, Canvas())
    numbers, fields = text[0:10:2], text[1:10:2]
    assert " ".join(numbers).split() == [str(index) for index in range(65)]
    letters = "".join(row[column] for row in fields for column in range(0, len(row), 5))
    assert letters == str(state.board)  # type: ignore[attr-defined]
    for seat, letter in enumerate("RB"):
        index = state.players[seat].index  # type: ignore[attr-defined]
        assert letter in fields[index // 13][5 * (index % 13) + 2 : 5 * (index % 13) + 4]
    assert any(line.startswith("R Alice: field ") for line in text)
    assert any(line.startswith("turn 8, round 5, next: RED (Alice)") for line in text)
    assert text[-1] == "S start, C carrots, H hare, 1 2 position, I hedgehog, L salad, G goal"
    assert drawn(state, Canvas(79, len(text) - 1)) == text[:-1]


def test_a_game_without_a_drawing_has_none() -> None:
    class Chess:
        turn = 1

    assert draw(Chess(), NAMES, Canvas()) is None  # type: ignore[arg-type]
    assert colors_of(Chess(), 0) == ()  # type: ignore[arg-type]


@pytest.mark.parametrize("state", [played(BLOKUS, 30), played(TRACK, 12)], ids=["blokus", "track"])
@pytest.mark.parametrize("columns", [25, 60, 90])
def test_names_of_wide_characters_fit_into_a_drawing(state: State, columns: int) -> None:
    lines = draw(state, ("日本語の名前です", "자두 나무 숨"), Canvas(columns, 200))
    assert lines is not None
    assert max(map(text_width, lines)) <= columns


def test_control_characters_in_names_are_escaped() -> None:
    assert "\033" not in "\n".join(drawn(BLOKUS, Canvas(), ("\033[2J", "\r")))
