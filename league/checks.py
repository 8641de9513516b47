"""Checking and unpacking uploads, each in a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import trio

from spielleiter.league.check_messages import (
    Checked,
    Doing,
    FindNeeds,
    FoundNeeds,
    FromCheck,
    NotChecked,
    StartCheck,
    StartUnpacking,
    ToCheck,
    Unpacked,
    decode_from_check,
)
from spielleiter.league.child_process import ChildProcess, own_module
from spielleiter.league.package_needs import PackageNeeds

SHORT_TIMEOUT: Final = 55.0
"""Seconds that callers give a short check, so that it is decided within a minute."""
FULL_TIMEOUT: Final = 1800.0
"""Seconds that callers give a full check, most of whose games last as long as the program thinks."""


UNPACK_TIMEOUT: Final = 120.0
"""Seconds for unpacking; the short check, which gives way to less, has done the same in SHORT_TIMEOUT."""

_Result = TypeVar("_Result", Checked, Unpacked, FoundNeeds)


class NotCheckedError(Exception):
    """What was to be done with an upload has no result; the text says why."""

    def __init__(self, reason: str, *, is_machines_fault: bool) -> None:
        super().__init__(reason)
        self.is_machines_fault = is_machines_fault
        """Whether this machine cannot check anything at the moment; otherwise the package itself may be the reason."""


async def check_upload(start: StartCheck, tell: Callable[[str], object] = lambda _text: None) -> Checked:
    """Check an upload; `tell` is called with what is being done.

    If this is cancelled, the process and the program are ended. Raises NotCheckedError.
    """
    return await _ask(start, Checked, "the check", tell)


async def unpack_upload(start: StartUnpacking) -> Unpacked:
    """Unpack an accepted upload. Raises NotCheckedError; if that or a cancellation ends it, a part may be there."""
    return await _ask_within(UNPACK_TIMEOUT, start, Unpacked, "unpacking")


async def find_needs(start: FindNeeds) -> PackageNeeds:
    """Return what an upload needs on another machine. Raises NotCheckedError."""
    return (await _ask_within(UNPACK_TIMEOUT, start, FoundNeeds, "reading the package")).needs


async def _ask_within(seconds: float, request: ToCheck, kind: type[_Result], name: str) -> _Result:
    with trio.move_on_after(seconds):
        return await _ask(request, kind, name)
    raise NotCheckedError(f"{name} has taken more than {seconds:g} s", is_machines_fault=False)


async def _ask(
    request: ToCheck, kind: type[_Result], name: str, tell: Callable[[str], object] = lambda _text: None
) -> _Result:
    """Let a process do what is asked, and return its result, which is of this kind."""
    result: FromCheck | None = None
    scope = trio.CancelScope()
    process: ChildProcess[FromCheck]

    def receive(message: FromCheck) -> None:
        nonlocal result
        if isinstance(message, Doing):
            tell(message.text)
        else:
            result = message
            scope.cancel()

    process = ChildProcess(
        own_module("spielleiter.league.check_process"),
        decode=decode_from_check,
        on_message=receive,
        on_start=lambda: process.send_nowait(request),
    )
    code = 0
    with scope:
        try:
            code = await process.run_once()
        except OSError as error:
            raise NotCheckedError(f"{name} cannot be started ({error})", is_machines_fault=True) from None
    if isinstance(result, kind):
        return result
    if isinstance(result, NotChecked):
        raise NotCheckedError(result.reason, is_machines_fault=True)
    raise NotCheckedError(f"{name} ended without a result (exit code {code})", is_machines_fault=False)
