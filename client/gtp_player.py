"""A player of the contest's Blokus that asks a GTP engine; `players/gtp_blokus.py` translates.

Invariants: every move that is sent is legal. If the engine has no legal move in time, a built-in strategy chooses, and
the reason is counted and said once.
"""

from __future__ import annotations

import enum
import random
from collections import Counter
from collections.abc import Callable
from typing import Final

import trio

from spielleiter.client.gtp_engine import AsksEngine, EngineError, EngineRefusalError, EngineStartError, shown_text
from spielleiter.common.files import temporary_directory
from spielleiter.game.api import Move, State
from spielleiter.game.blokus import BlokusState
from spielleiter.players.blokus import cells_and_corners
from spielleiter.players.choosers import greedy_move
from spielleiter.players.gtp_blokus import (
    VARIANT,
    EnginePosition,
    color_argument,
    first_placements,
    is_first_piece,
    pieces_of,
    read_move,
    steps_to,
)

DEFAULT_ENGINE_TIMEOUT: Final = 1.5
"""Seconds that an engine has for a move; the contest's limit is 2 s."""
START_TIMEOUT: Final = 30.0
"""Seconds that an engine has until it answers its first commands; some load large files."""
MAX_LATE_ANSWERS: Final = 3


class FallbackReason(enum.Enum):
    """Why a move was not the engine's; the value is what is said about it."""

    FIRST_PIECE = "the contest prescribes the first piece of each colour, which GTP cannot express"
    NO_BRIDGE = "the colours started where they cannot in the engine's game, and it loads no positions (loadsgf)"
    LATE = "the engine did not answer in time"
    NO_MOVE = "the engine passed or resigned, but the game goes on"
    UNREADABLE = "the engine's answer is not a move"
    ILLEGAL = "the engine's move is against the rules of the contest"
    REFUSED = "the engine refused a command"
    GONE = "the engine cannot be used any more"


class BridgedPlayer:
    """Chooses moves by asking an engine; `choose` is a strategy for `Player.play`.

    - `engine`: the engine, ready for commands.
    - `say`: called with a line for the user when a move is not the engine's, once for each `FallbackReason`.
    - `timeout`: the seconds that the engine has for each move.
    - `rng`: the source of randomness of the built-in moves.
    """

    def __init__(self, engine: AsksEngine, say: Callable[[str], None], *, timeout: float, rng: random.Random) -> None:
        self._engine = engine
        self._say = say
        self._timeout = timeout
        self._rng = rng
        self._commands = frozenset[str]()
        self._known: EnginePosition | None = None
        self._late_answers = 0
        self._is_lost = False
        self.name = ""
        """The engine's name and version."""
        self.engine_moves = 0
        """The number of moves that the engine chose."""
        self.other_moves = Counter[FallbackReason]()
        """The number of moves that it did not choose, by reason."""

    async def prepare(self) -> None:
        """Ask the engine what it is, and set its game. Raises EngineStartError if it cannot play."""
        try:
            with trio.fail_after(START_TIMEOUT):
                name, version = await self._engine.ask("name"), await self._engine.ask("version")
                self._commands = frozenset((await self._engine.ask("list_commands")).split())
                if "set_game" in self._commands:
                    await self._engine.ask("set_game", VARIANT)
        except trio.TooSlowError:
            raise EngineStartError(f"it did not answer within {START_TIMEOUT:g} s; does it speak GTP?") from None
        except EngineError as error:
            raise EngineStartError(str(error)) from error
        if missing := {"genmove", "play", "clear_board"} - self._commands:
            words = "command" if len(missing) == 1 else "commands"
            raise EngineStartError(f"it does not know the {words} {', '.join(sorted(missing))}")
        self.name = shown_text(f"{name} {version}")

    async def choose(self, state: State) -> Move:
        """Return a legal move."""
        assert isinstance(state, BlokusState)
        if is_first_piece(state):
            self._note(FallbackReason.FIRST_PIECE)
            self.other_moves[FallbackReason.FIRST_PIECE] += 1
            rated = [(cells_and_corners(state, move), move) for move in first_placements(state)]
            best = max(rating for rating, _ in rated)
            return self._rng.choice([move for rating, move in rated if rating == best])
        found = FallbackReason.GONE if self._is_lost else await self._ask(state)
        if isinstance(found, FallbackReason):
            self.other_moves[found] += 1
            return greedy_move(state, self._rng)
        self.engine_moves += 1
        return found

    def summary(self) -> str:
        """Return a line about who chose the moves."""
        total = self.engine_moves + self.other_moves.total()
        line = f"{self.name} chose {self.engine_moves} of {total} moves"
        if self.other_moves:
            reasons = "; ".join(f"{count} because {reason.value}" for reason, count in self.other_moves.items())
            line += f", the strategy greedy {self.other_moves.total()}: {reasons}"
        return line

    async def _ask(self, state: BlokusState) -> Move | FallbackReason:
        """Return the engine's move, or the reason why there is none."""
        if self._late_answers >= MAX_LATE_ANSWERS and self._engine.is_busy:
            return FallbackReason.LATE
        known, self._known = self._known, None  # unknown until all commands have succeeded
        try:
            with trio.fail_after(self._timeout):
                position = await self._set_position(state, known)
                if position is None:
                    return self._note(FallbackReason.NO_BRIDGE)
                asks_only = "reg_genmove" in self._commands  # generates a move, but does not place it
                answer = await self._engine.ask(
                    "reg_genmove" if asks_only else "genmove", color_argument(state.color_on_turn)
                )
        except trio.TooSlowError:
            self._late_answers += 1
            return self._note(FallbackReason.LATE, f"limit: {self._timeout:g} s")
        except EngineRefusalError as error:
            return self._note(FallbackReason.REFUSED, str(error))
        except EngineError as error:
            self._is_lost = True
            return self._note(FallbackReason.GONE, str(error))
        self._late_answers = 0
        if answer.lower() in {"pass", "resign"}:
            self._known = position
            return self._note(FallbackReason.NO_MOVE, answer)
        try:
            move = read_move(state, position.symmetry, answer)
        except ValueError as error:
            return self._note(FallbackReason.UNREADABLE, shown_text(str(error)))
        if (mistake := state.check(move)) is not None:
            return self._note(FallbackReason.ILLEGAL, f"{mistake.name}: {move}")
        self._known = position if asks_only else EnginePosition(position.symmetry, pieces_of(state.play(move)))
        return move

    async def _set_position(self, state: BlokusState, known: EnginePosition | None) -> EnginePosition | None:
        """Bring the engine to the position `state`, and return it; None if that is impossible."""
        steps = steps_to(state, known, loads_files="loadsgf" in self._commands)
        if steps is None:
            return None
        if steps.clears:
            await self._engine.ask("clear_board")
        if steps.file is not None:
            with temporary_directory("spielleiter-") as folder:
                path = trio.Path(folder, "position.blksgf")
                await path.write_text(steps.file, encoding="utf-8")
                await self._engine.ask("loadsgf", f'"{path.as_posix()}"')  # a backslash would escape
        for arguments in steps.moves:
            await self._engine.ask("play", *arguments)
        return steps.position

    def _note(self, reason: FallbackReason, detail: str = "") -> FallbackReason:
        """Tell the user about `reason`, once."""
        if not self.other_moves[reason]:
            self._say(f"not the engine's move: {reason.value}{f' ({detail})' if detail else ''}")
        return reason
