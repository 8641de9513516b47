"""List the legal moves of a position of Blokus.

The rules need no server. The position is the one after some random moves of a new game:

    python3 legal_moves.py --turn 12 --seed 7
"""

from __future__ import annotations

import argparse
import random

from spielleiter.game.blokus import BLOKUS_2027, BlokusState

SIZE = 20  # cells on each side of the board


def random_position(turn: int, seed: int) -> BlokusState:
    """Return the position of a random game at `turn`, or its last position if it is over before that."""
    rng = random.Random(seed)
    state = BLOKUS_2027.new_state(rng)
    while state.turn < turn and state.outcome() is None:
        # A state never changes: `play` returns the next one.
        state = state.play(rng.choice(list(state.generate_legal_moves())))
    return state


def draw(state: BlokusState) -> str:
    """Return the board as text: the first letter of each cell's colour, or a dot."""
    rows = []
    for y in range(SIZE):
        colors = [state.color_at(x, y) for x in range(SIZE)]
        rows.append(" ".join("." if color is None else color.name[0] for color in colors))
    return "\n".join(rows)


def main() -> None:
    """Read the options, and print the board and its legal moves."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--turn", type=int, default=8, help="number of turns before the position (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="another seed gives another game (default: %(default)s)")
    options = parser.parse_args()

    state = random_position(options.turn, options.seed)
    print(draw(state))
    if state.outcome() is not None:
        print(f"The game is over after {state.turn} turns.")
        return

    moves = list(state.generate_legal_moves())
    print(f"\nTurn {state.turn}: {state.color_on_turn.name} can place a piece in {len(moves)} ways.")
    for shape in state.remaining_shapes(state.color_on_turn):
        of_shape = [move for move in moves if move.shape == shape]
        if of_shape:
            print(f"{shape.name:8} {len(of_shape):4}, for example {of_shape[0]}")


if __name__ == "__main__":
    main()
