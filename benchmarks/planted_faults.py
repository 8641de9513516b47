"""A match in which one program commits every fault in turn: are all verdicts right, and is nobody innocent blamed?

`python -m benchmarks.planted_faults --games 300 --load 4` plays it beside four processes that only compute, prints
what became of each fault, and ends with exit code 1 if a verdict was wrong.
"""

from __future__ import annotations

import sys

assert sys.platform != "win32"

import argparse
import shlex
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.faulty_bot import FAULTS, HARD_LIMIT, SOFT_LIMIT
from spielleiter.match import Conditions, Entrant, GameRecord, MatchSetup, ProgramTimeouts, Verdict, play_match
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE

PROJECT = Path(__file__).parents[1]
PYTHON = shlex.quote(sys.executable)
START_LIMIT = 20.0
"""The seconds that a program has to take its seat."""

VERDICTS = {
    "none": Verdict.REGULAR,
    "dies at the start": Verdict.NO_START,
    "ends at the start": Verdict.NO_START,
    "does not connect": Verdict.NEVER_JOINS,
    "connects and waits": Verdict.NEVER_JOINS,
    "joins and dies": Verdict.CRASH,
    "garbage at the start": Verdict.NONSENSE,
    "illegal move": Verdict.ILLEGAL_MOVE,
    "unreadable move": Verdict.BAD_MESSAGE,
    "unknown room": Verdict.BAD_MESSAGE,
    "two moves": Verdict.BAD_MESSAGE,
    "garbage and silence": Verdict.BAD_MESSAGE,
    "text and silence": Verdict.BAD_MESSAGE,
    "half a packet": Verdict.HANGS,
    "late": Verdict.TIMEOUT,
    "late beside busy threads": Verdict.TIMEOUT,
    "late beside busy processes": Verdict.TIMEOUT,
    "late beside short processes": Verdict.TIMEOUT,
    "late with a low priority": Verdict.TIMEOUT,
    "late after stopping itself": Verdict.TIMEOUT,
    "thinks in a thread": Verdict.REGULAR,
    "thinks in a process": Verdict.REGULAR,
    "silent": Verdict.HANGS,
    "crashes": Verdict.CRASH,
    "ends": Verdict.DIES,
    "leaves": Verdict.DIES,  # it ends soon after
    "tries to administrate": Verdict.REGULAR,
    "takes the seat": Verdict.REGULAR,
}
"""The right verdict on each fault."""


@dataclass(frozen=True)
class Outcome:
    """What became of one fault."""

    fault: str
    record: GameRecord

    @property
    def problem(self) -> str:
        """Why the verdict is wrong; empty if it is right."""
        record, right = self.record, VERDICTS[self.fault]
        if record.verdict == Verdict.OVERLOAD:  # right only if it is a program without a fault that was delayed
            is_innocent = record.reason.startswith("honest:") or right == Verdict.REGULAR
            return "" if is_innocent and not record.is_counted else "excused"
        if record.offender == 1:
            return "the honest program is blamed"
        if record.verdict != right:
            return "wrong verdict"
        if right == Verdict.REGULAR:
            return "" if record.offender is None and record.is_counted else "a regular game has an offender"
        return "" if record.offender == 0 and record.winner == 1 and record.is_counted else "not lost"


@contextmanager
def load(processes: int) -> Iterator[None]:
    """Keep the machine busy with `processes` processes that only compute."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def play(folder: Path, games: int, concurrency: int) -> list[Outcome]:
    """Play the match in `folder`, which must be empty, and return what became of the faults."""
    project, counter = shlex.quote(str(PROJECT)), shlex.quote(str(folder))
    bot = f"env PYTHONPATH={project} {PYTHON} -P -m benchmarks.faulty_bot {counter}"
    setup = MatchSetup(
        entrants=(Entrant("faulty", bot), Entrant("honest", f"{PYTHON} -m spielleiter play -s first")),
        game_type=DEFAULT_GAME_TYPE,
        games=games,
        seed=1,
        run_id=str(folder),
        timeouts=ProgramTimeouts(start=START_LIMIT, exit=START_LIMIT),
        server_options={"soft_timeout": SOFT_LIMIT, "hard_timeout": HARD_LIMIT},
    )
    result = play_match(setup, folder / "match", conditions=Conditions(concurrency, keeps_playing=True))
    return [Outcome(_fault_of(result.folder / record.folder), record) for record in result.records]


def _fault_of(folder: Path) -> str:
    text = (folder / "program1.stderr.log").read_text(encoding="utf-8", errors="replace")
    return text.partition("fault: ")[2].partition("\n")[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=len(FAULTS) * 15)
    parser.add_argument("--load", type=int, default=4, help="processes that only compute")
    parser.add_argument("-j", dest="concurrency", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, load(given.load):
        outcomes = play(Path(folder), given.games, given.concurrency)
    counts = Counter((each.fault, each.record.verdict, each.problem) for each in outcomes)
    for (fault, verdict, problem), count in sorted(counts.items(), key=lambda item: FAULTS.index(item[0][0])):
        print(f"{count:5} {fault:24} {verdict:24} {problem}")
    for each in outcomes:
        if each.problem:
            print(f"game {each.record.game}, {each.fault}: {each.problem}: {each.record.reason}")
    wrong = sum(1 for each in outcomes if each.problem)
    print(f"{len(outcomes)} games, {wrong} wrong")
    return 1 if wrong or len(outcomes) != given.games else 0


if __name__ == "__main__":
    sys.exit(main())
