"""The ladder of levels: how many Elo each level lies above the one before it.

Run it as `python -m benchmarks.ladder --out FOLDER`; `--help` lists the options. Run it again to continue an
interrupted measurement, or to print the table of what has been played.

Each pair of neighbours is a tournament of its own, played by `spielleiter tournament` in a folder of its
own; the figures are those of its summary. The games depend only on the seed. Time limits are not enforced. The table is
written to standard output, all else to standard error: one line for each pair, which a terminal shows while it changes.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.levels import print_row
from spielleiter.common.own_python import own_python
from spielleiter.common.text import count_text
from spielleiter.players.choosers import ladder_of, level_name
from spielleiter.server.editions import choose_editions

_FILE: Final = """\
kind = "round-robin"
game = "{game}"
games = {games}
seed = {seed}
concurrency = {concurrency}
no_timeout = true
pages = "none"

[[program]]
name = "{higher}"
command = "builtin:{higher}"

[[program]]
name = "{lower}"
command = "builtin:{lower}"
"""
_HEADINGS: Final = ("game", "level", "games", "won", "drawn", "lost", "Elo", "95 %")
_WIDTHS: Final = (24, 8, 6, 5, 6, 5, 6, 14)


@dataclass(frozen=True, slots=True)
class Rung:
    """A level and the one before it in the game `game`. `folder` is that of their tournament."""

    folder: Path
    game: str
    level: int

    def play(self, games: int, seed: int, concurrency: int) -> int:
        """Play the tournament, or continue it; return its exit code."""
        command = [*own_python(), "-P", "-m", "spielleiter", "tournament"]
        if (self.folder / "tournament.toml").exists():
            command += ["--resume", str(self.folder)]
        else:
            file = self.folder.with_suffix(".toml")
            file.parent.mkdir(parents=True, exist_ok=True)
            names = {"higher": level_name(self.level), "lower": level_name(self.level - 1)}
            text = _FILE.format(game=self.game, games=games, seed=seed, concurrency=concurrency, **names)
            file.write_text(text, encoding="utf-8")
            command += [str(file), "--out", str(self.folder)]
        return _run(command, f"{self.game} {level_name(self.level)}")

    def row(self) -> list[str]:
        """Return the cells of the table: game, level, games, won, drawn, lost, Elo and its interval."""
        found = sorted(self.folder.glob("matches/*/summary.json"))
        if not found:
            return [self.game, level_name(self.level), "0", "", "", "", "", ""]
        summary: dict[str, Any] = json.loads(found[0].read_text(encoding="utf-8"))
        results, elo = summary["results"], summary["elo"] or {}
        low, high = _elo_text(elo.get("low")), _elo_text(elo.get("high"))
        counts = [str(results[name]) for name in ("wins", "draws", "losses")]
        elo_cells = [_elo_text(elo.get("value")), f"{low} to {high}"]
        return [self.game, level_name(self.level), str(summary["counted"]), *counts, *elo_cells]


def _run(command: Sequence[str], title: str) -> int:
    """Run a tournament, count its games in one line, and return its exit code; what else it says is shown if it fails.

    Ctrl-C is left to the tournament, which lets its running games finish.
    """
    others, count, screen = list[str](), 0, sys.stderr
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8", errors="replace"
    ) as process:
        assert process.stderr is not None
        line = "..."
        while line:
            try:
                line = process.stderr.readline()
            except KeyboardInterrupt:
                continue
            if not line.startswith("game "):
                others.append(line)
                continue
            count += 1
            if screen.isatty():
                print(f"\r{title}: {count_text(count, 'game')} played", end="", file=screen, flush=True)
        exit_code = process.wait()
    if count:
        start = "\r" if screen.isatty() else ""
        print(f"{start}{title}: {count_text(count, 'game')} played", file=screen)
    if exit_code:
        screen.writelines(others)
    return exit_code


def _elo_text(value: float | None) -> str:
    return "?" if value is None else f"{value:+.0f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Play what has not been played, and print the table; return the exit code."""
    games = {
        game_type: ladder_of(edition.game.new_state(random.Random(1)))
        for game_type, edition in choose_editions({}, {}).items()
    }
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ladder",
        description="Let each level play against the one before it, and print the differences in Elo.",
    )
    parser.add_argument("--out", type=Path, required=True, help="the folder of the tournaments, which is created")
    parser.add_argument("-n", "--games", type=int, default=400, help="of each pair of levels (default: 400)")
    parser.add_argument("--seed", type=int, default=19, help="of the starts and of the noise (default: 19)")
    parser.add_argument("-j", "--concurrency", type=int, default=2, help="games at a time (default: 2)")
    parser.add_argument("--game", action="append", choices=list(games), help="all games with levels without it")
    parser.add_argument(
        "--level",
        type=int,
        action="append",
        help="play this level only; may be repeated (default: all that do not take the time they are given)",
    )
    parser.add_argument("--table", action="store_true", help="play nothing, print what has been played")
    options = parser.parse_args(arguments)
    rungs = [
        Rung(options.out / game / str(level), game, level)
        for game in options.game or games
        for level in range(2, len(games[game]) + 1)
        if (level in options.level if options.level else not games[game][level - 1].takes_time)
    ]
    print_row(_HEADINGS, _WIDTHS)
    for rung in rungs:
        if not options.table and (exit_code := rung.play(options.games, options.seed, options.concurrency)):
            return exit_code  # the tournament has said why
        print_row(rung.row(), _WIDTHS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
