"""The rules: what an action does, whether it is allowed, and which moves are legal.

The functions get the board, the player to move and the other player, and return values. An action is allowed if and
only if `attempt` returns a player. Where the published rules are silent or contradict themselves, the functions do what
release 18.2.6 was observed to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from spielleiter.game.api import Mistake
from spielleiter.game.hase_und_igel.board import (
    Action,
    Advance,
    Board,
    Card,
    CardType,
    EatSalad,
    ExchangeCarrots,
    FallBack,
    FieldType,
    HaseUndIgelMove,
    Player,
    Skip,
)

GOAL_CARROTS: Final = 10
"""The maximum number of carrots with which a player may enter the goal, which also requires that no salad is left."""

EXCHANGE_VALUES: Final = (10, -10)
CARD_VALUES: Final = (20, 0, -20)
"""The values allowed for TAKE_OR_DROP_CARROTS, in carrots."""

_SALAD_CARROTS: Final = {True: 10, False: 30}
"""The carrots for eating a salad, by whether the player is first."""

_RETREAT_CARROTS: Final = 10
_POSITION_CARROTS: Final = {(FieldType.POSITION_1, True): 10, (FieldType.POSITION_2, False): 30}
"""The carrots at the start of a turn, by the player's field and whether it is first."""

_LAST_CARDS: Final = frozenset({CardType.EAT_SALAD, CardType.TAKE_OR_DROP_CARROTS})
"""The cards that do not move their player. After one of them it stands on a hare field that it must leave next."""


class HaseUndIgelMistake(Mistake):
    """The rules that a move can break.

    The refused distance or value, which some texts name, is that of `HaseUndIgelMove.first_action`, since only the
    first action of a move can be an advance or an exchange.
    """

    NO_ACTION_LIST = "the move has no list of actions"
    NO_ACTIONS = "the list of actions is empty"
    WRONG_ORDER = "the order attributes are not 0, 1, 2, ..."
    ONLY_CARDS_FOLLOW = "after the first action there can only be cards"
    CARD_REQUIRED = "a hare field was entered and no card played"
    ADVANCE = "this advance is not possible"
    EXCHANGE_CARROTS = "these carrots cannot be exchanged"
    EAT_SALAD = "no salad can be eaten"
    FALL_BACK = "no retreat is possible"
    SKIP = "something else can be done"
    CARD_TAKE_OR_DROP_CARROTS = "this card cannot be played: take or drop carrots"
    CARD_EAT_SALAD = "this card cannot be played: eat a salad"
    CARD_HURRY_AHEAD = "this card cannot be played: hurry ahead"
    CARD_FALL_BACK = "this card cannot be played: fall back"


_MISTAKE_OF_ACTION: Final[dict[type[Action] | CardType, HaseUndIgelMistake]] = {
    Advance: HaseUndIgelMistake.ADVANCE,
    ExchangeCarrots: HaseUndIgelMistake.EXCHANGE_CARROTS,
    EatSalad: HaseUndIgelMistake.EAT_SALAD,
    FallBack: HaseUndIgelMistake.FALL_BACK,
    Skip: HaseUndIgelMistake.SKIP,
    CardType.TAKE_OR_DROP_CARROTS: HaseUndIgelMistake.CARD_TAKE_OR_DROP_CARROTS,
    CardType.EAT_SALAD: HaseUndIgelMistake.CARD_EAT_SALAD,
    CardType.HURRY_AHEAD: HaseUndIgelMistake.CARD_HURRY_AHEAD,
    CardType.FALL_BACK: HaseUndIgelMistake.CARD_FALL_BACK,
}


def advance_cost(distance: int) -> int:
    """Return the cost in carrots of an advance by `distance` fields: 1 for the first, 2 for the second, and so on.

    >>> advance_cost(4)
    10
    """
    return distance * (distance + 1) // 2


def is_first(player: Player, other: Player) -> bool:
    """Return whether `player` leads. Both do if they share a field, which is possible only at the start and goal."""
    return player.index >= other.index


def must_eat_salad(board: Board, player: Player) -> bool:
    """Return whether `player` has just entered a salad field, so that the only action allowed is to eat a salad."""
    last = player.last_action
    has_moved = isinstance(last, Advance) or (isinstance(last, Card) and last.type not in _LAST_CARDS)
    return has_moved and board.type_at(player.index) is FieldType.SALAD


def must_leave(board: Board, player: Player) -> bool:
    """Return whether `player` may neither eat a salad nor play a card on its current field."""
    last = player.last_action
    return (
        board.type_at(player.index) in {FieldType.HEDGEHOG, FieldType.START}
        or isinstance(last, EatSalad)
        or (isinstance(last, Card) and last.type in _LAST_CARDS)
    )


def position_carrots(board: Board, player: Player, other: Player) -> int:
    """Return the carrots that `player` gets at the start of its turn."""
    field = board.type_at(player.index)
    return 0 if field is None else _POSITION_CARROTS.get((field, is_first(player, other)), 0)


def attempt(board: Board, player: Player, other: Player, action: Action) -> Player | None:
    """Return `player` after `action`, or None if the action is not allowed. The order attribute is ignored."""
    field = board.type_at(player.index)
    if isinstance(action, Advance):
        if action.distance < 1 or must_eat_salad(board, player):
            return None
        index, carrots = player.index + action.distance, player.carrots - advance_cost(action.distance)
        return _enter(board, replace(player, index=index, carrots=carrots, last_action=action), other)
    if isinstance(action, Card):
        return _attempt_card(board, player, other, action)
    if isinstance(action, ExchangeCarrots):
        carrots = player.carrots + action.value
        if action.value not in EXCHANGE_VALUES or carrots < 0 or field is not FieldType.CARROT:
            return None
        return replace(player, carrots=carrots, last_action=action)
    if isinstance(action, EatSalad):
        if field is not FieldType.SALAD or must_leave(board, player):
            return None
        return _eat(replace(player, last_action=action), other)
    if isinstance(action, FallBack):
        hedgehog = board.hedgehog_before(player.index)
        if hedgehog is None or hedgehog == other.index or must_eat_salad(board, player):
            return None
        carrots = player.carrots + _RETREAT_CARROTS * (player.index - hedgehog)
        return replace(player, index=hedgehog, carrots=carrots, last_action=action)
    return None if _can_do_any(board, player, other, _first_actions(board, player)) else player


def execute(
    board: Board, player: Player, other: Player, move: HaseUndIgelMove
) -> tuple[Player, HaseUndIgelMistake | None]:
    """Carry out the actions in their order, up to the first mistake.

    Return `player` after that, and the mistake, or None if there is none.
    """
    if move.actions is None:
        return player, HaseUndIgelMistake.NO_ACTION_LIST
    if not move.actions:
        return player, HaseUndIgelMistake.NO_ACTIONS
    is_card_due = False
    for index, action in enumerate(move.in_order):
        if action.order != index:
            return player, HaseUndIgelMistake.WRONG_ORDER
        if index > 0 and not isinstance(action, Card):
            return player, HaseUndIgelMistake.ONLY_CARDS_FOLLOW
        after = attempt(board, player, other, action)
        if after is None:
            return player, _MISTAKE_OF_ACTION[action.type if isinstance(action, Card) else type(action)]
        is_card_due = _has_entered_hare(board, player, after)
        player = after
    return player, HaseUndIgelMistake.CARD_REQUIRED if is_card_due else None


def generate_moves(board: Board, player: Player, other: Player) -> Iterator[HaseUndIgelMove]:
    """Yield every legal move once; a lone skip if there is no other move.

    The order attributes are 0, 1, 2, ..., and the value of a card that has none is 0.
    """
    has_any = False
    for move in _complete(board, player, other, (), _first_actions(board, player)):
        has_any = True
        yield move
    if not has_any:
        yield HaseUndIgelMove((Skip(),))


def _attempt_card(board: Board, player: Player, other: Player, action: Card) -> Player | None:
    if (
        action.type not in player.cards
        or board.type_at(player.index) is not FieldType.HARE
        or must_leave(board, player)
    ):
        return None
    after = replace(player, cards=tuple(card for card in player.cards if card is not action.type), last_action=action)
    if action.type is CardType.TAKE_OR_DROP_CARROTS:
        if action.value not in CARD_VALUES or player.carrots + action.value < 0:
            return None
        return replace(after, carrots=player.carrots + action.value)
    if action.type is CardType.EAT_SALAD:
        return _eat(after, other)
    # Only the player behind may play HURRY_AHEAD, and only the leader FALL_BACK.
    if (action.type is CardType.FALL_BACK) is not is_first(player, other):
        return None
    step = -1 if action.type is CardType.FALL_BACK else 1
    return _enter(board, replace(after, index=other.index + step), other)


def _eat(player: Player, other: Player) -> Player | None:
    if player.salads < 1:
        return None
    carrots = player.carrots + _SALAD_CARROTS[is_first(player, other)]
    return replace(player, salads=player.salads - 1, carrots=carrots)


def _enter(board: Board, player: Player, other: Player) -> Player | None:
    """Return `player`, who has already moved and paid, or None if it may not be on its new field."""
    field = board.type_at(player.index)
    if player.carrots < 0 or field in {None, FieldType.START, FieldType.HEDGEHOG}:
        return None
    if field is FieldType.GOAL:
        return player if player.carrots <= GOAL_CARROTS and player.salads == 0 else None
    if player.index == other.index or (field is FieldType.SALAD and player.salads < 1):
        return None
    # The rules look ahead: entering a hare field is allowed only if the chain of cards that begins there can be ended.
    if field is FieldType.HARE and not _can_do_any(board, player, other, _cards(player, 0)):
        return None
    return player


def _has_entered_hare(board: Board, before: Player, after: Player) -> bool:
    return after.index != before.index and board.type_at(after.index) is FieldType.HARE


def _can_do_any(board: Board, player: Player, other: Player, actions: Iterable[Action]) -> bool:
    return any(attempt(board, player, other, action) is not None for action in actions)


def _first_actions(board: Board, player: Player) -> Iterator[Action]:
    """Yield all actions that a move can begin with, except the skip."""
    yield EatSalad()
    for value in EXCHANGE_VALUES:
        yield ExchangeCarrots(value)
    yield FallBack()
    yield from _cards(player, 0)
    for distance in range(1, len(board.fields) - player.index):
        if advance_cost(distance) > player.carrots:
            break
        yield Advance(distance)


def _cards(player: Player, order: int) -> Iterator[Card]:
    for card in CardType:
        if card in player.cards:
            for value in CARD_VALUES if card is CardType.TAKE_OR_DROP_CARROTS else (0,):
                yield Card(card, value, order)


def _complete(
    board: Board, player: Player, other: Player, played: tuple[Action, ...], candidates: Iterable[Action]
) -> Iterator[HaseUndIgelMove]:
    """Yield all legal moves that begin with the actions `played` and continue with one of `candidates`.

    `player` is the player after the actions `played`.
    """
    for action in candidates:
        after = attempt(board, player, other, action)
        if after is None:
            continue
        actions = (*played, action)
        if _has_entered_hare(board, player, after):
            yield from _complete(board, after, other, actions, _cards(after, len(actions)))
        else:
            yield HaseUndIgelMove(actions)
