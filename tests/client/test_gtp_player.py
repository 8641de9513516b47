"""The player that asks an engine: whole games, and every failure of the engine."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import trio
from trio.testing import MockClock

from spielleiter.client.gtp_engine import EngineGoneError, EngineRefusalError, EngineStartError
from spielleiter.client.gtp_player import MAX_LATE_ANSWERS, START_TIMEOUT, BridgedPlayer, FallbackReason
from spielleiter.game.blokus import BLOKUS_2021, BLOKUS_2027, BlokusGame, BlokusState, SetMove
from spielleiter.players.choosers import random_move
from spielleiter.players.gtp_blokus import fitting_symmetries, is_first_piece
from tests.players.blokus_engine import BlokusEngine, RefusedError


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
@pytest.mark.parametrize("game", [BLOKUS_2021, BLOKUS_2027], ids=lambda game: game.name)
async def test_all_moves_but_the_first_pieces_are_the_engines(
    game: BlokusGame, seat: int, without: tuple[str, ...]
) -> None:
    engine = InProcess(BlokusEngine(without))
    player = await _player(engine)
    for seed in range(2):
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
