"""The client side of the protocol: players, administrators and built-in strategies.

For plain scripts and Python's prompt:

- `play_game` plays one game with your strategy, a function that takes a position and returns a move.
- `connect_admin` opens an administrator's connection, which prepares, observes, pauses, steps and cancels games.

For programs that run trio: `Player` and `AdminClient`. All errors of the server and the connection are `ClientError`s.

    from spielleiter.client import play_game

    def strategy(state):
        return next(iter(state.generate_legal_moves()))

    print(play_game(strategy).has_won)
"""

from __future__ import annotations

from spielleiter.client.admin import AdminClient, Following, Observation, ObserverEvent, PreparedRoom
from spielleiter.client.blocking import SyncAdminClient, SyncFollowing, SyncObservation, connect_admin, play_game
from spielleiter.client.client_errors import (
    AuthenticationError,
    CannotConnectError,
    ClientError,
    ConnectionLostError,
    NoFeedError,
    NoStatusError,
    NotAMoveError,
    RequestRefusedError,
    ServerProtocolError,
    StrategyError,
    UnspeakableError,
)
from spielleiter.client.player import GameEnd, GameReport, Player, Responder, Strategy
from spielleiter.client.responders import make_responder
from spielleiter.players.strategies import STRATEGIES
from spielleiter.protocol.messages import Cause, ErrorMessage, Memento, MoveData, Paused, Result, Slot

__all__ = [
    "STRATEGIES",
    "AdminClient",
    "AuthenticationError",
    "CannotConnectError",
    "Cause",
    "ClientError",
    "ConnectionLostError",
    "ErrorMessage",
    "Following",
    "GameEnd",
    "GameReport",
    "Memento",
    "MoveData",
    "NoFeedError",
    "NoStatusError",
    "NotAMoveError",
    "Observation",
    "ObserverEvent",
    "Paused",
    "Player",
    "PreparedRoom",
    "RequestRefusedError",
    "Responder",
    "Result",
    "ServerProtocolError",
    "Slot",
    "Strategy",
    "StrategyError",
    "SyncAdminClient",
    "SyncFollowing",
    "SyncObservation",
    "UnspeakableError",
    "connect_admin",
    "make_responder",
    "play_game",
]
