"""`python -m spielleiter.viewer.analysis FILE`: prints the moves of a replay after which a side lost most.

Each is a line of JSON:

    {"ply": 37, "turn": 40, "player": 0, "loss": 5.5, "played": ..., "better": {...}, "words": {"de": ..., "en": ...}}

`ply` and `turn` are those of the position after the move. `-` reads the replay from standard input. `--player 1` or
`--player 2` looks at the moves of that player; otherwise at those of the loser. `--seed N` draws other continuations. A
FILE that cannot be shown gives one line on standard error, and exit code 2.

With `--events`, for programs, all lines are events on standard output:

    {"event": "progress", "done": 3, "of": 71}
    {"event": "result", "moments": [...], "method": {"de": ..., "en": ...}}
    {"event": "failed", "error": {"de": ..., "en": ...}}

Invariants: the process has a low priority, so that it takes little time from games on the same machine.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from pathlib import Path

from spielleiter.common.terminal import end_quietly_without_readers
from spielleiter.viewer.analysis.estimate import AnalysisError
from spielleiter.viewer.analysis.report import IMPOSSIBLE, analyse_replay
from spielleiter.viewer.positions.view import Json, Words
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
    parser = argparse.ArgumentParser(
        prog="python -m spielleiter.viewer.analysis",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", help="the replay; - for standard input")
    parser.add_argument("--player", type=int, choices=(1, 2), help="whose moves to look at (default: the loser's)")
    parser.add_argument("--seed", type=int, default=0, help="draws other continuations (default: %(default)s)")
    parser.add_argument("--events", action="store_true", help="print events, also of the progress, for programs")
    options = parser.parse_args(arguments)
    _lower_priority()

    def report_progress(done: int, of: int) -> None:
        if options.events:
            _print({"event": "progress", "done": done, "of": of})

    def fail(words: Words) -> int:
        if options.events:
            _print({"event": "failed", "error": words})
        else:
            sys.stderr.write(f"{options.file}: {words['en']}\n")
        return _EXIT_MISUSE

    try:
        if options.file == "-":
            replay = read_replay(sys.stdin.buffer.read(MOST_BYTES + 1), "")
        else:
            replay = load_replay(Path(options.file))
        player = None if options.player is None else options.player - 1
        result = analyse_replay(replay, player, options.seed, report_progress)
    except ReplayFileError as error:
        return fail(error.words)
    except AnalysisError:
        return fail(IMPOSSIBLE)
    if options.events:
        _print({"event": "result", **result})
    else:
        for moment in result["moments"]:
            _print(moment)
        if not result["moments"]:
            sys.stderr.write(f"{options.file}: no move stands out\n")
    return 0


def _print(line: Json) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    end_quietly_without_readers()
    sys.exit(main())
