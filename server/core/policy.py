"""The differences in behaviour between editions, as values.

Room, lobby and session look at these values; no module asks which edition it is dealing with. The defaults are those of
the documents (edition r3).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from spielleiter.common.imports import imported
from spielleiter.game.api import Game, GameOptionError
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.messages import Cause, TimeoutRequest
from spielleiter.server.errors import Fault


class TimeoutWinner(enum.Enum):
    """Who is named in `<winner>` after a timeout."""

    OPPONENT = "opponent"
    LEADER = "leader"  # the player with more points, or both if the points are equal
    NOBODY = "nobody"  # the scores alone say it


class CancelWinner(enum.Enum):
    """Who is named in `<winner>` when an administrator cancels a game."""

    NOBODY = "nobody"
    LEADER = "leader"
    BY_RULES = "by rules"  # as if the game had been played to its end


class Policy(Struct, frozen=True):
    """The behaviour of one edition's rooms and connections."""

    ends_players_streams: bool = True
    """True: the streams of both players are ended after a game. False: they stay connected and may join again."""

    judges_joined_games: bool = True
    """True: the time limits apply to all games. False: not to games opened by `join`, only to prepared ones."""

    hard_timeout_cause: Cause = Cause.HARD_TIMEOUT
    """The cause in the score of a player that has exceeded the hard limit."""

    timeout_winner: TimeoutWinner = TimeoutWinner.OPPONENT

    cancel_winner: CancelWinner = CancelWinner.NOBODY

    observing_sends_state: bool = True
    """True: an observer of a running game is sent the position at once. False: with the next move."""

    accepts_single_slot: bool = False
    """True: a game may be prepared with one slot, and any `join` may take the other seat. False: this is refused."""

    explains_protocol_errors: bool = True
    """True: bytes that cannot be understood are answered with an error. False: the connection just ends."""

    unanswered_faults: frozenset[Fault] = frozenset()
    """The faults of requests for which the connection ends without an error."""

    ending_faults: frozenset[Fault] = frozenset()
    """The faults of requests after which the stream is ended even if `keeps_refused`; the error is sent before."""

    has_default_game: bool = True
    """True: a `join` without a gameType gets the configured default game. False: it is refused."""

    answers_end_tag: bool = True
    """True: the peer's end tag is answered with the server's. False: the connection just ends."""

    keeps_refused: bool = False
    """True: a peer whose request is refused stays connected and in its game. False: its stream is ended."""

    keeps_violators: bool = False
    """True: a player whose move lost the game stays connected. False: its stream is ended after the room's error."""

    tells_violators_the_result: bool = True
    """True: a player whose move lost the game is sent result and `left` too. False: it is sent only the error."""

    refuses_unknown_players: bool = True
    """True: a request for the score of an unknown player is refused. False: the answer is an empty score."""

    zeroes_offenders: bool = False
    """True: a player that lost by a fault gets no points. False: it keeps those of the last position."""

    tells_resuming_first: bool = False
    """True: observers are told that a game has been resumed before they get the position. False: after it."""

    absent_players_left: bool = False
    """True: if a game never starts, absent players count as having left. False: no player is at fault."""

    scores_only_expected: bool = False
    """True: the result of a game that never starts has no score for a seat that was neither prepared nor taken.

    False: it has both scores.
    """

    out_of_turn_cause: Cause = Cause.LEFT
    """The cause after a move that was not requested. LEFT: its sender is disconnected. Others end the game at once."""

    joins_reserved_together: bool = False
    """True: `joined` for a reservation is sent when both players have joined. False: at once."""

    ends_idle_players: bool = False
    """True: a player from elsewhere is disconnected if it sends nothing for a while after its last game. False: not."""

    missing_requests: frozenset[type] = frozenset({TimeoutRequest})
    """The types of requests of other seasons that this one does not have."""

    def evolve(self, **changes: Any) -> Policy:
        """Return a copy in which the fields named in `changes` have other values."""
        return replace(self, **changes)


class Edition(Struct, frozen=True, eq=False, dict=True):
    """One season's game as one release implements it: rules, wire form and behaviour.

    Rules and wire form are imported when they are first needed, so a server does not grow with the seasons that nobody
    plays. That takes some hundredths of a second, once in the life of a process.
    """

    name: str
    game_type: str
    rules: str | Game
    """The game, or where it is, for `spielleiter.common.imports.imported`."""
    wire_form: str
    """Where the dialect is."""
    policy: Policy
    release: str | None = None
    """The release of the official server that it follows, for example ``27.0.4``; None if it follows documents only."""
    since: str | None = None
    """The day from which its rules and its wire form hold: that of the first release that has them; ISO 8601."""
    options: Mapping[str, str] = MappingProxyType({})
    """The options of the game that differ from the usual ones. Values that the game does not accept are ignored."""

    @cached_property
    def game(self) -> Game:
        """The rules, with these options."""
        game = cast("Game", imported(self.rules)) if isinstance(self.rules, str) else self.rules
        for name, value in self.options.items():
            try:
                game = game.with_options({name: value})
            except GameOptionError:  # another season accepts it
                continue
        return game

    @cached_property
    def dialect(self) -> Dialect:
        """The wire form."""
        return cast("Dialect", imported(self.wire_form))

    def with_options(self, options: Mapping[str, str]) -> Edition:
        """Return this edition with these options of the game set."""
        return replace(self, options=MappingProxyType({**self.options, **options}))
