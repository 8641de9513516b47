"""What is known about a game besides its replay: from the files that our server and our matches write beside it.

Invariants: these files are optional and may come from anybody. A file that is missing, too large or not of the expected
form gives no details, never an error. Lists are by seat here, whatever the files do.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from spielleiter.game.api import Seat
from spielleiter.server.config import Config
from spielleiter.viewer.positions.view import Words
from spielleiter.viewer.replays.game import Details
from spielleiter.viewer.replays.outputs import read_outputs
from spielleiter.viewer.replays.untrusted_json import (
    open_regular,
    parse_object,
    read_object,
    seat_in,
    seats_in,
    seconds_in,
    text_in,
)
from spielleiter.viewer.replays.verdicts import verdict_words

RESULTS: Final = "results.jsonl"
VERDICT: Final = "verdict.json"
SETUP: Final = "match.json"
_MOST_BYTES: Final = 4 * 1024 * 1024
_MOST_RESULTS: Final = 256 * 1024 * 1024
_MOST_ANSWERS: Final = 1000

_Times = tuple[Sequence[float], Sequence[float]]


def details_beside(replay: Path) -> Details:
    """Return what the files beside a replay say: the ``.json`` of our server, its results, or the folder of a match."""
    folder = replay.parent
    own = read_object(replay.with_name(f"{_stem(replay)}.json"), _MOST_BYTES)
    line = own or _line_of(folder / RESULTS, replay.name)
    if line is not None:
        return Details(_times(line.get("think_times")))
    record = read_object(folder / VERDICT, _MOST_BYTES)
    if record is None or record.get("replay") != replay.name:
        return Details()
    return _details_of_match(folder, record)


def _stem(replay: Path) -> str:
    return replay.name.removesuffix(".gz").removesuffix(".xml")


# -- a game of a match --------------------------------------------------------------------------------------------


def _details_of_match(folder: Path, record: dict[str, Any]) -> Details:
    """Return the details of the game in `folder`, from its record. Lists in the record are by program."""
    seats = seats_in(record.get("seats"))
    if seats is None:
        return Details()
    times = _times(record.get("think_times"))
    offender = seat_in(record.get("offender"))
    guilty = None if offender is None else seats.index(offender)
    verdict = text_in(record.get("verdict"))
    return Details(
        (times[seats[0]], times[seats[1]]),
        _soft_limit(read_object(folder.parent.parent / SETUP, _MOST_BYTES)),
        read_outputs(folder, record, seats, guilty),
        verdict,
        None if verdict is None else _words_of(verdict, offender, record),
    )


def _words_of(verdict: str, offender: Seat | None, record: dict[str, Any]) -> Words:
    names: Any = record.get("names")
    has_name = offender is not None and isinstance(names, list) and len(names) == 2
    name = text_in(names[offender]) if has_name else None
    return verdict_words(verdict, name, text_in(record.get("reason")) or "")


def _soft_limit(setup: dict[str, Any] | None) -> float | None:
    """Return the shorter one of both programs' limits for a move; None if neither has one that is enforced."""
    if setup is None:
        return None
    options = setup.get("server_options")
    common = seconds_in(options.get("soft_timeout")) if isinstance(options, dict) else None
    limits = []
    entrants = setup.get("entrants")
    for entrant in entrants if isinstance(entrants, list) else ():
        if isinstance(entrant, dict) and entrant.get("can_timeout") is True:
            own = seconds_in(entrant.get("soft_timeout")) or common or Config().soft_timeout
            limits.append(own * (seconds_in(entrant.get("time_factor")) or 1.0))
    return min(limits, default=None)


# -- reading files ------------------------------------------------------------------------------------------------


def _line_of(results: Path, name: str) -> dict[str, Any] | None:
    """Return the last line of a results file that names the replay `name`; None if there is none."""
    needle = json.dumps(name, ensure_ascii=False).encode("utf-8", "surrogatepass")
    found: dict[str, Any] | None = None
    read = 0
    try:
        with open_regular(results) as file:
            while read < _MOST_RESULTS and (line := file.readline(_MOST_BYTES)):
                read += len(line)
                if needle in line:
                    parsed = parse_object(line)
                    if parsed is not None and parsed.get("replay") == name:
                        found = parsed
    except (OSError, ValueError):
        return None
    return found


# -- checking values ----------------------------------------------------------------------------------------------


def _times(value: Any) -> _Times:
    """Return think times in seconds for two players; empty lists for anything else."""
    if not isinstance(value, list) or len(value) != 2 or not all(isinstance(times, list) for times in value):
        return (), ()
    first, second = ([seconds_in(time) for time in times[:_MOST_ANSWERS]] for times in value)
    if None in first or None in second:
        return (), ()
    return [time for time in first if time is not None], [time for time in second if time is not None]
