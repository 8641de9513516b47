"""The files of a game agree: its record, its replay, its logs, and the results and replays of the server."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
import trio

from spielleiter.match.game_folder import REPLAY
from spielleiter.match.match_server import open_match_server
from spielleiter.match.referee import VERDICT, play_game
from spielleiter.protocol.connection import Connection, Role
from spielleiter.protocol.messages import Memento, Result, RoomData, RoomMessage
from spielleiter.server.app import RESULTS_NAME
from spielleiter.server.core.policy import Edition
from spielleiter.server.editions import EDITIONS
from tests.match.players import LIGHT
from tests.match.refereed import NO_LIMITS, setup_of
from tests.protocol.streams import all_events
from tests.timeouts import HANG_TIMEOUT


def room_data(replay: bytes, edition: Edition) -> list[RoomData]:
    """Return the room packets of a replay."""
    events = all_events(Connection(Role.CLIENT, edition.dialect), iter([replay]))
    return [event.data for event in events if isinstance(event, RoomMessage) and event.data is not None]


COMMANDS = {
    "a whole game": (f"{LIGHT} first --edition {{edition}}", "builtin:first"),
    "an illegal move": ("builtin:first", f"{LIGHT} illegal --edition {{edition}}"),
}


@pytest.mark.slow
@pytest.mark.usefixtures("players")
@pytest.mark.parametrize("commands", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("edition", EDITIONS.values(), ids=EDITIONS)
async def test_record_replay_and_the_servers_results_agree(
    edition: Edition, commands: tuple[str, str], tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    setup = setup_of(
        *(each.format(edition=edition.name) for each in commands),
        game_type=edition.game_type,
        edition=edition.name,
        run_id=str(tmp_path),
        server_options={"replay_directory": kept, **NO_LIMITS},
    )
    with trio.fail_after(HANG_TIMEOUT):
        async with open_match_server(setup) as match_server:  # program 1 is on seat 0
            record = await play_game(setup, setup.plan()[1], tmp_path, match_server=match_server)
    line = json.loads((kept / RESULTS_NAME).read_text())
    folder = tmp_path / record.folder
    assert json.loads((folder / VERDICT).read_text()) == record.to_json()
    by_seat = list(record.seats)
    assert line["edition"] == edition.name
    assert line["names"] == [record.names[program] for program in by_seat]
    assert line["plies"] == record.plies
    assert record.plies > 0 or record.offender is not None
    assert line["think_times"] == [list(record.think_times[program]) for program in by_seat]
    assert line["causes"] == [record.causes[program] for program in by_seat]
    assert [parts[1] for parts in line["parts"]] == [record.points[program] for program in by_seat]
    names = [fragment.name.removeprefix("∅ ") for fragment in edition.dialect.score_definition[1:]]
    figures = [dict(zip(names, parts[1:], strict=True)) for parts in line["parts"]]
    assert figures == [record.figures[program] for program in by_seat]
    winners = [by_seat[seat] for seat in line["winners"]]
    assert winners == ([0, 1] if record.winner is None else [record.winner])
    replay, own_replay = gzip.decompress((folder / REPLAY).read_bytes()), (kept / line["replay"]).read_bytes()
    assert own_replay.replace(line["room"].encode(), b"") == replay.replace(b"\n  ", b"\n")
    assert len(re.findall(rb"<protocol", replay)) == 1
    data = room_data(replay, edition)
    assert [type(each) for each in data].count(Memento) == record.plies + 1
    assert [type(each) for each in data].count(Result) == 1
    assert isinstance(data[-1], Result)
    requests = sum(len(times) for times in record.think_times)
    assert requests == record.plies + (record.offender is not None)
