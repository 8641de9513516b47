"""The conditions that are watched during all games: times, memory, output, network, windows, input and disk.

A condition that the sandbox cannot watch is not checked, and says why; a fault that shows nevertheless is reported.
Sizes are in bytes, times in seconds.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from spielleiter.common.text import count_text
from spielleiter.contest.calibration import Speed
from spielleiter.contest.package_games import GameResult, affects_game, merged, size_text
from spielleiter.contest.package_report import ConditionResult, State, state_of
from spielleiter.contest.runtime_faults import FAULTS, fault
from spielleiter.programs.contest_conditions import Condition
from spielleiter.programs.machine_delay import AnswerTimes
from spielleiter.programs.packages.faults import Finding
from spielleiter.programs.sandbox.sandbox import DISK_LIMIT, FILE_LIMIT, MEMORY_LIMIT, PROCESS_LIMIT
from spielleiter.programs.sandbox.sandbox_run import Observations

LIMIT: Final = 2.0
"""Seconds that a move may take in the contest."""
WARNING_FROM: Final = 1.5
"""Seconds from which a move is close to the limit."""
MEMORY_WARNING: Final = 0.8
"""The share of the memory from which there is a warning."""
OUTPUT_WARNING: Final = 5_000_000
"""Bytes of output in one game from which there is a warning."""
OUTPUT_LIMIT: Final = 50_000_000
"""Bytes of output in one game that no program writes on purpose."""
DISK_WARNING: Final = 100_000_000
"""Bytes in files of one game from which there is a warning."""
FILES_WARNING: Final = 1000
"""New files in one game from which there is a warning."""
START_WARNING: Final = 10.0
"""Seconds until a program has its seat from which there is a warning."""

_OUTLIERS: Final = 0.02  # of the answers, and at least one; a single answer is delayed for many reasons
_SIMILAR: Final = 0.05  # of a time; answers in this range below it take equally long
_MIN_SIMILAR: Final = 5
_MIN_DENSITY: Final = 2.0  # how much more frequent these are than those in the range below
_MIN_BUDGET: Final = 0.1  # seconds; nobody gives a program less than this on purpose
_DISTURBING_WAIT: Final = 0.1  # of the time of an answer, in which it waited for a processor
_DISTURBING_LOAD: Final = 0.5  # processors that others used during an answer, which slows down shared caches and cores


@dataclass(frozen=True, slots=True)
class ThinkTimes:
    """The answers of a program; all times are in seconds."""

    count: int
    slowest: float
    """The longest time here."""
    expected: float
    """The longest time in the contest, except for outliers."""
    worst: float
    """The longest time in the contest."""
    watches_clock: bool
    is_disturbed: bool
    """Whether other programs of this machine used so much of it that the slow answers say nothing."""

    @property
    def is_too_slow(self) -> bool:
        """Whether the slow answers are too slow; meaningless if `is_disturbed`."""
        return self.expected >= LIMIT

    @property
    def is_close(self) -> bool:
        """Whether an answer is close to the limit, or is the only one beyond it."""
        return not self.is_too_slow and self.worst >= WARNING_FROM


def judge_think_times(games: Sequence[Sequence[AnswerTimes]], speed: float) -> ThinkTimes:
    """Return the judgement on the answers of all `games`; `speed` is this machine's compared with the contest's."""
    answers = list(itertools.chain.from_iterable(games))
    if not answers:
        return ThinkTimes(0, 0.0, 0.0, 0.0, watches_clock=False, is_disturbed=False)
    watches_clock = _watches_clock(games)
    factor = 1.0 if watches_clock else speed
    expected = sorted((_expected(each, factor) for each in answers), reverse=True)
    slow = [each for each in answers if _expected(each, factor) >= LIMIT]
    seconds = sum(each.seconds for each in slow)
    waited, others = sum(each.waited for each in slow), sum(each.others for each in slow)
    return ThinkTimes(
        len(answers),
        max(each.seconds for each in answers),
        expected[_outliers(len(answers))],
        expected[0],
        watches_clock,
        waited > _DISTURBING_WAIT * seconds or others > _DISTURBING_LOAD * seconds,
    )


def _outliers(count: int) -> int:
    """Return how many of `count` answers are left out; never all of them."""
    return min(count - 1, max(1, int(_OUTLIERS * count)))


def _expected(answer: AnswerTimes, factor: float) -> float:
    """Return how long an answer takes on one core whose processor takes `factor` times as long."""
    return answer.processor * factor + max(0.0, _undelayed(answer) - answer.processor)


def _undelayed(answer: AnswerTimes) -> float:
    return max(0.0, answer.seconds - answer.waited)


def _watches_clock(games: Sequence[Sequence[AnswerTimes]]) -> bool:
    """Return whether the long answers take equally long, as those of a program that stops at its own limit.

    Answers of different games are compared only if they are not the same move of their games: the first moves of all
    games may take the same work.
    """
    times = [[_undelayed(answer) for answer in game] for game in games]
    longest = sorted(itertools.chain.from_iterable(times), reverse=True)
    limit = longest[_outliers(len(longest))]
    if limit < _MIN_BUDGET:
        return False
    least, most = (1 - _SIMILAR) * limit, (1 + _SIMILAR) * limit
    in_games = sum(max(0, _count(game, least, most) - 1) for game in times)
    moves = {move for game in times for move, seconds in enumerate(game) if least <= seconds < most}
    similar = max(in_games, len(moves) - 1)
    shorter = _count(longest, (1 - 3 * _SIMILAR) * limit, (1 - _SIMILAR) * limit)
    return similar >= max(_MIN_SIMILAR - 1, _MIN_DENSITY * shorter)


def _count(times: Sequence[float], least: float, most: float) -> int:
    return sum(least <= each < most for each in times)


class ObservedConditions:
    """Collects what was observed in all games; `gaps` are the conditions that the sandbox cannot keep, with reasons."""

    def __init__(self, speed: Speed, gaps: Mapping[Condition, str]) -> None:
        self._speed = speed
        self._gaps = gaps
        self._games: list[GameResult] = []
        self._observed: list[Observations] = []
        self._starts: list[float] = []

    def add_games(self, results: Iterable[GameResult]) -> None:
        """Take the results of games that were played one after the other."""
        for each in results:
            self._games.append(each)
            if each.observations is not None:
                self._observed.append(each.observations)

    def add_starts(self, seconds: Iterable[float]) -> None:
        """Take the times from the start of a process until it asked for its seat."""
        self._starts += seconds

    def result(self, condition: Condition) -> ConditionResult | None:
        """Return the result for a condition; None if it is not one of those that are watched here."""
        results = {
            Condition.START: self._start,
            Condition.END: self._end,
            Condition.THINK_TIME: self._think_time,
            Condition.MEMORY: self._memory,
            Condition.PROCESSES: self._processes,
            Condition.OUTPUT: self._output,
            Condition.NETWORK: self._network,
            Condition.WINDOW: self._window,
            Condition.INPUT: self._input,
            Condition.DISK: self._disk,
        }
        return results[condition]() if condition in results else None

    def _start(self) -> ConditionResult:
        if not self._starts:
            return ConditionResult(Condition.START, State.NOT_CHECKED, "the program never asked for its seat")
        slowest = max(self._starts)
        findings = [fault("slow-start", seconds=f"{slowest:.1f} s")] if slowest >= START_WARNING else []
        return self._result(Condition.START, f"the program asks for its seat after {slowest:.2f} s at most", findings)

    def _end(self) -> ConditionResult:
        """Judge the games that the program has played to their end."""
        ended = [each for each in self._games if not any(map(affects_game, each.findings))]
        if not ended:
            return ConditionResult(Condition.END, State.NOT_CHECKED, "the program has played no game to its end")
        sound = sum(not each.findings for each in ended)
        text = f"the program ends itself and leaves nothing behind in {sound} of {count_text(len(ended), 'game')}"
        return self._result(Condition.END, text)

    def _think_time(self) -> ConditionResult:
        judged = judge_think_times([each.answers for each in self._games], self._speed.factor)
        expected = judged.expected if judged.is_too_slow else judged.worst
        values = {"slowest": f"{judged.slowest:.3f} s", "expected": f"{expected:.2f} s"}
        if judged.watches_clock:
            scaled = "not scaled, since the program seems to watch the clock itself"
        else:
            scaled = f"about {values['expected']} in the contest, an estimate"
        text = f"the slowest of {count_text(judged.count, 'move')} takes {values['slowest']} here ({scaled})"
        late = [each for each in self._own_findings() if each.code in {"timeout", "hangs"}]
        if late:
            return self._result(Condition.THINK_TIME, text, late)
        if not judged.count:
            return ConditionResult(Condition.THINK_TIME, State.NOT_CHECKED, "the program has made no move")
        if judged.is_too_slow and judged.is_disturbed:
            busy = "other programs of this machine delayed the slow moves, so this says nothing"
            return ConditionResult(Condition.THINK_TIME, State.UNDECIDED, f"{text}; {busy}")
        codes = ["too-slow"] if judged.is_too_slow else ["nearly-too-slow"] if judged.is_close else []
        return self._result(Condition.THINK_TIME, text, [fault(code, **values) for code in codes])

    def _memory(self) -> ConditionResult:
        peaks = [each.peak_memory for each in self._observed if each.peak_memory is not None]
        peak = max(peaks, default=0)
        values = {"peak": size_text(peak), "limit": size_text(MEMORY_LIMIT)}
        findings: list[Finding] = []
        if peak > MEMORY_LIMIT or any(each.exceeded_memory for each in self._observed):
            findings.append(fault("too-much-memory", **values))
        elif peak >= MEMORY_WARNING * MEMORY_LIMIT:
            findings.append(fault("much-memory", **values))
        if Condition.MEMORY in self._gaps:
            findings.append(fault("memory-not-limited", reason=self._reason(Condition.MEMORY)))
        elif not peaks and not findings and not self._of(Condition.MEMORY):
            return ConditionResult(Condition.MEMORY, State.NOT_CHECKED, self._gap(Condition.MEMORY))
        known = f"the program needs up to {values['peak']} of {values['limit']}"
        return self._result(Condition.MEMORY, known if peaks else "the peak is not known", findings)

    def _processes(self) -> ConditionResult:
        is_exceeded = any(each.exceeded_processes for each in self._observed)
        findings = [fault("too-many-processes", limit=PROCESS_LIMIT)] if is_exceeded else []
        if Condition.PROCESSES in self._gaps:
            findings.append(fault("processes-not-limited", reason=self._reason(Condition.PROCESSES)))
            text = "not known"
        elif is_exceeded or self._of(Condition.PROCESSES):
            text = "the program has too many"
        else:
            text = f"the program has no more than {PROCESS_LIMIT} processes and threads"
        return self._result(Condition.PROCESSES, text, findings)

    def _output(self) -> ConditionResult:
        size = max((each.output_size for each in self._observed), default=0)
        code = "endless-output" if size >= OUTPUT_LIMIT else "much-output" if size >= OUTPUT_WARNING else ""
        findings = [fault(code, size=size_text(size))] if code else []
        return self._result(Condition.OUTPUT, f"the program writes up to {size_text(size)} in a game", findings)

    def _network(self) -> ConditionResult:
        attempts = [each.network_attempts for each in self._observed if each.network_attempts is not None]
        failed = self._of(Condition.NETWORK)
        if sum(attempts) and not failed:
            text = f"{count_text(max(attempts), 'attempt')} in a game"
            return self._result(Condition.NETWORK, "there were attempts", [fault("uses-network", reason=text)])
        if not attempts and not failed:
            return ConditionResult(Condition.NETWORK, State.NOT_CHECKED, self._gap(Condition.NETWORK))
        return self._result(Condition.NETWORK, "it is needed" if failed else "the program uses the game server only")

    def _window(self) -> ConditionResult:
        findings = [
            fault("opens-window", each.game.folder, reason=each.observations.window_attempts[0])
            for each in self._games
            if each.observations is not None and each.observations.window_attempts
        ]
        if failed := self._of(Condition.WINDOW):
            findings = []
        if Condition.DISPLAY in self._gaps and not findings and not failed:
            return ConditionResult(Condition.WINDOW, State.NOT_CHECKED, self._gap(Condition.DISPLAY))
        text = "there were attempts" if findings or failed else "the program opens no window"
        return self._result(Condition.WINDOW, text, findings)

    def _input(self) -> ConditionResult:
        text = "it is needed" if self._of(Condition.INPUT) else "the program needs no input and no terminal"
        return self._result(Condition.INPUT, text)

    def _disk(self) -> ConditionResult:
        files = max((each.files_written for each in self._observed), default=0)
        size = max((each.bytes_written for each in self._observed), default=0)
        findings: list[Finding] = []
        if any(each.exceeded_disk for each in self._observed):
            findings.append(fault("too-much-disk", size=size_text(DISK_LIMIT), files=f"{FILE_LIMIT:,}"))
        elif size >= DISK_WARNING or files >= FILES_WARNING:
            findings.append(fault("much-disk", size=size_text(size), count=count_text(files, "file")))
        if any(each.hid_files for each in self._observed):
            findings.append(fault("hides-files"))
        if Condition.DISK in self._gaps:
            findings.append(fault("disk-not-limited", reason=self._reason(Condition.DISK)))
        elif Condition.READ_ONLY in self._gaps and not findings and not self._of(Condition.DISK):
            return ConditionResult(Condition.DISK, State.NOT_CHECKED, self._gap(Condition.READ_ONLY))
        written = f"{count_text(files, 'file')} with {size_text(size)}" if files else "nothing"
        kept = ", which is forgotten after the game" if files else ""
        return self._result(Condition.DISK, f"the program writes {written} in a game{kept}", findings)

    def _own_findings(self) -> list[Finding]:
        return [finding for each in self._games for finding in each.findings]

    def _of(self, condition: Condition) -> list[Finding]:
        """Return the findings of the games that belong to this condition."""
        return [each for each in self._own_findings() if FAULTS[each.code].condition == condition]

    def _result(self, condition: Condition, text: str, findings: Sequence[Finding] = ()) -> ConditionResult:
        found = merged([*self._of(condition), *findings])
        return ConditionResult(condition, state_of(found), text, found)

    def _reason(self, condition: Condition) -> str:
        """Return why the sandbox does not keep a condition, as a part of a sentence."""
        return self._gap(condition).removesuffix(".")

    def _gap(self, condition: Condition) -> str:
        return self._gaps.get(condition, "it could not be observed here")
