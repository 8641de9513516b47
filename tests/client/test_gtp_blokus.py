"""The player that asks an engine: cells and symmetries, positions in an engine's terms, whole games, every failure."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from spielleiter.client.choosers import random_move
from spielleiter.client.gtp_blokus import (
    MAX_LATE_ANSWERS,
    START_CORNERS,
    START_TIMEOUT,
    SYMMETRIES,
    BridgedPlayer,
    EnginePosition,
    FallbackReason,
    Steps,
    Symmetry,
    cell_name,
    first_placements,
    fitting_symmetries,
    is_first_piece,
    pieces_of,
    read_cells,
    read_move,
    steps_to,
    write_cells,
    write_move,
)
from spielleiter.client.gtp_engine import EngineGoneError, EngineRefusalError, EngineStartError
from spielleiter.game.blokus import BLOKUS_2021, BLOKUS_2027, BlokusGame, BlokusState, Color, SetMove, SkipMove
from spielleiter.game.blokus.pieces import SIZE, Cell, scan
from tests.client.blokus_engine import BlokusEngine, RefusedError

CELLS = st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1))


@pytest.mark.parametrize(
    ("cell", "name"), [((0, 0), "a20"), ((0, 19), "a1"), ((19, 19), "t1"), ((19, 0), "t20"), ((8, 10), "i10")]
)
def test_rows_are_counted_from_below(cell: Cell, name: str) -> None:
    assert cell_name(cell) == name


@given(st.sets(CELLS, min_size=1))
def test_reading_is_the_inverse_of_writing(cells: set[Cell]) -> None:
    assert read_cells(write_cells(cells)) == cells
    assert read_cells(write_cells(cells).upper()) == cells


def test_cells_are_written_row_by_row_from_below() -> None:
    assert write_cells([(1, 18), (0, 18), (4, 19)]) == "e1,a2,b2"


@pytest.mark.parametrize("text", ["", "a", "a0", "a21", "u1", "a01", "a1,", "a1,a1", "a1 b1", "1a", "pass", "a1;b1"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a list of cells"):
        read_cells(text)


def test_the_symmetries_are_the_eight_ones_of_a_square() -> None:
    triangle = ((0, 0), (1, 0), (0, 2))
    images = {tuple(symmetry.apply(cell) for cell in triangle) for symmetry in SYMMETRIES}
    assert len(images) == len(SYMMETRIES) == 8
    assert SYMMETRIES[0].apply((3, 5)) == (3, 5)


@given(st.sampled_from(SYMMETRIES), CELLS, CELLS)
def test_a_symmetry_keeps_distances_and_can_be_undone(symmetry: Symmetry, first: Cell, second: Cell) -> None:
    moved, other = symmetry.apply(first), symmetry.apply(second)
    assert symmetry.undo(moved) == first
    assert symmetry.apply(symmetry.undo(first)) == first

    def distances(a: Cell, b: Cell) -> list[int]:
        return sorted((abs(a[0] - b[0]), abs(a[1] - b[1])))

    assert distances(moved, other) == distances(first, second)


GAMES = (BLOKUS_2021, BLOKUS_2027)


def _positions(game: BlokusGame, seed: int, *, fits: bool) -> Iterator[BlokusState]:
    """Yield the positions of a random game; with `fits`, the first pieces are placed so that a symmetry fits."""
    rng = random.Random(seed)
    state = game.new_state(rng)
    while state.outcome() is None:
        yield state
        if fits and is_first_piece(state):
            state = state.play(rng.choice(first_placements(state)))
        elif not is_first_piece(state) and rng.random() < 0.05:
            state = state.play(SkipMove())
        else:
            state = state.play(rng.choice(list(state.generate_legal_moves())))
    yield state


def _follow(engine: BlokusEngine, steps: Steps) -> None:
    if steps.clears:
        engine.answer("clear_board")
    for color, cells in steps.moves:
        engine.answer(f"play {color} {cells}")


def _engine() -> BlokusEngine:
    engine = BlokusEngine()
    engine.answer("set_game Blokus Two-Player")
    return engine


def _legal_of(engine: BlokusEngine, state: BlokusState, symmetry: Symmetry) -> set[object]:
    return {read_move(state, symmetry, text) for text in engine.legal(state.color_on_turn)}


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
@pytest.mark.parametrize("seed", range(4))
def test_an_engine_follows_a_game_and_has_the_same_moves(game: BlokusGame, seed: int) -> None:
    engine, known = _engine(), None
    for state in [each for each in _positions(game, seed, fits=True) if each.turn >= 4]:
        steps = steps_to(state, known, loads_files=False)
        assert steps is not None
        assert steps.clears == (known is None)
        _follow(engine, steps)
        known = steps.position
        if state.outcome() is None:
            assert _legal_of(engine, state, known.symmetry) == set(state.generate_legal_moves())


@pytest.mark.parametrize("seed", range(4))
def test_an_engine_gets_a_position_in_the_middle_of_a_game_as_moves(seed: int) -> None:
    for state in list(_positions(BLOKUS_2021, seed, fits=True))[4::7]:
        engine = _engine()
        steps = steps_to(state, None, loads_files=False)
        assert steps is not None
        _follow(engine, steps)
        assert engine.cells == [
            sum(1 << index for index in _moved(state.cells[color], steps.position.symmetry)) for color in Color
        ]


def _moved(mask: int, symmetry: Symmetry) -> Iterator[int]:
    for index in scan(mask):
        y, x = divmod(index, 21)
        moved_x, moved_y = symmetry.apply((x, y))
        yield moved_y * 21 + moved_x


def test_a_position_that_no_symmetry_fits_is_a_file_or_nothing() -> None:
    found = 0
    for seed in range(20):
        *_, state = [each for each in _positions(BLOKUS_2027, seed, fits=False) if each.turn <= 4]
        if any(fitting_symmetries(state)):
            continue
        found += 1
        assert steps_to(state, None, loads_files=False) is None
        steps = steps_to(state, None, loads_files=True)
        assert steps is not None
        assert (steps.clears, steps.moves, steps.position.symmetry) == (False, (), SYMMETRIES[0])
        assert steps.file is not None
        assert steps.file.startswith("(;GM[Blokus Two-Player]\nA1[")
        assert steps.file.endswith(f"PL[{state.color_on_turn + 1}])\n")
        following = state.play(next(state.generate_legal_moves()))
        more = steps_to(following, steps.position, loads_files=True)
        assert more is not None
        assert (more.file, more.clears, len(more.moves)) == (None, False, 1)
    assert found > 10


def test_an_engine_with_other_pieces_begins_again() -> None:
    *_, state = [each for each in _positions(BLOKUS_2021, 1, fits=True) if each.turn <= 12]
    pieces = pieces_of(state)
    foreign = EnginePosition(SYMMETRIES[0], frozenset({(Color.RED, frozenset({(9, 9)}))}))  # type: ignore[arg-type]
    steps = steps_to(state, foreign, loads_files=False)
    assert steps is not None
    assert steps.clears
    assert len(steps.moves) == len(pieces)


def test_the_pieces_of_a_position_are_those_that_were_placed() -> None:
    for state in _positions(BLOKUS_2021, 5, fits=False):
        found = pieces_of(state)
        for color in Color:
            placed = 21 - len(state.remaining_shapes(color))
            assert sum(piece.color is color for piece in found) == placed


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
@pytest.mark.parametrize("seat", [0, 1])
def test_first_pieces_keep_a_symmetry_whenever_the_opponent_leaves_one(game: BlokusGame, seat: int) -> None:
    rng = random.Random(seat)
    kept = 0
    for _ in range(20):
        state = game.new_state(rng)
        while is_first_piece(state):
            could_fit = any(fitting_symmetries(state))
            own = state.seat_on_turn == seat
            state = state.play(rng.choice(first_placements(state) if own else list(state.generate_legal_moves())))
            if own and could_fit and game is BLOKUS_2021:
                kept += 1
                assert any(fitting_symmetries(state))
    assert kept > 0 or game is not BLOKUS_2021


def test_every_arrangement_in_which_the_colours_of_a_player_are_opposite_has_a_symmetry() -> None:
    """Eight of the 24 arrangements of the colours in the corners."""
    game = BLOKUS_2021.with_options({"startPiece": "PENTO_V"})
    fitting = set()

    def place(state: BlokusState, corners: tuple[int, ...]) -> None:
        if len(corners) == 4:
            if any(fitting_symmetries(state)):
                fitting.add(corners)
            return
        for move in state.generate_legal_moves():
            following = state.play(move)
            corner = next(
                number for number, (x, y) in enumerate(START_CORNERS) if following.color_at(x, y) is state.color_on_turn
            )
            if corner not in corners:
                place(following, (*corners, corner))

    state = game.new_state(random.Random(1))
    place(state, ())
    assert fitting == {
        (blue, yellow, (blue + 2) % 4, (yellow + 2) % 4)
        for blue in range(4)
        for yellow in range(4)
        if (blue - yellow) % 2
    }


@given(st.sampled_from(SYMMETRIES), st.integers(0, 10_000), st.sampled_from(GAMES))
def test_reading_a_move_is_the_inverse_of_writing_it(symmetry: Symmetry, seed: int, game: BlokusGame) -> None:
    rng = random.Random(seed)
    state = game.new_state(rng)
    for _ in range(rng.randrange(12)):
        state = state.play(rng.choice(list(state.generate_legal_moves())))
    for move in list(state.generate_legal_moves())[:: rng.randrange(1, 50)]:
        assert read_move(state, symmetry, write_move(symmetry, move)) == move


@pytest.mark.parametrize("text", ["a1,c1", "a1,b1,c1,d1,e1,f1", "pass"])
def test_an_answer_that_is_no_piece_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a (piece|list of cells)"):
        read_move(BLOKUS_2021.new_state(random.Random(1)), SYMMETRIES[0], text)


def test_the_test_engine_refuses_wrong_moves() -> None:
    engine = _engine()
    for command in ("play 1 a1", "play 2 a20", "play 1 a20,c20", "fly 1 a20"):
        with pytest.raises(RefusedError):
            engine.answer(command)
    engine.answer("play 1 a20")
    with pytest.raises(RefusedError):
        engine.answer("play 1 b19")


Fault = Callable[[str], str | None]


class InProcess:
    """An engine without a process. `is_late(name)` says which commands it answers late; `gone` is its end."""

    def __init__(self, engine: BlokusEngine | None = None, is_late: Callable[[str], bool] = lambda name: False) -> None:
        self.engine = engine or BlokusEngine()
        self.is_late = is_late
        self.is_busy = False
        self.gone: EngineGoneError | None = None

    async def ask(self, name: str, *arguments: str) -> str:
        if self.gone:
            raise self.gone
        try:
            text = self.engine.answer(" ".join((name, *arguments)))
        except RefusedError as error:
            raise EngineRefusalError(f"it refused {name}: {error}") from error
        if self.is_late(name):
            await trio.sleep(1000)
        return text


async def _player(engine: InProcess, lines: list[str] | None = None) -> BridgedPlayer:
    said = [] if lines is None else lines
    player = BridgedPlayer(engine, said.append, timeout=1.0, rng=random.Random(1))
    await player.prepare()
    return player


async def _play(player: BridgedPlayer, game: BlokusGame, *, seed: int, seat: int) -> tuple[BlokusState, list[SetMove]]:
    """Play a game against random moves; returns its end and the player's moves."""
    rng = random.Random(seed)
    state, own = game.new_state(rng), []
    while state.outcome() is None:
        if state.seat_on_turn == seat:
            move = await player.choose(state)
            assert isinstance(move, SetMove)
            own.append(move)
        else:
            move = random_move(state, rng)
        state = state.play(move)  # raises an exception for an illegal move
    return state, own


@pytest.mark.slow
@pytest.mark.parametrize("without", [(), ("reg_genmove",)], ids=["reg_genmove", "genmove"])
@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
async def test_all_moves_but_the_first_pieces_are_the_engines(
    game: BlokusGame, seat: int, without: tuple[str, ...]
) -> None:
    engine = InProcess(BlokusEngine(without))
    player = await _player(engine)
    for seed in range(3):
        already = player.engine_moves
        _, own = await _play(player, game, seed=seed, seat=seat)
        assert player.engine_moves - already == len(own) - 2
        assert player.other_moves == {FallbackReason.FIRST_PIECE: 2 * (seed + 1)}


@pytest.mark.slow
async def test_without_a_symmetry_and_without_files_the_built_in_strategy_plays() -> None:
    lines: list[str] = []
    engine = InProcess(BlokusEngine(("loadsgf",)))
    player = await _player(engine, lines)
    _, own = await _play(player, BLOKUS_2027, seed=1, seat=0)
    assert player.other_moves.total() + player.engine_moves == len(own)
    assert player.other_moves[FallbackReason.NO_BRIDGE] > 0
    assert sum("loads no positions" in line for line in lines) == 1


async def test_the_board_is_set_once_and_then_followed() -> None:
    engine = InProcess()
    player = await _player(engine)
    _, own = await _play(player, BLOKUS_2021, seed=4, seat=0)
    commands = [line.split()[0] for line in engine.engine.history]
    assert commands.count("clear_board") + commands.count("loadsgf") == 1
    assert commands.count("reg_genmove") == len(own) - 2


async def _midgame() -> BlokusState:
    """Return a position with a symmetry in which BLUE has to move."""
    rng = random.Random(3)
    state = BLOKUS_2021.new_state(rng)
    while is_first_piece(state):
        following = [move for move in state.generate_legal_moves() if any(fitting_symmetries(state.play(move)))]
        state = state.play(rng.choice(following))
    return state


@pytest.mark.parametrize(
    ("fault", "reason", "text"),
    [
        ("refuse", FallbackReason.REFUSED, "it refused reg_genmove: no search tree"),
        ("unreadable", FallbackReason.UNREADABLE, "not a list of cells: 'q16 or so'"),
        ("not-a-piece", FallbackReason.UNREADABLE, "not a piece: 'a1,c3'"),
        ("illegal", FallbackReason.ILLEGAL, "OBSTRUCTED"),
        ("pass", FallbackReason.NO_MOVE, "pass"),
        ("resign", FallbackReason.NO_MOVE, "resign"),
    ],
)
@pytest.mark.parametrize("without", [(), ("reg_genmove",)], ids=["reg_genmove", "genmove"])
async def test_a_wrong_answer_is_never_sent(
    fault: str, reason: FallbackReason, text: str, without: tuple[str, ...]
) -> None:
    lines: list[str] = []
    engine = InProcess(BlokusEngine(without, fault, at=2))
    player = await _player(engine, lines)
    state = await _midgame()
    for _ in range(3):  # the second and the third answer are wrong
        move = await player.choose(state)
        assert state.check(move) is None
    assert (player.engine_moves, player.other_moves) == (1, {reason: 2})
    (line,) = lines
    assert line.startswith(f"not the engine's move: {reason.value} (")
    assert text.replace("reg_genmove", "genmove" if without else "reg_genmove") in line


async def test_an_engine_continues_after_a_refusal() -> None:
    engine = InProcess()
    player = await _player(engine)
    state = await _midgame()
    engine.engine.fault, engine.engine.at = "refuse", 0
    await player.choose(state)
    engine.engine.fault = ""
    await player.choose(state)
    assert (player.engine_moves, player.other_moves.total()) == (1, 1)


async def test_a_late_engine_is_waited_for_only_a_few_times_until_it_has_answered(autojump_clock: MockClock) -> None:
    lines: list[str] = []
    engine = InProcess(is_late=lambda name: name == "reg_genmove")
    player = await _player(engine, lines)
    state = await _midgame()

    async def seconds() -> float:
        begin = trio.current_time()
        assert state.check(await player.choose(state)) is None
        return trio.current_time() - begin

    engine.is_busy = True
    assert [await seconds() for _ in range(MAX_LATE_ANSWERS + 2)] == pytest.approx([1.0] * MAX_LATE_ANSWERS + [0.0] * 2)
    assert player.other_moves == {FallbackReason.LATE: MAX_LATE_ANSWERS + 2}
    assert lines == ["not the engine's move: the engine did not answer in time (limit: 1 s)"]
    engine.is_busy = False
    engine.is_late = lambda name: False
    assert await seconds() == 0.0
    assert player.engine_moves == 1


async def test_late_answers_that_do_not_follow_each_other_are_forgiven(autojump_clock: MockClock) -> None:
    count = 0

    def is_late(name: str) -> bool:
        nonlocal count
        count += name == "reg_genmove"
        return name == "reg_genmove" and count % 2 == 1

    player = await _player(InProcess(is_late=is_late))
    state = await _midgame()
    for _ in range(4 * MAX_LATE_ANSWERS):
        await player.choose(state)
    assert player.engine_moves == 2 * MAX_LATE_ANSWERS
    assert player.other_moves == {FallbackReason.LATE: 2 * MAX_LATE_ANSWERS}


async def test_an_engine_that_has_ended_is_not_asked_again() -> None:
    lines: list[str] = []
    engine = InProcess()
    player = await _player(engine, lines)
    state = await _midgame()
    await player.choose(state)
    engine.gone = EngineGoneError("it ended with exit code 3")
    await player.choose(state)
    engine.gone = None
    await player.choose(state)
    assert (player.engine_moves, player.other_moves) == (1, {FallbackReason.GONE: 2})
    assert lines == ["not the engine's move: the engine cannot be used any more (it ended with exit code 3)"]
    assert player.summary() == (
        "Test engine 1.0 chose 1 of 3 moves, the strategy greedy 2: 2 because the engine cannot be used any more"
    )


@pytest.mark.parametrize(
    ("without", "text"),
    [
        (("genmove",), "it does not know the command genmove"),
        (("clear_board", "play"), "it does not know the commands clear_board, play"),
        (("list_commands",), "it refused list_commands: unknown command (list_commands)"),
    ],
)
async def test_an_engine_that_lacks_commands_is_refused(without: tuple[str, ...], text: str) -> None:
    with pytest.raises(EngineStartError, match=f"^{text.replace('(', '[(]').replace(')', '[)]')}$"):
        await _player(InProcess(BlokusEngine(without)))


async def test_an_engine_for_one_game_only_need_not_know_its_name() -> None:
    engine = BlokusEngine(("set_game",))
    engine.is_two_player = True
    player = await _player(InProcess(engine))
    await player.choose(await _midgame())
    assert player.engine_moves == 1


async def test_an_engine_that_does_not_answer_at_the_beginning_is_refused(autojump_clock: MockClock) -> None:
    with pytest.raises(EngineStartError, match=f"within {START_TIMEOUT:g} s"):
        await _player(InProcess(is_late=lambda name: name == "name"))


async def test_long_answers_of_an_engine_are_shortened_for_the_user() -> None:
    class Talkative(InProcess):
        async def ask(self, name: str, *arguments: str) -> str:
            text = await super().ask(name, *arguments)
            return "long\n" * 200_000 if name in {"name", "reg_genmove"} else text

    lines: list[str] = []
    player = await _player(Talkative(), lines)
    await player.choose(await _midgame())
    assert player.other_moves == {FallbackReason.UNREADABLE: 1}
    for line in (*lines, player.name, player.summary()):
        assert len(line) < 600
        assert line.isprintable()
