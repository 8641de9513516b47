"""Prepare a game for two players, watch it, and print the result.

Start a server (spielleiter serve) and this script, then the two players with the codes that it prints:

    python3 observe_game.py Alice Bob
    spielleiter play --reservation CODE
"""

from __future__ import annotations

import argparse

from spielleiter.client import ErrorMessage, Memento, Result, connect_admin


def main() -> None:
    """Read the options, prepare a game and print what happens in it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs=2, metavar="NAME", help="name of a player")
    parser.add_argument("--host", default="127.0.0.1", help="address of the server (default: %(default)s)")
    parser.add_argument("--port", type=int, default=13050, help="port of the server (default: %(default)s)")
    parser.add_argument("--password", default="examplepassword", help="password of the server (default: %(default)s)")
    options = parser.parse_args()

    with connect_admin(options.host, options.port, options.password) as admin:
        room = admin.prepare("swc_2027_blokus", options.names)
        # Observe before the players come, so that no position is missed.
        observation = admin.observe(room.room_id)
        for name, code in zip(options.names, room.reservations, strict=True):
            print(f"{name}: spielleiter play --port {options.port} --reservation {code}", flush=True)

        # The loop ends when the game does.
        for event in observation:
            if isinstance(event, Memento):  # a new position
                state = event.state
                print(f"turn {state.turn:2}: {state.points(0)[0]:3} : {state.points(1)[0]:3}", flush=True)
            elif isinstance(event, ErrorMessage):  # a move that the server did not accept
                print(event.message)
            elif isinstance(event, Result):
                winners = [options.names[seat] for seat in event.winners]
                print(f"{winners[0]} wins" if len(winners) == 1 else "draw")
                for name, score in zip(options.names, event.scores, strict=True):
                    print(f"{name}: {score.cause.value} {score.reason}".rstrip())


if __name__ == "__main__":
    main()
