"""Checking an upload in a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import trio

from spielleiter.league.check_messages import Checked, Doing, FromCheck, NotChecked, StartCheck, decode_from_check
from spielleiter.league.child_process import ChildProcess, own_module

SHORT_TIMEOUT: Final = 55.0
"""Seconds that callers give a short check, so that it is decided within a minute."""
FULL_TIMEOUT: Final = 1800.0
"""Seconds that callers give a full check, most of whose games last as long as the program thinks."""


class NotCheckedError(Exception):
    """The check has no result; the text says why."""

    def __init__(self, reason: str, *, is_machines_fault: bool) -> None:
        super().__init__(reason)
        self.is_machines_fault = is_machines_fault
        """Whether this machine cannot check anything at the moment; otherwise the package itself may be the reason."""


async def check_upload(start: StartCheck, tell: Callable[[str], object] = lambda _text: None) -> Checked:
    """Check an upload; `tell` is called with what is being done.

    If this is cancelled, the process and the program are ended. Raises NotCheckedError.
    """
    result: Checked | NotChecked | None = None
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
        on_start=lambda: process.send_nowait(start),
    )
    code = 0
    with trio.CancelScope() as scope:
        try:
            code = await process.run_once()
        except OSError as error:
            raise NotCheckedError(f"the check cannot be started ({error})", is_machines_fault=True) from None
    match result:
        case Checked():
            return result
        case NotChecked(reason):
            raise NotCheckedError(reason, is_machines_fault=True)
        case None:
            raise NotCheckedError(f"the check ended without a result (exit code {code})", is_machines_fault=False)
