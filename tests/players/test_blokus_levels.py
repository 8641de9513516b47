"""The levels of Blokus: placements, evaluation, search and choice."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import pytest
from msgspec.structs import replace

from spielleiter.game.blokus.pieces import BOARD, EMPTY, SIZES, bit
from spielleiter.game.blokus.pieces import draw as draw_cells
from spielleiter.game.blokus.state import BLOKUS_2021, BLOKUS_2027, BlokusGame, BlokusState
from spielleiter.players.blokus_levels import (
    BLOKUS_LEVELS,
    CELL,
    SETTINGS,
    BlokusSettings,
    RatedMove,
    Reach,
    SearchSettings,
    choose_move,
    draw,
    position_value,
    rate_moves,
    reach_from,
    reach_of,
    sample_moves,
    search,
)
from spielleiter.players.search_budget import LONGEST_SEARCH, LadderLevel, NoMoveError, SearchBudget


def endless() -> SearchBudget:
    """A budget that is never used up, however slow this machine is: its clock stands still."""
    return SearchBudget(math.inf, clock=lambda: 0.0)


def positions(game: BlokusGame, seed: int, step: int = 1) -> Iterator[BlokusState]:
    """Yield every `step`-th position of one game in which a move is requested."""
    rng = random.Random(seed)
    state = game.new_state(rng)
    count = 0
    while state.outcome() is None:
        if count % step == 0:
            yield state
        count += 1
        state = state.play(rng.choice(list(state.generate_legal_moves())))


def piece_value(rated: RatedMove) -> float:
    """The part of a value that the cells of the piece account for."""
    return CELL * SIZES[rated.turned.shape]


GAMES = (BLOKUS_2021, BLOKUS_2027)


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_the_rated_moves_are_the_legal_moves_in_their_order(game: BlokusGame) -> None:
    for state in positions(game, seed=1, step=9):
        assert [rated.set_move(state) for rated in rate_moves(state)] == list(state.generate_legal_moves())


def test_near_and_far_cells_are_within_one_and_two_steps() -> None:
    wall = sum(bit(3, y) for y in range(20))
    reach = reach_from(BOARD & ~wall, bit(0, 0))
    assert draw_cells(reach.near, 6, 4) == "# # . . . .\n# # . . . .\n. . . . . .\n. . . . . ."
    assert draw_cells(reach.far, 6, 4) == "# # # . . .\n# # # . . .\n# # # . . .\n. . . . . ."
    blocked = reach_from(BOARD & ~wall, bit(2, 0))
    assert draw_cells(blocked.far, 6, 4) == "# # # . . .\n# # # . . .\n# # # . . .\n. . . . . ."


def without(reach: Reach, piece: int) -> tuple[int, int, int]:
    return reach.attach & ~piece, reach.near & ~piece, reach.far & ~piece


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_a_rated_value_is_that_of_the_piece_and_of_the_position_after_it(game: BlokusGame) -> None:
    """Exactly so if the piece cuts off no cells from other colours, which is not counted."""
    compared: Counter[str] = Counter()
    for state in positions(game, seed=2, step=3):
        color = state.turn % 4
        for rated in rate_moves(state)[::5]:
            after = state.play(rated.set_move(state))
            piece = rated.turned.mask << rated.corner
            others = {name: (color + turns) % 4 for turns, name in enumerate(("opponent", "partner", "opponent"), 1)}
            if after.valid_mask != state.valid_mask or any(
                without(reach_of(state, other), piece) != without(reach_of(after, other), piece)
                for other in range(4)
                if other != color
            ):
                continue
            compared["all"] += 1
            compared.update(name for name, other in others.items() if reach_of(state, other).far & piece)
            assert rated.value == pytest.approx(piece_value(rated) + position_value(after, color % 2))
    assert all(compared[name] >= 5 for name in ("all", "partner", "opponent"))


def test_a_colour_that_has_left_the_game_reaches_nothing() -> None:
    *_, last = positions(BLOKUS_2021, seed=3)
    gone = [color for color in range(4) if not last.valid_mask >> color & 1]
    assert gone
    assert all(reach_of(last, color).far == EMPTY for color in gone)


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_after_its_last_piece_a_colour_reaches_nothing(game: BlokusGame) -> None:
    state = list(positions(game, seed=2))[14]
    color = state.turn % 4
    blue, yellow, red, green = (1 if each == color else mask for each, mask in enumerate(state.remaining_masks))
    last = replace(state, remaining_masks=(blue, yellow, red, green))
    assert reach_of(last, color).far
    for rated in rate_moves(last):
        after = last.play(rated.set_move(last))
        assert reach_of(after, color).far == EMPTY
        assert rated.value == pytest.approx(piece_value(rated) + position_value(after, color % 2), abs=1)


def test_a_sample_has_rated_moves_with_the_largest_pieces_only() -> None:
    rng, complete = random.Random(1), 0
    for state in positions(BLOKUS_2021, seed=4, step=3):
        rated = rate_moves(state)
        most = max(piece_value(each) for each in rated)
        largest = [each for each in rated if piece_value(each) == most]
        sample = sample_moves(state, 20, rng)
        assert set(sample.moves) <= set(largest)
        assert len(sample.moves) <= 28
        if sample.is_complete:
            assert sample.moves == largest
            complete += 1
    assert complete >= 5


def test_every_move_with_the_largest_pieces_is_sampled_equally_often() -> None:
    state = list(positions(BLOKUS_2021, seed=4))[12]
    rng, drawn = random.Random(2), Counter[RatedMove]()
    for _ in range(400):
        sample = sample_moves(state, 20, rng)
        assert not sample.is_complete
        drawn.update(sample.moves)
    largest = sample_moves(state, 10_000, rng).moves
    assert set(drawn) == set(largest)
    expected = drawn.total() / len(largest)
    assert all(0.2 * expected < drawn[each] < 2.5 * expected for each in largest)


@cache
def a_game() -> tuple[BlokusState, ...]:
    return tuple(positions(BLOKUS_2021, seed=5))


def middle() -> BlokusState:
    return a_game()[len(a_game()) // 2]


def late() -> BlokusState:
    return a_game()[-6]


SMALL = SearchSettings(width=4, rounds=(1, 2), turns=4, sample=8)
ALL_MOVES = 1000  # more than there are


def never() -> bool:
    return False


def after(calls: int) -> Callable[[], bool]:
    """Return a cut that comes with the call after `calls`."""
    counter = itertools.count(1)
    return lambda: next(counter) > calls


def found(
    state: BlokusState, settings: SearchSettings, is_cut: Callable[[], bool] = never, seed: int = 1
) -> list[RatedMove]:
    return search(state, rate_moves(state), settings, random.Random(seed), is_cut)


def moves(rated: Sequence[RatedMove]) -> set[tuple[object, int]]:
    return {(each.turned, each.corner) for each in rated}


def highest(state: BlokusState, count: int) -> list[RatedMove]:
    return sorted(rate_moves(state), key=lambda each: each.value, reverse=True)[:count]


def test_the_better_half_stays_after_each_round() -> None:
    settings = [SearchSettings(5, rounds, 4, 8) for rounds in ((1,), (1, 1), (1, 1, 1), (1, 1, 1, 1))]
    results = [found(middle(), each) for each in settings]
    assert [len(each) for each in results] == [5, 3, 2, 2]
    for before, result in itertools.pairwise(results[:3]):
        assert moves(result) == moves(before[: len(result)])
    for result in results:
        assert result == sorted(result, key=lambda each: each.value, reverse=True)


def test_the_value_of_a_line_that_ends_the_game_is_the_lead_gained_in_it() -> None:
    seat = late().seat_on_turn

    def lead(state: BlokusState) -> int:
        return state.points(seat)[0] - state.points(1 - seat)[0]

    for candidate in found(late(), SearchSettings(3, (1,), 100, ALL_MOVES)):
        state = late().play(candidate.set_move(late()))
        while state.outcome() is None:
            best = max(largest(state), key=lambda each: each.value)
            state = state.play(best.set_move(state))
        assert candidate.value == pytest.approx(CELL * (lead(state) - lead(late())))


def largest(state: BlokusState) -> list[RatedMove]:
    """Return the legal moves with the largest pieces."""
    rated = rate_moves(state)
    most = max(piece_value(each) for each in rated)
    return [each for each in rated if piece_value(each) == most]


def test_a_cut_leaves_the_values_of_the_last_complete_round() -> None:
    first_round = SearchSettings(SMALL.width, SMALL.rounds[:1], SMALL.turns, SMALL.sample)
    assert found(middle(), SMALL, after(0)) == highest(middle(), 4)
    assert found(middle(), SMALL, after(3)) == highest(middle(), 4)
    assert found(middle(), SMALL, after(4)) == found(middle(), first_round)
    assert found(middle(), SMALL, after(7)) == found(middle(), first_round)
    assert found(middle(), SMALL, after(8)) == found(middle(), SMALL)


SEARCH = BlokusSettings(search=SearchSettings(width=3, rounds=(1, 2), turns=4, sample=8))
NAMES = [f"level-{number}" for number in range(1, 9)]


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
@pytest.mark.parametrize("level", BLOKUS_LEVELS, ids=NAMES)
def test_every_level_plays_legal_moves_from_the_first_to_the_last(level: LadderLevel, game: BlokusGame) -> None:
    rng = random.Random(1)
    states = list(positions(game, seed=11))
    middle = [states[len(states) // 3]] if game is BLOKUS_2021 else []  # only the first pieces differ between the games
    for state in (states[0], *middle, states[-1]):
        assert state.check(level.choose(state, rng)) is None


@pytest.mark.slow
@pytest.mark.parametrize("settings", SETTINGS, ids=NAMES)
def test_the_same_seed_gives_the_same_moves(settings: BlokusSettings) -> None:
    """No search is cut, however slow the machine is."""
    states = a_game()[::40]
    one, two = random.Random(3), random.Random(3)
    for state in states:
        assert choose_move(settings, state, one, endless()) == choose_move(settings, state, two, endless())


def test_noise_makes_different_seeds_choose_different_moves() -> None:
    noisy = BlokusSettings(temperature=5.0)
    assert len({choose_move(noisy, middle(), random.Random(seed)) for seed in range(20)}) > 5
    exact = BlokusSettings()
    best = max(rated.value for rated in rate_moves(middle()))
    moves = {rated.set_move(middle()) for rated in rate_moves(middle()) if rated.value == best}
    assert {choose_move(exact, middle(), random.Random(seed)) for seed in range(20)} <= moves


def test_a_move_worth_the_temperature_less_is_drawn_with_1_in_e_of_the_probability() -> None:
    rated = rate_moves(middle())[:2]
    better, worse = rated[0]._replace(value=7.0), rated[1]._replace(value=5.0)
    rng = random.Random(1)
    drawn = [draw([better, worse], 2.0, rng) for _ in range(10_000)]
    assert drawn.count(better) / drawn.count(worse) == pytest.approx(2.718, rel=0.05)


def test_a_search_is_cut_by_the_clock_and_the_best_move_so_far_is_played() -> None:
    times = itertools.count(step=LONGEST_SEARCH + 0.1)
    budget = SearchBudget(clock=lambda: next(times))
    cut = choose_move(SEARCH, middle(), random.Random(1), budget)
    assert cut == choose_move(BlokusSettings(), middle(), random.Random(1))
    assert budget.was_cut


def test_a_request_without_a_possible_move_is_an_error() -> None:
    *_, last = positions(BLOKUS_2021, seed=5)
    while last.outcome() is None:
        last = last.play(next(last.generate_legal_moves()))
    with pytest.raises(NoMoveError, match="but no move is possible"):
        choose_move(SEARCH, last, random.Random(1))
