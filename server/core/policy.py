"""What differs in conduct between editions, as values.

Law: nothing here acts, and nobody outside asks which edition it is; the room, the lobby and the session look at these
values instead. The default values are those of the documents (edition r3); each field says what the alternative is.
"""

from __future__ import annotations

import dataclasses
import enum
from dataclasses import dataclass
from typing import Any

from spielleiter.game.api import Game
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.messages import Cause
from spielleiter.server.errors import Fault


class TimeoutWinner(enum.Enum):
    """Who is named in `<winner>` when a player was too slow."""

    OPPONENT = "opponent"
    LEADER = "leader"  # whoever has more points; both if equal


class CancelWinner(enum.Enum):
    """Who is named in `<winner>` when an administrator cancels."""

    NOBODY = "nobody"
    LEADER = "leader"
    BY_RULES = "by rules"  # as if the game had been played to its end


@dataclass(frozen=True, slots=True)
class Policy:
    """The conduct of one edition's rooms and connections."""

    ends_players_streams: bool = True
    """After a game both players' streams are ended; else everybody stays connected and may join again."""

    judges_joined_games: bool = True
    """The time limits hold in games that came about by `join` too, not only in prepared ones."""

    hard_timeout_cause: Cause = Cause.HARD_TIMEOUT
    """The cause in the score of a player who never answered."""

    timeout_winner: TimeoutWinner = TimeoutWinner.OPPONENT

    cancel_winner: CancelWinner = CancelWinner.NOBODY

    observing_sends_state: bool = True
    """Who begins to observe a running game is sent its current state at once."""

    accepts_single_slot: bool = False
    """A game may be prepared with one slot; the other seat is open to any `join`."""

    explains_protocol_errors: bool = True
    """Bytes that cannot be understood are answered with what was wrong; else the connection just ends."""

    unanswered_faults: frozenset[Fault] = frozenset()
    """Refused requests that get no answer either: the connection just ends."""

    has_default_game: bool = True
    """A `join` without gameType gets the configured default game; else it is refused."""

    answers_end_tag: bool = True
    """A peer that ends its stream with the end tag gets ours; else the connection just ends."""

    keeps_refused: bool = False
    """Who asked for what cannot be granted stays connected, and in its game; else that is the end of its stream."""

    keeps_violators: bool = False
    """A player whose move lost the game stays connected; else its stream is ended behind the room's error."""

    tells_violators_the_result: bool = True
    """A player whose move lost the game is sent result and `left` like everybody; else only the error."""

    refuses_unknown_players: bool = True
    """The score of a player nobody knows is refused; else it is empty."""

    zeroes_offenders: bool = False
    """Who lost by a fault has no points either; else the points of the last position are kept."""

    tells_resuming_first: bool = False
    """Observers hear that a game goes on before they see the position; else after it."""

    absent_players_left: bool = False
    """In a result from before the start, a player who never came has left; else nobody is at fault."""

    out_of_turn_cause: Cause = Cause.LEFT
    """What a move nobody asked for costs: LEFT, as its sender is sent away; any other cause ends the game by itself."""

    joins_reserved_together: bool = False
    """`joined` for a reservation is sent when both players are in; else at once."""

    idle_timeout: float | None = None
    """Seconds after which a player is sent away who has said nothing since its last game; None: never."""

    sends_result_before_start: bool = False
    """A room that closes before both players are in sends whoever is there a result; else only `left`."""

    def evolve(self, **changes: Any) -> Policy:
        """The same conduct but for `changes` (field name to value)."""
        return dataclasses.replace(self, **changes)


@dataclass(frozen=True, slots=True)
class Edition:
    """One season's game as one release spoke it: rules, wire form and conduct."""

    name: str
    game_type: str
    game: Game
    dialect: Dialect
    policy: Policy
