"""Scripted games: the same in every run, and different from each other."""

from __future__ import annotations

import pytest

from spielleiter.bench.scripted_games import ROOM, load_of, play_script
from spielleiter.bench.scripted_games import game_of as rules_of
from spielleiter.server.editions import EDITIONS


@pytest.mark.slow
@pytest.mark.parametrize("edition", ["blokus-2021-r3", "blokus-2027"])
def test_games_are_reproducible_and_different_from_each_other(edition: str) -> None:
    load = load_of(edition)
    assert len({script.packets for script in load.scripts}) == len(load.scripts)
    assert play_script(rules_of(edition), EDITIONS[edition].dialect, 0) == load.scripts[0]
    for script in load.scripts:
        assert len(script.seats) == len(script.packets) == len(script.mementos) - 1
        assert all(packet.count(ROOM.encode()) == 1 for packet in script.packets)
