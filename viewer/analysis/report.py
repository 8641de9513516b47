"""The analysis of a replay as a JSON object, with a sentence in German and in English for each move.

Invariants: the report says that it is an estimate, and how it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from spielleiter.game.api import Seat, State
from spielleiter.viewer.analysis.estimate import EXACT_CONTINUATIONS, Moment, find_moments
from spielleiter.viewer.positions.describe import view_of
from spielleiter.viewer.positions.view import Json, Words, shortened_text
from spielleiter.viewer.replays.ending import describe_end
from spielleiter.viewer.replays.game import distinct_positions
from spielleiter.viewer.replays.reading import Replay

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

IMPOSSIBLE: Final[Words] = {
    "de": "Die Datei enthält Stellungen, die in keinem Spiel vorkommen können.",
    "en": "The file holds positions that cannot occur in a game.",
}
"""What to say about an AnalysisError."""


def analyse_replay(
    replay: Replay,
    player: Seat | None = None,
    seed: int = 0,
    on_progress: Callable[[int, int], object] = lambda _done, _of: None,
) -> Json:
    """Return the moves that cost a side most (``moments``) and how they were found (``method``). Takes seconds.

    - `player`: whose moves are looked at; None for the loser's, or for both sides' if nobody has won.
    - `seed`, `on_progress`: those of `find_moments`.

    Raises AnalysisError for positions that cannot occur in a game.
    """
    end = describe_end(replay.record)
    players = sides_to_explain(None if end is None else end["winner"]) if player is None else (player,)
    states = [memento.state for memento in distinct_positions(replay.record)]
    return {"moments": describe_moments(find_moments(states, players, seed, on_progress), states), "method": METHOD}


def describe_moments(moments: Sequence[Moment], states: Sequence[State]) -> list[Json]:
    """Return the moves of an analysis as JSON objects; `states` are the positions of the game."""
    return [_describe(moment, states[moment.ply - 1], states[moment.ply]) for moment in moments]


def _describe(moment: Moment, before: State, after: State) -> Json:
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


def sides_to_explain(winner: Seat | None) -> tuple[Seat, ...]:
    """Return the seats whose moves an analysis looks at: the loser's, or both if nobody has won."""
    return (0, 1) if winner is None else (1 - winner,)
