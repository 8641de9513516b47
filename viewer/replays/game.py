"""A whole game as one JSON object, from the packets of its room: a finished game from a file, or a running one.

Invariants: ply n leads from position n - 1 to position n, and both lists are in this order. What is not known is null.
The players' names, hints and outputs are data of strangers: they are bounded here, and escaped by whoever shows them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from spielleiter.game.api import Seat, State
from spielleiter.protocol.messages import Memento, RoomData
from spielleiter.server.core.policy import Edition
from spielleiter.viewer.positions.describe import describe_position, view_of
from spielleiter.viewer.positions.view import Json, Words
from spielleiter.viewer.replays.ending import describe_end, names_in, shown_name
from spielleiter.viewer.replays.reading import Replay

FORMAT: Final = 1
MOST_HINTS: Final = 32
"""The number of hints of one ply that are shown."""
LONGEST_HINT: Final = 2000


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


def describe_game(replay: Replay, details: Details = Details(), *, counts_moves: bool = True) -> Json:
    """Return the JSON object of a game that was read from a file; see `describe_record`."""
    return describe_record(replay.edition, replay.record, replay.source, details, counts_moves=counts_moves)


def describe_record(
    edition: Edition,
    record: Sequence[RoomData],
    source: str,
    details: Details = Details(),
    *,
    counts_moves: bool = True,
) -> Json:
    """Return the JSON object of a game.

    - `record`: the packets of its room so far, with at least one position.
    - `source`: the name of the file; empty for a running game.
    - `details`: what is known about the game besides.
    - `counts_moves`: whether to count the legal moves in each position, which takes about a millisecond each.
    """
    mementos = list(distinct_positions(record))
    states = [memento.state for memento in mementos]
    shown = [shown_name(name) for name in names_in(record)]
    ending = describe_end(record)
    if ending is not None:
        ending |= {"verdict": details.verdict, "verdictWords": details.verdict_words}
        ending["stderr"] = _last_output(details, states, ending["offender"])
    return {
        "format": FORMAT,
        "game": view_of(states[0]).name,
        "gameType": edition.game_type,
        "edition": edition.name,
        "title": " – ".join(name or f"{number}" for number, name in enumerate(shown, 1)),
        "players": [{"name": name, "team": team} for name, team in zip(shown, edition.dialect.team_names, strict=True)],
        "positions": [
            describe_position(state, ply, states[ply - 1] if ply else None, counts_moves=counts_moves)
            for ply, state in enumerate(states)
        ],
        "plies": list(describe_plies(mementos, details)),
        "softLimitSeconds": details.soft_limit,
        "end": ending,
        "pieces": dict(view_of(states[0]).pieces()),
        "source": source,
    }


def distinct_positions(record: Sequence[RoomData]) -> Iterator[Memento]:
    """Yield the positions of a record; one that was sent twice in succession is yielded once."""
    previous: State | None = None
    for data in record:
        if isinstance(data, Memento) and data.state != previous:
            previous = data.state
            yield data


def describe_plies(mementos: Sequence[Memento], details: Details = Details()) -> Iterator[Json]:
    """Yield what is known about each ply, from 1 on: who moved, how long it took, hints, and the program's output."""
    answers = [0, 0]
    for ply in range(1, len(mementos)):
        before, after = mementos[ply - 1].state, mementos[ply]
        seat = before.seat_on_turn
        number = answers[seat]
        answers[seat] += 1
        times, output = details.think_times[seat], details.outputs[seat]
        yield {
            "ply": ply,
            "player": seat,
            "color": view_of(before).color(before, seat),
            "thinkSeconds": times[number] if number < len(times) else None,
            "hints": [{"content": hint[:LONGEST_HINT]} for hint in after.hints[:MOST_HINTS]],
            "stderr": None if output is None else list(output[number]) if number < len(output) else [],
        }


def _last_output(details: Details, states: Sequence[State], offender: Seat | None) -> list[str] | None:
    """Return what the program at fault wrote after its last request, to which no ply belongs; None if there is none."""
    if offender is None:
        return None
    output = details.outputs[offender]
    plies = sum(1 for state in states[:-1] if state.seat_on_turn == offender)
    return list(output[plies]) if output is not None and len(output) > plies else None
