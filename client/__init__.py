"""The client side of the protocol: players, administrators and built-in strategies.

For plain scripts and Python's prompt:

- `play_game` plays one game with your strategy, a function that takes a position and returns a move.
- `connect_admin` opens an administrator's connection, which prepares, observes, pauses, steps and cancels games.

For programs that run trio: `Player` and `AdminClient`. All errors of the server and the connection are `ClientError`s.

    from spielleiter.client import play_game

    def strategy(state):
        return next(iter(state.generate_legal_moves()))

    print(play_game(strategy).has_won)

Invariants: a name is imported from its module when it is first used, so that `import spielleiter.client` is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spielleiter.client.admin import AdminClient
    from spielleiter.client.admin_requests import PreparedRoom
    from spielleiter.client.asking import Strategy
    from spielleiter.client.blocking import SyncAdminClient, SyncObservation, connect_admin, play_game
    from spielleiter.client.errors import (
        AuthenticationError,
        CannotConnectError,
        ClientError,
        ConnectionLostError,
        NoStatusError,
        NotAMoveError,
        RequestRefusedError,
        ServerProtocolError,
        StrategyError,
        UnspeakableError,
    )
    from spielleiter.client.observation import Observation, ObserverEvent
    from spielleiter.client.player import GameEnd, GameReport, Player, Responder
    from spielleiter.client.strategies import STRATEGIES, make_responder
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
    "GameEnd",
    "GameReport",
    "Memento",
    "MoveData",
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
    "SyncObservation",
    "UnspeakableError",
    "connect_admin",
    "make_responder",
    "play_game",
]

_MODULES = {
    "spielleiter.client.admin": ("AdminClient",),
    "spielleiter.client.admin_requests": ("PreparedRoom",),
    "spielleiter.client.asking": ("Strategy",),
    "spielleiter.client.blocking": ("SyncAdminClient", "SyncObservation", "connect_admin", "play_game"),
    "spielleiter.client.observation": ("Observation", "ObserverEvent"),
    "spielleiter.client.player": ("GameEnd", "GameReport", "Player", "Responder"),
    "spielleiter.client.strategies": ("STRATEGIES", "make_responder"),
    "spielleiter.protocol.messages": ("Cause", "ErrorMessage", "Memento", "MoveData", "Paused", "Result", "Slot"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}
_MODULE_OF |= {name: "spielleiter.client.errors" for name in __all__ if name.endswith("Error")}


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULE_OF[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
