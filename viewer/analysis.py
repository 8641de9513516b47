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

A position is worth what the built-in player reaches from it when it plays both sides to the end: the mean difference in
points over some continuations. First every position of the game is measured. Then the moves after which the worth fell
most are measured again, more exactly and together with other moves that were possible: what a move has cost is the
difference to the best of them. This is an estimate. It depends on how the built-in player plays, which is not perfect,
and on chance; but not on the speed of the machine, since work is counted in plies.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Final

from spielleiter.common.terminal import end_quietly_without_readers
from spielleiter.game.api import Move, Seat, State
from spielleiter.players.choosers import greedy_move, players_of
from spielleiter.players.search_budget import NoMoveError
from spielleiter.viewer.game_json import describe_end, distinct_positions
from spielleiter.viewer.positions.describe import view_of
from spielleiter.viewer.positions.view import Json, Words, shortened_text
from spielleiter.viewer.replay_files import MOST_BYTES, Replay, ReplayFileError, load_replay, read_replay

MOMENTS: Final = 5
"""The number of moves that are reported."""
FIRST_CONTINUATIONS: Final = 2
"""The continuations of each position at first."""
EXACT_CONTINUATIONS: Final = 6
"""The continuations of each move that is compared with others."""
_CANDIDATES: Final = 8
"""The number of moves that are compared with others."""
_ALTERNATIVES: Final = 3
"""The number of other moves that each is compared with."""
LONGEST_CONTINUATION: Final = 400
"""More plies than any game has."""
MOST_PLIES: Final = 60_000
"""The plies after which no further position is measured; a game of Blokus needs a fifth of that, some seconds."""
METHOD: Final[Words] = {
    "de": (
        "Das ist eine Schätzung: Der eingebaute Spieler „greedy“ hat von jeder Stellung aus für beide Seiten "
        f"weitergespielt, von den auffälligen Zügen aus je {EXACT_CONTINUATIONS}-mal. Verglichen werden die Punkte am "
        "Ende dieser Partien. Bessere Spieler können zu einem anderen Ergebnis kommen."
    ),
    "en": (
        "This is an estimate: the built-in player “greedy” played on for both sides from every position, "
        f"{EXACT_CONTINUATIONS} times from the moves that stood out. The points at the end of those games are "
        "compared. Better players may come to another result."
    ),
}


@dataclass(frozen=True, slots=True)
class Moment:
    """A move that cost its player points, and the one that would have been better."""

    ply: int
    """The number of the move, from 1."""
    player: Seat
    loss: float
    """The mean difference in points between both moves, when the built-in player plays on."""
    played: Move
    better: Move


def find_moments(
    states: Sequence[State],
    players: Sequence[Seat],
    seed: int = 0,
    on_progress: Callable[[int, int], object] = lambda _done, _of: None,
) -> list[Moment]:
    """Return the moves that cost a side most, the most expensive one first, at most `MOMENTS`.

    - `states`: the positions of the game in their order.
    - `players`: the seats whose moves are looked at.
    - `seed`: makes the same result in every run.
    - `on_progress`: called with the steps that are done and the number of all steps.

    Raises ReplayFileError for positions that cannot occur in a game.
    """
    if not all(view_of(state).is_possible(state) for state in states):
        raise ReplayFileError(
            "Die Datei enthält Stellungen, die in keinem Spiel vorkommen können.",
            "The file holds positions that cannot occur in a game.",
        )
    steps = len(states) + min(_CANDIDATES, max(0, len(states) - 1))
    player = _Continuations(seed)
    worths = []
    for done, state in enumerate(states, 1):
        worths.append(player.worth(state, FIRST_CONTINUATIONS))
        on_progress(done, steps)
    falls = []
    for ply in range(1, len(states)):
        seat = states[ply - 1].seat_on_turn
        if seat in players and len(list(islice(states[ply - 1].generate_legal_moves(), 2))) == 2:  # it had a choice
            falls.append((_for(seat, worths[ply - 1] - worths[ply]), -ply))
    moments = []
    for number, (_, negated) in enumerate(sorted(falls, reverse=True)[:_CANDIDATES], 1):
        before, after = states[-negated - 1], states[-negated]
        seat, played = before.seat_on_turn, getattr(after, "last_move", None)
        worth = _for(seat, player.worth(after, EXACT_CONTINUATIONS))
        # the moves that the built-in player rates highest, without the one that was played
        own = players_of(before)
        ranked = sorted(
            enumerate(own.contenders(list(before.generate_legal_moves()))),
            key=lambda each: (own.evaluate(before, each[1]), -each[0]),
            reverse=True,
        )
        best: tuple[float, Move] | None = None
        for move in [move for _, move in ranked if move != played][:_ALTERNATIVES]:
            other = _for(seat, player.worth(before.play(move), EXACT_CONTINUATIONS))
            if best is None or other > best[0]:
                best = other, move
        if best is not None and best[0] > worth and played is not None:
            moments.append(Moment(-negated, seat, round(best[0] - worth, 1), played, best[1]))
        on_progress(len(states) + number, steps)
    on_progress(steps, steps)
    return sorted(moments, key=lambda moment: (-moment.loss, moment.ply))[:MOMENTS]


def _for(seat: Seat, worth: float) -> float:
    """Return a worth, which is that of the first player, for the player in `seat`."""
    return worth if seat == 0 else -worth


class _Continuations:
    """Plays games on with the built-in player, and counts the plies."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._plies = 0

    def worth(self, state: State, continuations: int) -> float:
        """Return the mean difference in points at the end, from the first player's point of view."""
        if self._plies >= MOST_PLIES or state.outcome() is not None:
            return _difference(state)
        differences = []
        for number in range(continuations):
            rng, end = random.Random(f"{self._seed} {number}"), state
            for _ in range(LONGEST_CONTINUATION):
                if end.outcome() is not None:
                    break
                try:
                    end = end.play(greedy_move(end, rng))
                except NoMoveError:  # a position of a hostile file, in which nobody can move
                    break
                self._plies += 1
            differences.append(_difference(end))
        return fmean(differences)


def _difference(state: State) -> int:
    return state.points(0)[0] - state.points(1)[0]


def analyse_replay(
    replay: Replay,
    player: Seat | None = None,
    seed: int = 0,
    on_progress: Callable[[int, int], object] = lambda _done, _of: None,
) -> Json:
    """Return the moves that cost a side most (``moments``) and how they were found (``method``). Takes seconds.

    - `player`: whose moves are looked at; None for the loser's, or for both sides' if nobody has won.
    - `seed`, `on_progress`: those of `find_moments`.

    Raises ReplayFileError for positions that cannot occur in a game.
    """
    players: tuple[Seat, ...] = (0, 1)
    if player is not None:
        players = (player,)
    elif (end := describe_end(replay.record)) is not None and end["winner"] is not None:
        players = (1 - end["winner"],)
    states = [memento.state for memento in distinct_positions(replay.record)]
    moments = [
        describe_moment(each, states[each.ply - 1], states[each.ply])
        for each in find_moments(states, players, seed, on_progress)
    ]
    return {"moments": moments, "method": METHOD}


def describe_moment(moment: Moment, before: State, after: State) -> Json:
    better = {"text": shortened_text(moment.better), "cells": None, **view_of(before).move(before, moment.better)}
    loss = f"{moment.loss:.1f}"
    return {
        "ply": moment.ply,
        "turn": after.turn,
        "player": moment.player,
        "loss": moment.loss,
        "played": shortened_text(moment.played),
        "better": better,
        "words": {
            "de": f"Der Zug kostete etwa {loss.replace('.', ',')} Punkte; besser war {better['text']}.",
            "en": f"The move cost about {loss} points; {better['text']} was better.",
        },
    }


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
    # everything else on this machine goes first
    if sys.platform == "win32":
        import psutil

        with contextlib.suppress(psutil.Error):
            psutil.Process().nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)
    else:
        with contextlib.suppress(OSError):
            os.nice(10)

    def report_progress(done: int, of: int) -> None:
        if options.events:
            _print({"event": "progress", "done": done, "of": of})

    try:
        if options.file == "-":
            replay = read_replay(sys.stdin.buffer.read(MOST_BYTES + 1), "")
        else:
            replay = load_replay(Path(options.file))
        player = None if options.player is None else options.player - 1
        result = analyse_replay(replay, player, options.seed, report_progress)
    except ReplayFileError as error:
        if options.events:
            _print({"event": "failed", "error": error.words})
        else:
            sys.stderr.write(f"{options.file}: {error}\n")
        return 2
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
