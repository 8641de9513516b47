"""A player that places its largest piece as close to the centre of the board as it can.

Start a server (spielleiter serve), then this player and an opponent:

    python3 my_player.py
    spielleiter play

It understands the options of the contest, so it can also play a match against another program:

    spielleiter match --player1 "python3 my_player.py" --player2 builtin:greedy --games 10
"""

from __future__ import annotations

import argparse

from spielleiter.client import play_game
from spielleiter.game.api import Move, State
from spielleiter.game.blokus import BlokusState, SetMove, orientation

CENTRE = 9.5  # the cells of a row are numbered from 0 to 19


def rating(move: SetMove) -> tuple[int, float]:
    """Return a rating of a move: first the size of its piece, then how close to the centre the piece comes."""
    piece = orientation(move.shape, move.rotation, move.is_flipped)
    distances = [abs(move.x + x - CENTRE) + abs(move.y + y - CENTRE) for x, y in piece.cells]
    return len(piece.cells), -min(distances)


def strategy(state: State) -> Move:
    """Return the move to play in this position; it is called whenever the server asks for a move."""
    if not isinstance(state, BlokusState):
        raise TypeError("this player plays Blokus only")
    return max(state.generate_legal_moves(), key=rating)


def main() -> None:
    """Read the options, play one game and print how it ended."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, add_help=False
    )
    parser.add_argument("--help", action="help", help="show this text and exit")  # -h is the host, as in the contest
    parser.add_argument("-h", "--host", default="127.0.0.1", help="address of the server (default: %(default)s)")
    parser.add_argument("-p", "--port", type=int, default=13050, help="port of the server (default: %(default)s)")
    parser.add_argument("-r", "--reservation", help="code of a reserved seat (default: a seat in any open game)")
    options = parser.parse_args()

    report = play_game(strategy, host=options.host, port=options.port, reservation_code=options.reservation)

    result = "draw" if report.is_draw else "won" if report.has_won else "lost"
    print(f"{result} after {report.moves_played} moves")
    if report.reason:  # the server says what went wrong, for example a move that came too late
        print(report.reason)


if __name__ == "__main__":
    main()
