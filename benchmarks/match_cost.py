"""What a game of a match costs the command itself: processor time beside that of the programs.

Run it as `python -m benchmarks.match_cost [--base CLONE]`. Two programs in C (kept_program.c) that know their moves
beforehand play under each of CASES; what starting the command and writing its reports takes is left out, which is that
of a match of few games. A match of built-in players is measured as a whole. With `--base`, the command of another clone
plays each match by turns with this one. With TMPDIR=/dev/shm, the files of earlier rounds have no influence: on ext4, a
new file costs more for a minute after many were removed.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from spielleiter.bench.measurements import run_match, write_script
from spielleiter.bench.scripted_games import START_PIECE, load_of
from spielleiter.server.editions import EDITIONS

EDITION: Final = "blokus-2027"
SOURCE: Final = Path(__file__).with_name("kept_program.c")
ROOT: Final = Path(__file__).parent.parent
FEW: Final = 8  # games, so that all programs are started
BUILTIN_GAMES: Final = 200
CASES: Final[Mapping[str, tuple[str, ...]]] = {
    "one": ("-j", "1", "--restart", "never"),
    "two": ("-j", "2", "--restart", "never"),
    "eight": ("-j", "8", "--restart", "never"),
    "kept by nobody": ("-j", "2", "--restart", "never", "--keep", "none"),
    "started anew": ("-j", "2", "--restart", "always"),
    "eight, anew": ("-j", "8", "--restart", "always"),
}
"""The options of the matches of programs, by what is printed."""
BUILTIN: Final = "built-in players"


def milliseconds_of_a_game(command: str, games: int, options: Sequence[str], clone: Path) -> float:
    """Return the processor time of the match command and its helpers for each game, without the programs'."""
    season = ("--game", EDITIONS[EDITION].game_type, "--edition", EDITION, "--start-piece", START_PIECE)
    few, many = (
        run_match((command, command), each, *options, *season, "--pages", "none", environment=environment_for(clone))
        for each in (FEW, FEW + games)
    )
    if spoilt := few.irregular + many.irregular:
        print(f"{spoilt} games were not played to their end", file=sys.stderr)
    return 1e3 * (many.own_seconds - few.own_seconds) / games


def processor_seconds_of_built_in_games(clone: Path) -> float:
    """Return the processor time of a match of built-in players, with their thinking, and from start to report."""
    players = "builtin:greedy", "builtin:random"
    return run_match(players, BUILTIN_GAMES, "-j", "2", environment=environment_for(clone)).processor_seconds


def environment_for(clone: Path) -> dict[str, str]:
    """Return the variables with which Python finds the modules of `clone`."""
    return {**os.environ, "PYTHONPATH": str(clone / "src")}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.match_cost", description=__doc__)
    parser.add_argument("--base", type=Path, help="another clone of this project, to compare with")
    parser.add_argument("--case", action="append", choices=[*CASES, BUILTIN], help="can be repeated; default: all")
    parser.add_argument("--games", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    clones = [ROOT] if options.base is None else [options.base.absolute(), ROOT]
    with TemporaryDirectory() as name:
        program = Path(name) / "kept_program"
        subprocess.run(["cc", "-O2", "-o", program, SOURCE], check=True)  # noqa: S607 - the system's compiler
        command = shlex.join([str(program), str(write_script(load_of(EDITION), EDITION, Path(name)))])
        for case in options.case or [*CASES, BUILTIN]:
            figures: list[list[float]] = [[] for _ in clones]
            for _ in range(options.rounds):
                for own, clone in zip(figures, clones, strict=True):
                    if case == BUILTIN:
                        own.append(processor_seconds_of_built_in_games(clone))
                    else:
                        own.append(milliseconds_of_a_game(command, options.games, CASES[case], clone))
            texts = [spread(each, ".1f") for each in figures]
            if options.base is not None:
                ratios = [own / base for base, own in zip(*figures, strict=True)]
                texts.append(f"ratio {spread(ratios, '.2f')}")
            unit = f"s for {BUILTIN_GAMES} games" if case == BUILTIN else "ms a game"
            print(f"{case:16} {unit:16} {'   '.join(texts)}", flush=True)


def spread(values: Sequence[float], form: str) -> str:
    """Return the median of some values, with the least and the greatest one."""
    return f"{median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


if __name__ == "__main__":
    main(sys.argv[1:])
