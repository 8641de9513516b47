"""Players at the start of a game."""

from __future__ import annotations

from spielleiter.game.hase_und_igel import CardType, Player, PlayerColor


def test_a_new_player() -> None:
    player = Player()
    assert (player.index, player.carrots, player.salads, player.last_action) == (0, 68, 5, None)
    assert player.cards == (
        CardType.TAKE_OR_DROP_CARROTS,
        CardType.EAT_SALAD,
        CardType.HURRY_AHEAD,
        CardType.FALL_BACK,
    )


def test_the_colours_are_the_seats() -> None:
    assert list(PlayerColor) == [0, 1]
