"""A whole game as one JSON object, from the packets of its room, and how it ended in words.

Ply n leads from position n - 1 to position n, and both lists are in this order. What is not known is null. The players'
names, hints and outputs are data of strangers: they are bounded here, and escaped by whoever shows them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import json

from spielleiter.game.api import Seat, State
from spielleiter.protocol.messages import Cause, ErrorMessage, Memento, MoveData, Result, RoomData
from spielleiter.protocol.thinking import Thinking, ThinkingByRequest, request_of
from spielleiter.server.core.policy import Edition
from spielleiter.viewer.positions.describe import describe_illegal_move, describe_position, view_of
from spielleiter.viewer.positions.view import Json, Words
from spielleiter.viewer.replay_files import Replay

FORMAT: Final = 1
MOST_HINTS: Final = 32
"""The number of hints of one ply that are shown."""
LONGEST_HINT: Final = 2000
LONGEST_NAME: Final = 100
_LONGEST_REASON: Final = 1000

_FAULTS: Final[Mapping[Cause, Words]] = {
    Cause.LEFT: {"de": "{name} hat das Spiel verlassen", "en": "{name} left the game"},
    Cause.RULE_VIOLATION: {"de": "{name} hat gegen eine Regel verstoßen", "en": "{name} broke a rule"},
    Cause.PROCESS_VIOLATION: {
        "de": "{name} hat einen Zug geschickt, ohne an der Reihe zu sein",
        "en": "{name} sent a move out of turn",
    },
    Cause.SOFT_TIMEOUT: {"de": "{name} hat für einen Zug zu lange gebraucht", "en": "{name} took too long for a move"},
    Cause.HARD_TIMEOUT: {"de": "{name} hat keinen Zug geschickt", "en": "{name} sent no move in time"},
    Cause.UNKNOWN: {"de": "{name} hat das Spiel abgebrochen", "en": "{name} broke off the game"},
}
_WINS: Final[Words] = {"de": "{name} gewinnt", "en": "{name} wins"}
_DRAW: Final[Words] = {"de": "Unentschieden", "en": "A draw"}
_NOBODY: Final[Words] = {"de": "Niemand gewinnt", "en": "Nobody wins"}
_BROKEN_OFF: Final[Words] = {"de": "Das Spiel wurde abgebrochen", "en": "the game was broken off"}
_PLAYER: Final[Words] = {"de": "Spieler {number}", "en": "Player {number}"}
_POINTS: Final[Words] = {"de": "{first} : {second} Punkte", "en": "{first} : {second} points"}
_ON_BOARD: Final[Words] = {"de": "; auf dem Brett {first} : {second}", "en": "; {first} : {second} on the board"}
"""Added where the result has other points than the last position: in some seasons a player at fault gets none."""


def shown_name(name: str) -> str:
    """Return a player's name, cut to a length that fits on a page."""
    name = name.strip()
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…"


def known_names(edition: Edition | None, names: Sequence[str], addresses: Sequence[str]) -> tuple[str, str]:
    """Return what the players are called: by their names or, since many programs have none, by their addresses.

    Some editions give a name to a program without one, which is no better than none.
    """
    unnamed = {"", "" if edition is None else edition.dialect.unnamed}
    first, second = (
        name if name.strip() not in unnamed else address or name for name, address in zip(names, addresses, strict=True)
    )
    return first, second


def describe_outcome(names: Sequence[str], causes: Sequence[Cause], winners: Sequence[Seat]) -> Json:
    """Return who has won, and why if a player was at fault: what a list of games says about one that is over.

    All arguments are by seat; `names` are what the players are called, empty for one that is known by its number.
    """
    faults = [seat for seat, cause in enumerate(causes) if cause is not Cause.REGULAR]
    return {
        "winner": winners[0] if len(winners) == 1 else None,
        "isDraw": len(winners) > 1,
        "words": {language: _verdict(language, causes, winners, faults, names) for language in ("de", "en")},
    }


def outcome_of(record: Sequence[RoomData], names: Sequence[str]) -> Json | None:
    """Return the outcome of a game from the packets of its room; None if they contain no result."""
    result = next((data for data in reversed(record) if isinstance(data, Result)), None)
    if result is None:
        return None
    return describe_outcome(names, [score.cause for score in result.scores], result.winners)


def describe_end(record: Sequence[RoomData], names: Sequence[str] | None = None) -> Json | None:
    """Return the end of a game, from the packets of its room; None if they contain no result or no position.

    `names` are what the players are called; None: by the names in these packets.
    """
    result = next((data for data in reversed(record) if isinstance(data, Result)), None)
    last = next((data for data in reversed(record) if isinstance(data, Memento)), None)
    if result is None or last is None:
        return None
    state, names = last.state, names_in(record) if names is None else names
    faults = [seat for seat in (0, 1) if result.scores[seat].cause is not Cause.REGULAR]
    cause = result.scores[faults[0]].cause if faults else Cause.REGULAR
    reason = next((score.reason for score in (result.scores[seat] for seat in faults or (0, 1)) if score.reason), "")
    # the last error is the one about the move that ended the game
    error = next((data for data in reversed(record) if isinstance(data, ErrorMessage)), None)
    illegal = None
    if cause is Cause.RULE_VIOLATION and error is not None and isinstance(error.original, MoveData):
        illegal = describe_illegal_move(state, error.original.move, error.message[:_LONGEST_REASON])
    return {
        "cause": cause.value,
        "winner": result.winners[0] if len(result.winners) == 1 else None,
        "isDraw": len(result.winners) > 1,
        "points": result_points(result, state),
        "offender": faults[0] if len(faults) == 1 else None,
        "reason": reason[:_LONGEST_REASON],
        "words": {language: _sentence(language, result, faults, state, names) for language in ("de", "en")},
        "illegal": illegal,
    }


def names_in(record: Sequence[RoomData]) -> tuple[str, str]:
    """Return the players' names: those in the last position or, if it has none, in the result."""
    for data in reversed(record):
        if isinstance(data, Memento | Result) and any(data.names):
            return data.names
    return "", ""


def result_points(result: Result, state: State) -> list[int]:
    """Return the points by seat as the result has them; those of the last position `state` if it has none."""
    return [
        score.parts[1] if len(score.parts) > 1 else state.points(seat)[0] for seat, score in enumerate(result.scores)
    ]


def _verdict(
    language: str, causes: Sequence[Cause], winners: Sequence[Seat], faults: Sequence[Seat], names: Sequence[str]
) -> str:
    def name(seat: Seat) -> str:
        return shown_name(names[seat]) or _PLAYER[language].format(number=seat + 1)

    parts = [_FAULTS[causes[seat]][language].replace("{name}", name(seat)) for seat in faults]
    match winners:
        case ():
            parts.append(_NOBODY[language])
        case (winner,):
            parts.append(_WINS[language].replace("{name}", name(winner)))
        case _:
            parts.append(_DRAW[language])
    return "; ".join(parts)


def _sentence(language: str, result: Result, faults: Sequence[Seat], state: State, names: Sequence[str]) -> str:
    verdict = _verdict(language, [score.cause for score in result.scores], result.winners, faults, names)
    final, on_board = result_points(result, state), [state.points(seat)[0] for seat in (0, 1)]
    points = _POINTS[language].format(first=final[0], second=final[1])
    if final != on_board:
        points += _ON_BOARD[language].format(first=on_board[0], second=on_board[1])
    outcome = state.outcome()
    reason = None if faults else _BROKEN_OFF if outcome is None else view_of(state).end_words(outcome)
    why = "" if reason is None else f": {reason[language]}"
    return f"{verdict} ({points}){why}."


@dataclass(frozen=True, slots=True)
class Details:
    """What is known about a game besides its replay; the default values say that nothing is."""

    think_times: tuple[Sequence[float], Sequence[float]] = ((), ())
    """By seat: the seconds that each answer took, in order. There may be one more than plies, for a refused move."""
    soft_limit: float | None = None
    """The think time in seconds from which on a move is too late."""
    outputs: tuple[Sequence[Sequence[str]] | None, Sequence[Sequence[str]] | None] = (None, None)
    """By seat: for each answer the lines that the program wrote to its standard error from the request until the next
    one; None if nothing is known about this program. There may be one more than plies, for a move that never came."""
    verdict: str | None = None
    """What a match says about the game, in English; None for a game outside a match."""
    verdict_words: Words | None = None
    thoughts: tuple[Sequence[tuple[int, Thinking]], Sequence[tuple[int, Thinking]]] = ((), ())
    """By seat: what the program thought, each with the number of the answer that it was asked for last."""
    addresses: tuple[str, str] = ("", "")
    """By seat: where the programs were connected from; empty if that is not known."""


def describe_game(replay: Replay, details: Details = Details()) -> Json:
    """Return the JSON object of a game that was read from a file; `details` is what is known about it besides.

    Its keys, in the form that the documents are made from:

    - `format`: 1; it grows when a key changes its meaning or is removed.
    - `game`, `gameType`, `edition`: The kind of board (`blokus`, `hase_und_igel`, `table`), and the season's names.
    - `title`, `source`: A title, and the name of the file.
    - `players`: By seat: `name`, `team`.
    - `positions`: From ply 0 on: `ply`, `turn`, `round`, `sideToMove`, `isOver`, `players` (with `points`),
      `legalMoves` (a number by seat, or null), `lastMove`, and what the game needs: `board` and `colors`, or `track`.
      `board.cells` has one character for each of the 400 cells, row by row: `.` or the first letter of a colour.
    - `plies`: From ply 1 on: `ply`, `player` (0 or 1), `color`, `thinkSeconds`, `hints`, `stderr`.
    - `thinking`: What the programs thought, by ply: `ply`, `player`, and what they named of `turn`, `value`, `texts`,
      `numbers`, `cells` (`[x, y, weight]`) and `moves`; the last ply may be one that was never played.
    - `softLimitSeconds`: The limit for a move, or null if it is not known.
    - `end`: Null without a result; otherwise `cause`, `winner`, `isDraw`, `points` (by seat, of the result),
      `offender`, `reason` (of the server), `words` (`de`, `en`), `illegal` (the picture of an illegal move), `verdict`,
      `verdictWords`, `stderr`.
    - `analysis`: Only with `--analysis`: `moments` (`ply`, `turn`, `player`, `loss`, `played`, `better`, `words`) and
      `method`.
    - `pieces`: The cells of each piece of Blokus.
    """
    edition, record = replay.edition, replay.record
    mementos = list(distinct_positions(record))
    states = [memento.state for memento in mementos]
    names = known_names(edition, names_in(record), details.addresses)
    ending = describe_end(record, names)
    if ending is not None:
        ending |= {"verdict": details.verdict, "verdictWords": details.verdict_words}
        ending["stderr"] = None
        if (offender := ending["offender"]) is not None:
            # what the program at fault wrote after its last request, to which no ply belongs
            output = details.outputs[offender]
            plies = sum(1 for state in states[:-1] if state.seat_on_turn == offender)
            if output is not None and len(output) > plies:
                ending["stderr"] = list(output[plies])
    return {
        **describe_frame(edition, states[0], names, details.soft_limit),
        "positions": [
            describe_position(state, ply, states[ply - 1] if ply else None) for ply, state in enumerate(states)
        ],
        "plies": _describe_plies(mementos, details),
        "thinking": _describe_thoughts(states, details),
        "end": ending,
        "source": replay.source,
    }


def edition_title(edition: Edition) -> str:
    """Return the name of an edition as people write it: ``Hase und Igel 2018`` for ``hase-und-igel-2018``."""
    return " ".join(word if word == "und" else word.capitalize() for word in edition.name.split("-"))


def describe_frame(edition: Edition, state: State, names: Sequence[str], soft_limit: float | None) -> Json:
    """Return the keys of a game that are the same in all its positions, of which `state` is one."""
    view = view_of(state)
    return {
        "format": FORMAT,
        "game": view.name,
        "gameType": edition.game_type,
        "edition": edition.name,
        "title": " – ".join(shown_name(name) or f"{number}" for number, name in enumerate(names, 1)),
        "players": describe_players(edition, names),
        "softLimitSeconds": soft_limit,
        "pieces": dict(view.pieces()),
    }


def describe_players(edition: Edition, names: Sequence[str]) -> list[Json]:
    """Return the name and the team of each player."""
    return [
        {"name": shown_name(name), "team": team} for name, team in zip(names, edition.dialect.team_names, strict=True)
    ]


def distinct_positions(record: Sequence[RoomData]) -> Iterator[Memento]:
    """Yield the positions of a record; one that was sent twice in succession is yielded once."""
    previous: State | None = None
    for data in record:
        if isinstance(data, Memento) and data.state != previous:
            previous = data.state
            yield data


def _describe_plies(mementos: Sequence[Memento], details: Details) -> list[Json]:
    """Return what is known about each ply, from 1 on: who moved, how long it took, hints, and the program's output."""
    plies: list[Json] = []
    answers = [0, 0]
    for ply, (before, after) in enumerate(itertools.pairwise(mementos), 1):
        seat = before.state.seat_on_turn
        number = answers[seat]
        answers[seat] += 1
        times, output = details.think_times[seat], details.outputs[seat]
        time = times[number] if number < len(times) else None
        written = None if output is None else list(output[number]) if number < len(output) else []
        plies.append(describe_ply(ply, before.state, after, time, written))
    return plies


def describe_ply(
    ply: int, before: State, after: Memento, think_seconds: float | None, stderr: list[str] | None = None
) -> Json:
    """Return what is known about the move number `ply`, which led from `before` to `after`."""
    seat = before.seat_on_turn
    return {
        "ply": ply,
        "player": seat,
        "color": view_of(before).color(before, seat),
        "thinkSeconds": think_seconds,
        "hints": [{"content": hint[:LONGEST_HINT]} for hint in after.hints[:MOST_HINTS]],
        "stderr": stderr,
    }


def _describe_thoughts(states: Sequence[State], details: Details) -> list[Json]:
    """Return what the programs thought, by ply; the last ply may be one that a program was asked for in vain."""
    found: dict[int, tuple[Seat, Thinking]] = {}
    for seat in (0, 1):
        asked = [(ply, state.turn) for ply, state in enumerate(states, 1) if state.seat_on_turn == seat]
        turns, thoughts = [turn for _, turn in asked], ThinkingByRequest()
        for latest, thinking in details.thoughts[seat]:
            number = request_of(thinking, turns, latest)
            if number < len(asked):
                thoughts.add(number, thinking)
        found |= {asked[number][0]: (seat, thinking) for number, thinking in thoughts.said.items()}
    return [describe_thinking(ply, *found[ply]) for ply in sorted(found)]


def describe_thinking(ply: int, seat: Seat, thinking: Thinking) -> Json:
    """Return what the program in `seat` thought about the move number `ply`; what it did not name is left out."""
    return {"ply": ply, "player": seat, **json.decode(json.encode(thinking))}
