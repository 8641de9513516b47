"""Print the moves and the result of a saved game.

The server saves replays with: spielleiter serve --save-replay replays
A match saves compressed ones in its folder.

    python3 read_replay.py replays/replay_swc_2027_blokus_....xml
    python3 read_replay.py match-.../games/0001/replay.xml.gz
"""

from __future__ import annotations

import argparse
import gzip
import sys
from collections.abc import Iterator
from pathlib import Path

from spielleiter.game.blokus import BlokusState
from spielleiter.protocol.connection import Connection, ConnectionClosed, Role
from spielleiter.protocol.errors import RemoteProtocolError
from spielleiter.protocol.messages import Memento, Result, RoomData, RoomMessage
from spielleiter.server.editions import EDITIONS


def read_packets(content: bytes, edition: str) -> Iterator[RoomData]:
    """Yield the data of the packets in a replay, in order. Raises RemoteProtocolError if it is not a replay."""
    # A replay holds the packets that an observer received, so it is read like a connection to a server.
    connection = Connection(Role.CLIENT, EDITIONS[edition].dialect)
    connection.receive_data(content)
    connection.receive_data(b"")  # the end of the input
    while not isinstance(event := connection.next_event(), ConnectionClosed):
        if isinstance(event, RoomMessage) and event.data is not None:
            yield event.data


def read_file(path: Path) -> bytes:
    """Return the content of a file, decompressed if its name ends with .gz. Raises OSError."""
    content = path.read_bytes()
    return gzip.decompress(content) if path.suffix == ".gz" else content


def main() -> None:
    """Read the options and the replay, and print one line for each move."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("replay", type=Path, help="file of the game")
    parser.add_argument("--edition", default="blokus-2027", choices=EDITIONS, help="season (default: %(default)s)")
    options = parser.parse_args()

    try:
        for data in read_packets(read_file(options.replay), options.edition):
            if isinstance(data, Memento):
                state = data.state
                # `last_move` belongs to Blokus; `turn` and `points` are there in every game.
                move = state.last_move if isinstance(state, BlokusState) else ""
                print(f"turn {state.turn:2}: {state.points(0)[0]:3} : {state.points(1)[0]:3}  {move or ''}".rstrip())
            elif isinstance(data, Result):
                winners = [f"player {seat + 1}" for seat in data.winners]
                print(f"{winners[0]} wins" if len(winners) == 1 else "draw")
    except (OSError, RemoteProtocolError) as error:
        sys.exit(f"{options.replay}: {error}")


if __name__ == "__main__":
    main()
