"""Measuring the answers of a program: how much processor time each one took, and how long it waited for a processor.

Invariants: the program is looked at immediately before each request and immediately after each answer, so what it does
at its start and while its opponent thinks is not counted. How long it waited is measured as in matches
(machine_delay.py), but for every answer. This takes some milliseconds for each move, so it is for checks only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from spielleiter.programs.processes import machine_busy

_CORES = 1  # that a program has in a check, as in the contest


@dataclass(frozen=True, slots=True)
class AnswerTimes:
    """What happened during one answer, in seconds."""

    seconds: float
    """The time from the request to the answer."""
    processor: float
    """The processor time of the program and of everything that it has started."""
    waited: float = 0.0
    """How long it waited for a processor because of other programs."""
    others: float = 0.0
    """The processor time of all other programs of this machine; 0 if that is not known."""


class MeasuredProgram(Protocol):
    """A program whose answers can be measured."""

    @property
    def cpu_seconds_so_far(self) -> float: ...


class AnswerMeter:
    """Measures one program of a game; `answers` are those so far."""

    def __init__(self) -> None:
        self.answers: list[AnswerTimes] = []
        self._before: tuple[float, float | None] | None = None

    def start_request(self, program: MeasuredProgram | None) -> None:
        """Note that one of the programs is asked for a move next."""
        self._before = None if program is None else (program.cpu_seconds_so_far, machine_busy())

    def end_request(self, program: MeasuredProgram | None, seconds: float, waited: float) -> None:
        """Note that `program` has answered the last request after `seconds`, and `waited` because of others."""
        if program is None or self._before is None:
            return
        (processor_before, busy_before), busy = self._before, machine_busy()
        processor = max(0.0, program.cpu_seconds_so_far - processor_before)
        others = 0.0 if busy is None or busy_before is None else max(0.0, busy - busy_before - processor)
        waited = max(0.0, min(waited, seconds - processor / _CORES))
        self.answers.append(AnswerTimes(seconds, processor, waited, others))
