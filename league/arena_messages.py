"""The messages between the league and its arena, the process that plays the games (arena.py, arena_client.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec

from spielleiter.match.plan import Entrant, ProgramTimeouts


class StartArena(msgspec.Struct, frozen=True, tag=True):
    """To the arena: the first message, which says how it is set up."""

    game_type: str
    edition: str | None
    run_id: str
    """Marks the processes of all programs, so that the next arena ends those that a killed one has left."""
    viewer_secret: str
    """With it, the pages may see the games at the arena's server."""
    ticket: bytes
    """What a connection to its port has to send first: programs of the games could find the port."""


class PlayPair(msgspec.Struct, frozen=True, tag=True):
    """To the arena: play the games of a pair, one after the other, and report each one."""

    key: int
    """Identifies this attempt to play the pair; no two have the same."""
    pair: int
    """The id of the pair, which is not played twice at the same time."""
    seed: int
    numbers: tuple[int, ...]
    """Which games of the pair are played. In odd ones, the first program has the first seat."""
    entrants: tuple[Entrant, Entrant]
    timeouts: ProgramTimeouts


class CancelPair(msgspec.Struct, frozen=True, tag=True):
    """To the arena: cut off the games of this attempt. It is answered as if it had failed."""

    key: int


class ArenaReady(msgspec.Struct, frozen=True, tag=True):
    """Arena: it can play."""

    port: int
    """Where its server listens for the pages, on this machine only."""
    sandbox: str
    """The name of the best sandbox that this machine has: one of `programs.sandbox.sandbox.KINDS`."""
    gaps: tuple[str, ...]
    """What that sandbox does not keep of the contest's conditions: a sentence for each."""
    most_pairs: int
    """How many pairs this machine can play at a time with fair clocks."""


class GamePlayed(msgspec.Struct, frozen=True, tag=True):
    """Arena: a game of this attempt is finished."""

    key: int
    number: int
    record: dict[str, Any]
    """The game's record, as `GameRecord.to_json` writes it."""
    replay: bytes | None
    """Compressed, as a match keeps it."""
    errors: tuple[bytes | None, bytes | None]
    """By program: what it has written to standard error; None for a built-in player."""


class PairPlayed(msgspec.Struct, frozen=True, tag=True):
    """Arena: all games of this attempt are finished and were reported."""

    key: int


class PairFailed(msgspec.Struct, frozen=True, tag=True):
    """Arena: the rest of this attempt was not played; that is no fault of a program."""

    key: int
    reason: str
    is_overloaded: bool = False
    """Whether the machine is only busy at the moment."""


ToArena: TypeAlias = StartArena | PlayPair | CancelPair
FromArena: TypeAlias = ArenaReady | GamePlayed | PairPlayed | PairFailed

decode_to_arena: Final[Callable[[bytes], ToArena]] = msgspec.msgpack.Decoder(ToArena).decode
"""Decodes a message to the arena. Raises msgspec.DecodeError."""
decode_from_arena: Final[Callable[[bytes], FromArena]] = msgspec.msgpack.Decoder(FromArena).decode
"""Decodes a message of the arena. Raises msgspec.DecodeError."""
