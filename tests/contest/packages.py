"""Makes contest packages for tests: a small sound program, and the same one with one planted fault.

The program plays the first piece of each colour and skips from then on. It imports little, so that it starts in about
30 ms. A fault is some lines of Python at one of three places, or another script.
"""

from __future__ import annotations

import textwrap
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PROGRAM: Final = """\
import os, re, socket, sys, time

SHORT = {{"-h": "host", "-p": "port", "-r": "reservation"}}
options, parameters, words = {{}}, [], sys.argv[1:]
while words:
    word = words.pop(0)
    name = SHORT.get(word) or (word[2:] if word[:2] == "--" else None)
    if name in ("host", "port", "reservation"):
        options[name] = words.pop(0)
    else:
        parameters.append(word)


def choose_move(position):
    room, turn, shape = (re.search(f' {{name}}="(.+?)"', position)[1] for name in ("roomId", "turn", "startPiece"))
    color = ("BLUE", "YELLOW", "RED", "GREEN")[int(turn) % 4]
    if int(turn) >= 4:
        data = f'<data class="sc.plugin2027.SkipMove"><color>{{color}}</color></data>'
    else:
        sizes = {{"L": (2, 4), "Y": (2, 4), "S": (4, 2), "I": (1, 5), "P": (2, 3), "U": (3, 2)}}
        width, height = sizes.get(shape[-1], (3, 3))
        taken = {{(int(x), int(y)) for x, y in re.findall(r'<field x="(\\d+)" y="(\\d+)"', position)}}
        places = [(x, y) for x in (0, 20 - width) for y in range(21 - height)]
        x, y = next((x, y) for x, y in places
                    if not taken & {{(x + i, y + j) for i in range(width) for j in range(height)}})
        data = (f'<data class="sc.plugin2027.SetMove"><piece color="{{color}}" kind="{{shape}}" rotation="NONE" '
                f'isFlipped="false"><position x="{{x}}" y="{{y}}"/></piece></data>')
    return f'<room roomId="{{room}}">{{data}}</room>'


{start}
server = socket.create_connection((options["host"], int(options["port"])))
server.sendall(f'<protocol><joinPrepared reservationCode="{{options["reservation"]}}"/>'.encode())
position, moves = "", 0
for line in server.makefile(encoding="utf-8"):
    position = line if "<state " in line else position + line
    if "moveRequest" in line:
        move = choose_move(position)
        moves += 1
{move}
        server.sendall(move.encode())
    if "<winner" in line:
        break
{end}
"""


@dataclass(frozen=True)
class Planted:
    """Lines of Python at the `start`, after choosing each `move`, and at the `end`; `script` is what start.sh does."""

    start: str = ""
    move: str = ""
    end: str = ""
    script: str = 'exec python3 -IS player.py "$@"'


SOUND: Final = Planted()


def program_text(planted: Planted = SOUND) -> str:
    """Return the source of the program with this fault."""
    return _PROGRAM.format(
        start=textwrap.dedent(planted.start),
        move=textwrap.indent(textwrap.dedent(planted.move), " " * 8),
        end=textwrap.dedent(planted.end),
    )


def make_package(path: Path, planted: Planted = SOUND) -> Path:
    """Write a package with this program, and return its path."""
    return write_package(path, {"start.sh": f"#!/bin/sh\n{planted.script}\n", "player.py": program_text(planted)})


def write_package(path: Path, files: dict[str, str]) -> Path:
    """Write a ZIP with these files, by name, and return its path."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path
