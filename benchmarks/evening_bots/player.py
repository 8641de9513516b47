"""Plays Blokus 2027 with a planted strength: ``player.py LEVEL [options of the contest]``.

With the probability LEVEL, a move is the best of a simple evaluation, otherwise a random legal one. The programs in the
other languages here play the same way. It needs nothing but Python.
"""

from __future__ import annotations

import random
import re
import socket
import sys
from collections.abc import Callable

STRIDE = 21  # a row has one cell more than the board, which is never free
BOARD = sum(((1 << 20) - 1) << STRIDE * y for y in range(20))
INNER = sum(((1 << 18) - 1) << STRIDE * y + 1 for y in range(1, 19))
COLORS = ("BLUE", "YELLOW", "RED", "GREEN")
SHAPES = {
    "MONO": "#", "DOMINO": "##", "TRIO_L": "#./##", "TRIO_I": "#/#/#",
    "TETRO_O": "##/##", "TETRO_T": "###/.#.", "TETRO_I": "#/#/#/#", "TETRO_L": "#./#./##", "TETRO_Z": "##./.##",
    "PENTO_L": "#./#./#./##", "PENTO_T": "###/.#./.#.", "PENTO_V": "#../#../###", "PENTO_S": ".###/##..",
    "PENTO_Z": "##./.#./.##", "PENTO_I": "#/#/#/#/#", "PENTO_P": "##/##/#.", "PENTO_W": "#../##./.##",
    "PENTO_U": "#.#/###", "PENTO_R": "..#/###/.#.", "PENTO_X": ".#./###/.#.", "PENTO_Y": ".#/##/.#/.#",
}  # fmt: skip
TURNS: dict[str, Callable[[int, int], tuple[int, int]]] = {
    "NONE": lambda x, y: (x, y),
    "RIGHT": lambda x, y: (-y, x),
    "MIRROR": lambda x, y: (-x, -y),
    "LEFT": lambda x, y: (y, -x),
}


def orientations(drawing: str) -> list[tuple[int, tuple[int, ...], str, str]]:
    """The different sets of cells of a shape, each with its rotation and whether it is flipped."""
    cells = [(x, y) for y, row in enumerate(drawing.split("/")) for x, cell in enumerate(row) if cell == "#"]
    found: dict[tuple[int, ...], tuple[str, str]] = {}
    for rotation, turn in TURNS.items():
        for flip in (False, True):
            turned = [(-x if flip else x, y) for x, y in (turn(x, y) for x, y in cells)]
            left, top = min(x for x, _ in turned), min(y for _, y in turned)
            bits = tuple(sorted((y - top) * STRIDE + x - left for x, y in turned))
            found.setdefault(bits, (rotation, str(flip).lower()))
    return [(sum(1 << bit for bit in bits), bits, *names) for bits, names in found.items()]


ORIENTATIONS = {name: orientations(drawing) for name, drawing in SHAPES.items()}


def find(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.DOTALL)
    assert found
    return found[1]


def edges(cells: int) -> int:
    return cells << 1 | cells >> 1 | cells << STRIDE | cells >> STRIDE


def corners(cells: int) -> int:
    return cells << STRIDE + 1 | cells << STRIDE - 1 | cells >> STRIDE + 1 | cells >> STRIDE - 1


def choose(state: str, level: float) -> str:
    """Return the packet of a move."""
    turn = int(find(r' turn="(\d+)"', state))
    color = COLORS[turn % 4]
    covered = dict.fromkeys(COLORS, 0)
    for x, y, owner in re.findall(r'<field x="(\d+)" y="(\d+)" content="(\w+)"', state):
        covered[owner] |= 1 << int(y) * STRIDE + int(x)
    own, everything = covered[color], sum(covered.values())
    allowed = BOARD & ~everything & ~edges(own)
    if turn < 4:
        shapes, starts = [find(r'startPiece="(\w+)"', state)], allowed & ~INNER
    else:
        name = f"{color.lower()}Shapes>"
        shapes = re.findall(r"<shape>(\w+)", find(f"<{name}(.*?)</{name}", state))
        starts = allowed & corners(own)
    free = BOARD & ~everything
    rivals = 0
    for other in COLORS:
        if COLORS.index(other) % 2 != COLORS.index(color) % 2:
            rivals |= corners(covered[other]) & free & ~edges(covered[other])
    anchors = [bit for bit in range(420) if starts >> bit & 1]
    found = []
    for shape in shapes:
        for mask, bits, rotation, flipped in ORIENTATIONS[shape]:
            shifts = {anchor - bit for anchor in anchors for bit in bits if anchor >= bit}
            found += [
                (len(bits), mask << shift, shape, rotation, flipped, shift)
                for shift in shifts
                if not mask << shift & ~allowed
            ]
    if not found:
        return f'<data class="sc.plugin2027.SkipMove"><color>{color}</color></data>'
    if random.random() < level:
        largest = max(found)[0]

        def value(move: tuple[int, int, str, str, str, int]) -> float:
            mine = own | move[1]
            gained = corners(move[1]) & free & ~mine & ~edges(mine)
            return gained.bit_count() + (move[1] & rivals).bit_count() + random.random()

        move = max((each for each in found if each[0] == largest), key=value)
    else:
        move = random.choice(found)
    y, x = divmod(move[5], STRIDE)
    return (
        f'<data class="sc.plugin2027.SetMove"><piece color="{color}" kind="{move[2]}" rotation="{move[3]}" '
        f'isFlipped="{move[4]}"><position x="{x}" y="{y}"/></piece></data>'
    )


def main() -> None:
    level, words = float(sys.argv[1]), sys.argv[2:]
    options = {name.lstrip("-")[0]: value for name, value in zip(words[::2], words[1::2], strict=False)}
    server = socket.create_connection((options["h"], int(options["p"])))
    server.sendall(f'<protocol><joinPrepared reservationCode="{options["r"]}"/>'.encode())
    text = ""
    while 'class="result"' not in text and (data := server.recv(65536)):
        text += data.decode()
        if 'class="moveRequest"' in text:
            room = find(r'roomId="([^"]+)"', text)
            move = choose(text[text.rindex("<state ") :], level)
            server.sendall(f'<room roomId="{room}">{move}</room>'.encode())
            text = ""


if __name__ == "__main__":
    main()
