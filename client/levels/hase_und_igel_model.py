"""A compact model of the rules of Hase und Igel, for searching many positions.

`spielleiter.game.hase_und_igel` decides what is legal; a search only needs the positions that legal moves lead to, and
gets them here about fifty times as fast.

Invariants: in every position of a game, the model agrees with the rules: `successors` has the player after each legal
move (the tests compare them), and no other one. A hare stands on a salad field either before eating there, and then
eats, or after eating, and then leaves it.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from spielleiter.game.hase_und_igel import GOAL_INDEX, Board, CardType, FieldType, Player, advance_cost
from spielleiter.game.hase_und_igel.rules import GOAL_CARROTS, must_leave

Hare: TypeAlias = tuple[int, int, int, int, bool]
"""A player: its field, carrots, salads and cards (a set of the bits below), and whether it has eaten on this field."""

TAKE_OR_DROP_CARROTS: Final = 1
EAT_SALAD: Final = 2
HURRY_AHEAD: Final = 4
FALL_BACK: Final = 8
ALL_CARDS: Final = 15

_BITS: Final = {
    CardType.TAKE_OR_DROP_CARROTS: TAKE_OR_DROP_CARROTS,
    CardType.EAT_SALAD: EAT_SALAD,
    CardType.HURRY_AHEAD: HURRY_AHEAD,
    CardType.FALL_BACK: FALL_BACK,
}
_COSTS: Final = tuple(advance_cost(distance) for distance in range(GOAL_INDEX + 1))

CARROT: Final = FieldType.CARROT.value
HEDGEHOG: Final = FieldType.HEDGEHOG.value
POSITION_1: Final = FieldType.POSITION_1.value
POSITION_2: Final = FieldType.POSITION_2.value
SALAD: Final = FieldType.SALAD.value
_HARE_FIELD: Final = FieldType.HARE.value
_PLAIN: Final = CARROT + POSITION_1 + POSITION_2


class Track:
    """A board, prepared for the model.

    `letters` are its fields in the short notation. For each field, `hedgehogs` has the hedgehog field before it, or -1,
    and `salads_ahead` the number of salad fields after it.
    """

    __slots__ = ("hedgehogs", "letters", "salads_ahead")

    def __init__(self, board: Board) -> None:
        self.letters = str(board)
        before = (board.hedgehog_before(index) for index in range(len(board.fields)))
        self.hedgehogs = tuple(-1 if index is None else index for index in before)
        self.salads_ahead = tuple(self.letters.count(SALAD, index + 1) for index in range(len(board.fields)))


def hare_of(board: Board, player: Player) -> Hare:
    """Return `player` as the model represents it."""
    has_eaten = board.type_at(player.index) is FieldType.SALAD and must_leave(board, player)
    return player.index, player.carrots, player.salads, sum(_BITS[card] for card in player.cards), has_eaten


def successors(track: Track, hare: Hare, other_index: int) -> list[Hare]:
    """Return `hare` after each of its legal moves; moves with the same result may be repeated.

    `other_index` is the field of the other player, whose carrots `with_position_carrots` updates.
    """
    index, carrots, salads, cards, has_eaten = hare
    letters = track.letters
    letter = letters[index]
    if letter == SALAD and not has_eaten:
        return [(index, carrots + (10 if index >= other_index else 30), salads - 1, cards, True)]
    found: list[Hare] = []
    if letter == CARROT:
        found.append((index, carrots + 10, salads, cards, False))
        if carrots >= 10:
            found.append((index, carrots - 10, salads, cards, False))
    hedgehog = track.hedgehogs[index]
    if hedgehog not in {-1, other_index}:
        found.append((hedgehog, carrots + 10 * (index - hedgehog), salads, cards, False))
    for target in range(index + 1, GOAL_INDEX + 1):
        left = carrots - _COSTS[target - index]
        if left < 0:
            break
        letter = letters[target]
        if letter in _PLAIN:
            if target != other_index:
                found.append((target, left, salads, cards, False))
        elif letter != HEDGEHOG:
            _enter(track, (target, left, salads, cards, False), other_index, found)
    return found or [hare]


def with_position_carrots(track: Track, hare: Hare, other_index: int) -> Hare:
    """Return `hare` with the carrots that its field gives at the start of its turn."""
    index, carrots, salads, cards, has_eaten = hare
    letter = track.letters[index]
    if letter == POSITION_1 and index >= other_index:
        return index, carrots + 10, salads, cards, has_eaten
    if letter == POSITION_2 and index < other_index:
        return index, carrots + 30, salads, cards, has_eaten
    return hare


def _enter(track: Track, hare: Hare, other_index: int, found: list[Hare]) -> None:
    """Append what `hare` can become that moves to its field now; nothing if it may not be there."""
    index, carrots, salads = hare[:3]
    if index == GOAL_INDEX:
        if carrots <= GOAL_CARROTS and not salads:
            found.append(hare)
        return
    if index == other_index or not 0 < index < GOAL_INDEX:
        return
    letter = track.letters[index]
    if letter == _HARE_FIELD:
        _play_cards(track, hare, other_index, found)
    elif letter != HEDGEHOG and (letter != SALAD or salads):
        found.append(hare)


def _play_cards(track: Track, hare: Hare, other_index: int, found: list[Hare]) -> None:
    """Append what `hare` can become that has just entered a hare field and has to play a card."""
    index, carrots, salads, cards, _ = hare
    if cards & TAKE_OR_DROP_CARROTS:
        left = cards - TAKE_OR_DROP_CARROTS
        found.append((index, carrots + 20, salads, left, False))
        found.append((index, carrots, salads, left, False))
        if carrots >= 20:
            found.append((index, carrots - 20, salads, left, False))
    if cards & EAT_SALAD and salads:
        found.append((index, carrots + (10 if index >= other_index else 30), salads - 1, cards - EAT_SALAD, False))
    if index < other_index:
        if cards & HURRY_AHEAD:
            _enter(track, (other_index + 1, carrots, salads, cards - HURRY_AHEAD, False), other_index, found)
    elif cards & FALL_BACK:
        _enter(track, (other_index - 1, carrots, salads, cards - FALL_BACK, False), other_index, found)
