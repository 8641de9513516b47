"""The messages between the match, its Dask workers, and the site process on each worker.

Invariants: a message is encoded as MessagePack, preceded by its length in four bytes. Reading one creates plain values
only, so that a machine of the cluster cannot run code in the process that started the match.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec

PROTOCOL: Final = 2
"""Changed whenever a message changes; machines with different numbers do not play together."""

MAX_RESULT: Final = 64 * 1024 * 1024
"""Bytes of the files of one pair that are sent back; larger files are left out."""

HEAD: Final = struct.Struct("!I")


class Ready(msgspec.Struct, frozen=True, tag=True):
    """Site: it has started."""

    version: str
    """The version of spielleiter."""
    protocol: int
    host: str
    cores: int
    """The number of processor cores that it may use."""
    speed: float
    """How many times as fast as the processor of the contest a core is, as `spielleiter check` estimates it."""


class Item(msgspec.Struct, frozen=True):
    """A shipped file or folder, which has arrived on the machine."""

    target: str
    """Where it belongs, relative to the scratch folder."""
    digest: str
    """The SHA-256 of the received file, in hexadecimal."""
    is_folder: bool
    """Whether the received file is an archive of a folder."""


class Prepare(msgspec.Struct, frozen=True, tag=True):
    """To the site: get ready for the games of a match."""

    setup: dict[str, Any]
    """The match, as `MatchSetup.to_json` writes it."""
    slots: int
    """The number of pairs that are played at the same time."""
    cores_per_game: int | None
    is_pinned: bool
    first_core: int
    """How many of the machine's cores belong to other workers on it."""
    keep: str
    """The value of a `KeepPolicy`."""
    is_restarting: bool
    items: tuple[Item, ...] = ()


class SitePrepared(msgspec.Struct, frozen=True, tag="Prepared"):
    """Site: it can play."""


class Unable(msgspec.Struct, frozen=True, tag=True):
    """Site: this machine cannot play the match."""

    reason: str


class PlayPair(msgspec.Struct, frozen=True, tag=True):
    """To the site: play the games of a pair, one after the other."""

    key: str
    """Identifies this attempt to play the pair."""
    pair: int
    seed: int
    games: tuple[tuple[int, tuple[int, int]], ...]
    """The number and the seats of each game."""
    opening: tuple[str, int, str, bytes] | None = None
    """Name, turn, file suffix and content of the replay that the games begin from."""


class CancelPair(msgspec.Struct, frozen=True, tag=True):
    """To the site: cut off the games of this attempt."""

    key: str


class File(msgspec.Struct, frozen=True):
    """A file in the folder of a game."""

    game: int
    name: str
    content: bytes


class PairPlayed(msgspec.Struct, frozen=True, tag=True):
    """Site: the games are finished."""

    key: str
    records: tuple[dict[str, Any], ...]
    """The games' records, as `GameRecord.to_json` writes them."""
    files: tuple[File, ...]
    omitted: tuple[tuple[int, str], ...] = ()
    """Game and name of each file that was left out, since all together are too large or too many."""


class PairRefused(msgspec.Struct, frozen=True, tag=True):
    """Site: the pair was not played, or its games were cut off; that is no fault of a program."""

    key: str
    reason: str
    is_overloaded: bool = False
    """Whether the machine is busy at the moment; otherwise something failed on it."""
    is_site_gone: bool = False
    """Whether the site has ended, so that a new one has to be opened."""


ToSite: TypeAlias = Prepare | PlayPair | CancelPair
FromSite: TypeAlias = Ready | SitePrepared | Unable | PairPlayed | PairRefused

encode: Final[Callable[[ToSite | FromSite], bytes]] = msgspec.msgpack.Encoder().encode
"""Encodes a message, without its length."""
decode_to_site: Final[Callable[[bytes], ToSite]] = msgspec.msgpack.Decoder(ToSite).decode
"""Decodes a message to a site. Raises msgspec.DecodeError."""
decode_from_site: Final[Callable[[bytes], FromSite]] = msgspec.msgpack.Decoder(FromSite).decode
"""Decodes a message of a site. Raises msgspec.DecodeError."""
decode_pair_answer: Final[Callable[[bytes], PairPlayed | PairRefused]] = msgspec.msgpack.Decoder(
    PairPlayed | PairRefused
).decode
"""Decodes an answer to `PlayPair`. Raises msgspec.DecodeError."""


def framed(message: ToSite | FromSite) -> bytes:
    """Encode a message, preceded by its length."""
    data = encode(message)
    return HEAD.pack(len(data)) + data
