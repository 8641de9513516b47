"""`python -m spielleiter.viewer.analysis FILE`: analyses a replay and prints JSON lines.

    {"event": "progress", "done": 3, "of": 71}
    {"event": "result", "moments": [...], "method": {"de": ..., "en": ...}}

A FILE that cannot be shown gives one line, `{"event": "failed", "error": {"de": ..., "en": ...}}`, and exit code 2.
`-` reads the replay from standard input. `--player 1` or `--player 2` looks at the moves of that player; otherwise at
those of the loser. `--seed N` draws other continuations.

Invariants: the process has a low priority, so that it takes little time from games on the same machine.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from pathlib import Path

from spielleiter.viewer.analysis.estimate import AnalysisError
from spielleiter.viewer.analysis.report import IMPOSSIBLE, analyse_replay
from spielleiter.viewer.positions.view import Json
from spielleiter.viewer.replays.contents import MOST_BYTES
from spielleiter.viewer.replays.errors import ReplayFileError
from spielleiter.viewer.replays.reading import load_replay, read_replay

_EXIT_MISUSE = 2


def _lower_priority() -> None:
    """Let everything else on this machine go first."""
    if sys.platform == "win32":
        import psutil

        with contextlib.suppress(psutil.Error):
            psutil.Process().nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)
    else:
        with contextlib.suppress(OSError):
            os.nice(10)


def main(arguments: list[str] | None = None) -> int:
    """Analyse the replay that the arguments name, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m spielleiter.viewer.analysis", description=__doc__)
    parser.add_argument("file", help="the replay; - for standard input")
    parser.add_argument("--player", type=int, choices=(1, 2), help="whose moves to look at (default: the loser's)")
    parser.add_argument("--seed", type=int, default=0, help="draws other continuations (default: %(default)s)")
    options = parser.parse_args(arguments)
    _lower_priority()
    try:
        if options.file == "-":
            replay = read_replay(sys.stdin.buffer.read(MOST_BYTES + 1), "")
        else:
            replay = load_replay(Path(options.file))
        player = None if options.player is None else options.player - 1
        result = analyse_replay(replay, player, options.seed, _print_progress)
    except ReplayFileError as error:
        _print({"event": "failed", "error": error.words})
        return _EXIT_MISUSE
    except AnalysisError:
        _print({"event": "failed", "error": IMPOSSIBLE})
        return _EXIT_MISUSE
    _print({"event": "result", **result})
    return 0


def _print_progress(done: int, of: int) -> None:
    _print({"event": "progress", "done": done, "of": of})


def _print(line: Json) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
