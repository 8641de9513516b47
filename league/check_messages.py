"""The messages between the league and the process that checks or unpacks an upload (check_process.py, checks.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

import msgspec

from spielleiter.league.model import Fault
from spielleiter.league.package_needs import PackageNeeds


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


class StartUnpacking(msgspec.Struct, frozen=True, tag=True):
    """To the process: unpack an accepted package, `path`, into `folder`; what is there is removed first."""

    path: str
    main: str
    """As in `StartCheck`."""
    parameters: tuple[str, ...]
    folder: str


class FindNeeds(msgspec.Struct, frozen=True, tag=True):
    """To the process: tell what the package at `path` needs on another machine."""

    path: str
    main: str
    """As in `StartCheck`."""


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
    """Process: what was asked is not possible on this machine at the moment, its last message."""

    reason: str


class Unpacked(msgspec.Struct, frozen=True, tag=True):
    """Process: a package is unpacked, its last message."""

    command: str
    """What starts the program, with its parameters."""
    python_version: str
    """The version of Python that it is built for; empty if that does not matter."""


class FoundNeeds(msgspec.Struct, frozen=True, tag=True):
    """Process: what a package needs, its last message."""

    needs: PackageNeeds


ToCheck: TypeAlias = StartCheck | StartUnpacking | FindNeeds
FromCheck: TypeAlias = Doing | Checked | NotChecked | Unpacked | FoundNeeds

decode_to_check: Final[Callable[[bytes], ToCheck]] = msgspec.msgpack.Decoder(ToCheck).decode
"""Decodes the message to the process. Raises msgspec.DecodeError."""
decode_from_check: Final[Callable[[bytes], FromCheck]] = msgspec.msgpack.Decoder(FromCheck).decode
"""Decodes a message of the process. Raises msgspec.DecodeError."""
