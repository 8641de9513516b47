"""Let two programs play a match, and print which one is better.

A program is a command, a .jar file or a built-in player such as builtin:greedy:

    python3 run_match.py "python3 my_player.py" builtin:greedy --games 20
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from spielleiter.match import GameRecord, MatchError, play_match, prepare_match


def print_game(record: GameRecord) -> None:
    """Print one line for a finished game; it is called while the match goes on."""
    print(f"game {record.game}: {record.verdict}", flush=True)


def main() -> None:
    """Read the options, play the match and print its result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs=2, metavar="PROGRAM", help="command, .jar file or builtin:NAME")
    parser.add_argument("--games", type=int, default=20, help="number of games (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("match"), help="folder of the reports (default: %(default)s)")
    options = parser.parse_args()

    try:
        # Nothing is started before the programs and the options have been checked.
        setup = prepare_match(*options.programs, games=options.games)
        result = play_match(setup, options.out, on_game_finished=print_game)
    except MatchError as error:
        sys.exit(f"the match cannot be played: {error}")

    print(result.headline)
    for name, faults in zip(setup.names, result.faults, strict=True):
        print(f"{name}: at fault in {faults} games")
    if result.elo is not None:
        elo = result.elo
        print(f"Elo difference {elo.value:.0f}, 95 % interval from {elo.low:.0f} to {elo.high:.0f}")
    print("report:", result.report)


if __name__ == "__main__":
    main()
