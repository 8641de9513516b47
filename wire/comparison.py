"""Compares an answer with the one that was recorded.

Invariants: two packets are equal if their tags and texts are. White space between elements does not count; ids (of
rooms and of reservations) may differ, but the same id must be replaced by the same one everywhere; passwords are not
compared; a position that a transcript has shortened is compared by its turn.
"""

from __future__ import annotations

import difflib
import re
from typing import Final

from spielleiter.protocol.writer import escape_attribute
from spielleiter.server.text.escaping import escaped
from spielleiter.wire.recording import PASSWORD

TREATED_AS_EQUAL: Final = (
    "white space between elements; ids of rooms and reservations, if they are replaced consistently"
)
"""What may differ, for people."""

_ID: Final = re.compile(rb"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_TOKEN: Final = re.compile(rb"<<[^<>]*>>|<[^<>]*>|[^<>]+|[<>]")
_SHORTENED: Final = re.compile(rb"<<memento turn=(\d+), \d+ bytes>>")
_POSITION: Final = re.compile(rb'<data class="memento">.*</data>', re.DOTALL)
_TURN: Final = re.compile(rb'<state\b[^<>]*?\sturn="(\d+)"')
_START_PIECE: Final = re.compile(rb' startPiece="(\w+)"')
_MOST_LINES: Final = 14
_LONGEST_LINE: Final = 200


class Comparison:
    """Compares answers, and remembers which recorded id stands for which new one."""

    def __init__(self) -> None:
        self._new_ids: dict[bytes, bytes] = {}
        self._old_ids: dict[bytes, bytes] = {}
        self.start_pieces: tuple[str, str] | None = None
        """The recorded start piece and the present one, if they differ."""

    @property
    def id_count(self) -> int:
        """The number of ids that were replaced by others."""
        return sum(old != new for old, new in self._new_ids.items())

    def translated(self, data: bytes, password: bytes = b"") -> bytes:
        """Return what has to be sent in place of recorded bytes: with the new ids, and with `password` as XML text."""
        data = _ID.sub(lambda found: self._new_ids.get(found[0].lower(), found[0]), data)
        return data.replace(PASSWORD, escape_attribute(password.decode()).encode())

    def is_equal(self, recorded: bytes, answer: bytes, *, is_whole: bool = True) -> bool:
        """Return whether `answer` is the recorded one; with `is_whole` false, whether it begins like that."""
        self._note_start_piece(recorded, answer)
        if not is_whole:
            recorded = recorded[: max(0, recorded.rfind(b"<"))]  # the last tag may be incomplete
        expected, actual = _tokens(recorded), _tokens(_shortened_like(recorded, answer))
        if not is_whole:
            actual = actual[: len(expected)]
        pairs = list(zip(expected, actual, strict=False))
        are_equal = [self._is_token_equal(*pair) for pair in pairs]  # all of them, to learn every id
        return len(expected) == len(actual) and all(are_equal)

    def difference(self, recorded: bytes, answer: bytes) -> list[str]:
        """Return the lines of both that differ: ``-`` of the recorded one (with the new ids), ``+`` of the answer."""
        before = _lines(self.translated(recorded, b"..."))
        after = _lines(_shortened_like(recorded, answer))
        changes = [
            line[:_LONGEST_LINE]
            for line in difflib.unified_diff(before, after, lineterm="", n=1)
            if not line.startswith(("---", "+++", "@@"))
        ]
        left_out = len(changes) - _MOST_LINES
        return changes if left_out <= 0 else [*changes[:_MOST_LINES], f"... and {left_out} more lines"]

    def _is_token_equal(self, recorded: bytes, answer: bytes) -> bool:
        if recorded == answer and not _ID.search(recorded):
            return True
        if PASSWORD in recorded:
            return _has_pieces(answer, recorded.split(PASSWORD))
        if _ID.sub(b"\0", recorded) != _ID.sub(b"\0", answer):
            return False
        pairs = zip(_ID.findall(recorded), _ID.findall(answer), strict=True)
        have_agreed = [self._learn(old.lower(), new.lower()) for old, new in pairs]
        return all(have_agreed)

    def _learn(self, old: bytes, new: bytes) -> bool:
        """Remember a new id for an old one; return whether this agrees with what is known."""
        return self._new_ids.setdefault(old, new) == new and self._old_ids.setdefault(new, old) == old

    def _note_start_piece(self, recorded: bytes, answer: bytes) -> None:
        found = _START_PIECE.search(recorded), _START_PIECE.search(answer)
        if self.start_pieces is None and found[0] and found[1] and found[0][1] != found[1][1]:
            self.start_pieces = found[0][1].decode(), found[1][1].decode()


def _has_pieces(answer: bytes, pieces: list[bytes]) -> bool:
    """Return whether `answer` consists of these pieces with anything between them, in linear time.

    The first place of each piece is the right one: it leaves the most room for those after it.
    """
    first, *middle, last = pieces
    if not answer.startswith(first):
        return False
    position = len(first)
    for piece in middle:
        found = answer.find(piece, position)
        if found < 0:
            return False
        position = found + len(piece)
    return len(answer) - len(last) >= position and answer.endswith(last)


def _tokens(data: bytes) -> list[bytes]:
    return [token for token in _TOKEN.findall(data) if token.strip()]


def _shortened_like(recorded: bytes, answer: bytes) -> bytes:
    """Return `answer` with its position shortened, if the recorded one is."""
    shortened = _SHORTENED.search(recorded)
    position = _POSITION.search(answer)
    if shortened is None or position is None:
        return answer
    turn = _TURN.search(position[0])
    is_same = turn is not None and turn[1] == shortened[1]
    instead = shortened[0] if is_same else b"<<memento turn=%b>>" % (turn[1] if turn else b"?")
    return answer[: position.start()] + instead + answer[position.end() :]


def _lines(data: bytes) -> list[str]:
    """Return the tokens of a packet as lines that can be shown."""
    return [escaped(token.decode("utf-8", "replace").strip()) for token in _tokens(data)]
