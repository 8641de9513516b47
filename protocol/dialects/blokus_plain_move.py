"""The plain form of a SetMove of Blokus, which is read directly from the bytes of its packet.

Invariants: those of `spielleiter.protocol.plain_form`. The attributes may be in any order, and white space may be
anywhere where XML allows it. Moves with hints, other quotes or anything else that is unusual are left to the parser.
"""

from __future__ import annotations

import re
from typing import Final

from spielleiter.game.blokus.moves import SetMove
from spielleiter.protocol.dialects.blokus import COLORS, ROTATIONS, SHAPES
from spielleiter.protocol.messages import MoveData, RoomMessage
from spielleiter.protocol.plain_form import PlainForm

_BLANKS: Final = rb"[ \t\r\n]*+"
_BLANK: Final = rb"[ \t\r\n]++"
_PIECE: Final = _BLANK + rb'(color|kind|rotation|isFlipped)="([A-Za-z_]++)"'
_POSITION: Final = _BLANK + rb'([xy])="(-?(?:0|[1-9][0-9]{0,3}+))"'

_COLORS: Final = {name.encode(): color for name, color in COLORS.items()}
_SHAPES: Final = {name.encode(): shape for name, shape in SHAPES.items()}
_ROTATIONS: Final = {name.encode(): rotation for name, rotation in ROTATIONS.items()}


def plain_set_move(package: str) -> PlainForm:
    """Return the form of a season's SetMove; `package` is the Java package of this class in the official server."""
    tags = (
        rb"<room" + _BLANK + rb'roomId="([A-Za-z0-9-]++)"' + _BLANKS + rb">",
        rb"<data" + _BLANK + rb'class="' + re.escape(f"{package}.SetMove").encode() + rb'"' + _BLANKS + rb">",
        rb"<piece" + _PIECE * 4 + _BLANKS + rb">",
        rb"<position" + _POSITION * 2 + _BLANKS + rb"(?:/>|></position" + _BLANKS + rb">)",
        rb"</piece" + _BLANKS + rb">",
        rb"</data" + _BLANKS + rb">",
        rb"</room" + _BLANKS + rb">",
    )
    pattern = re.compile(_BLANKS + _BLANKS.join(tags) + _BLANKS)
    return PlainForm(pattern, _read, depth=5, attributes=4, children=3)


def _read(match: re.Match[bytes]) -> RoomMessage | None:
    room_id, a, a_value, b, b_value, c, c_value, d, d_value, e, e_value, f, f_value = match.groups()
    piece = {a: a_value, b: b_value, c: c_value, d: d_value}
    if len(piece) < 4 or e == f:
        return None
    color = _COLORS.get(piece[b"color"])
    shape = _SHAPES.get(piece[b"kind"])
    rotation = _ROTATIONS.get(piece[b"rotation"])
    if color is None or shape is None or rotation is None:
        return None
    x, y = (e_value, f_value) if e == b"x" else (f_value, e_value)
    is_flipped = piece[b"isFlipped"].lower() == b"true"
    return RoomMessage(room_id.decode(), MoveData(SetMove(color, shape, rotation, is_flipped, int(x), int(y))))
