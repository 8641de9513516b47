"""Let two programs play a match, and print which one is better.

A program is a command, a .jar file or a built-in player such as builtin:greedy:

    python3 run_match.py "python3 my_player.py" builtin:greedy --games 20
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path


def main() -> None:
    """Read the options, play the match and print its result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs=2, metavar="PROGRAM", help="command, .jar file or builtin:NAME")
    parser.add_argument("--games", type=int, default=20, help="number of games (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("match"), help="folder of the reports (default: %(default)s)")
    options = parser.parse_args()

    # -P keeps the files of the current folder from being imported instead of the program's modules.
    spielleiter = [sys.executable, "-P", "-m", "spielleiter"]
    players = ["--player1", options.programs[0], "--player2", options.programs[1]]
    done = subprocess.run(
        [*spielleiter, "match", *players, "--games", str(options.games), "--out", str(options.out)], check=False
    )
    if done.returncode:
        sys.exit(done.returncode)  # the command has said why

    summary = json.loads((options.out / "summary.json").read_text(encoding="utf-8"))
    elo = summary["elo"]
    if elo is None or elo["value"] is None:
        print("There is no finite Elo difference: too few games, or one program has won all of them.")
    else:
        print(f"Elo difference {elo['value']:.0f}, 95 % interval from {elo['low']} to {elo['high']}")


if __name__ == "__main__":
    main()
