"""The messages between the league and the process that checks an upload (check_process.py, checks.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

import msgspec

from spielleiter.league.model import Fault


class StartCheck(msgspec.Struct, frozen=True, tag=True):
    """To the process: what is checked, and how."""

    kind: Literal["short", "full"]
    path: str
    """The package."""
    main: str
    """Its main file; empty: the one that is found to be it."""
    parameters: tuple[str, ...]
    game_type: str
    edition: str | None
    soft_timeout: float
    hard_timeout: float


class Doing(msgspec.Struct, frozen=True, tag=True):
    """Process: what it is doing now, for people."""

    text: str


class Checked(msgspec.Struct, frozen=True, tag=True):
    """Process: the result, its last message."""

    fault: Fault | None
    """Why the program cannot take part; None if it can."""
    warnings: tuple[Fault, ...] = ()
    """What may fail in the contest."""
    is_undecided: bool = False
    """Whether this machine was too busy to tell."""
    report: dict[str, Any] | None = None
    """The report of a full check, as `PackageReport.to_json` writes it."""


class NotChecked(msgspec.Struct, frozen=True, tag=True):
    """Process: the check is not possible on this machine at the moment, its last message."""

    reason: str


FromCheck: TypeAlias = Doing | Checked | NotChecked

decode_start: Final[Callable[[bytes], StartCheck]] = msgspec.msgpack.Decoder(StartCheck).decode
"""Decodes the message to the process. Raises msgspec.DecodeError."""
decode_from_check: Final[Callable[[bytes], FromCheck]] = msgspec.msgpack.Decoder(FromCheck).decode
"""Decodes a message of the process. Raises msgspec.DecodeError."""
