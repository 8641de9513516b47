"""What is said about a program after a game: its memory, the processes that it left, and what it tried.

Invariants: nothing here waits or measures. The texts become part of a verdict or a remark.
"""

from __future__ import annotations

from typing import Final

from spielleiter.client.client_errors import plain_text
from spielleiter.common.errors import first_error, os_error_text
from spielleiter.common.text import count_text
from spielleiter.match.games.builtin_players import BuiltinPlayer
from spielleiter.match.games.starter import MEBIBYTE
from spielleiter.match.games.verdict import STOPPED_SUPERVISOR
from spielleiter.programs.processes import ProcessInfo
from spielleiter.programs.program import Program
from spielleiter.programs.sandbox.conditions import DISK_LIMIT, FILE_LIMIT, MEMORY_LIMIT, PROCESS_LIMIT, Condition
from spielleiter.programs.sandbox.observations import Observations

NOT_ENDED: Final = "could not be ended, not even by SIGKILL"
"""The remark about processes that survive a game."""


_EXCEEDED: Final = {
    Condition.MEMORY.value: f"it used more than the contest's {MEMORY_LIMIT // MEBIBYTE} MiB of memory",
    Condition.PROCESSES.value: f"it had more than {PROCESS_LIMIT} processes and threads",
    Condition.DISK.value: f"it wrote more than {DISK_LIMIT // MEBIBYTE} MiB or {FILE_LIMIT:,} files, or hid them",
}
"""Why a sandbox killed a program, by the limit that it has exceeded."""


def name_of(process: ProcessInfo) -> str:
    """Return the name of a process with its id, which is 0 if the process was in a sandbox."""
    return f"{process.name} ({process.pid})" if process.pid else process.name


def memory_text(limit: int | None, program: Program | BuiltinPlayer) -> str:
    """Return which limit a program that failed has exceeded; empty if it was not limited.

    `limit` is in mebibytes.
    """
    if isinstance(program, BuiltinPlayer):
        return ""
    if program.exceeded:
        return f"it was killed because {_EXCEEDED[program.exceeded]}"
    if limit is None or not program.returncode:
        return ""
    return f"it was allowed {limit} MiB of data and had up to {program.peak_memory // MEBIBYTE} MiB in memory"


def remarks_on(program: Program | BuiltinPlayer, observed: Observations | None) -> tuple[str, ...]:
    """Return the remarks on a program; `observed` is what was seen of it in its sandbox, None if it had none."""
    remarks = []
    if isinstance(program, BuiltinPlayer) and program.interruptions:
        times = count_text(program.interruptions, "time")
        remarks.append(f"{times} the process that computed its move ended, and another one computed the move again")
    if isinstance(program, BuiltinPlayer) and program.cut_searches:
        searches = count_text(program.cut_searches, "search", "searches")
        remarks.append(f"{searches} ended early on this slow or busy machine, so it played weaker than usual")
    if program.supervisor_stops:
        remarks.append(STOPPED_SUPERVISOR)
    if program.survivors:
        remarks.append(f"{NOT_ENDED}: {', '.join(map(name_of, program.survivors))}")
    return (*remarks, *(() if observed is None else observed.remarks))


def first_text(group: BaseExceptionGroup[Exception]) -> str:
    """Return the text of the first error in a group."""
    error = first_error(group)
    return os_error_text(error) if isinstance(error, OSError) else plain_text(str(error))
