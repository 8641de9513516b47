"""Compares an answer with the one that was recorded.

Two packets are equal if their tags and texts are. White space between elements does not count; ids (of
rooms and of reservations) may differ, but the same id must be replaced by the same one everywhere; passwords are not
compared; a position that a transcript has shortened is compared by its turn.
"""

from __future__ import annotations

import difflib
import re
from itertools import islice, takewhile
from typing import Final

from spielleiter.common.text import escaped
from spielleiter.protocol.writer import escape_attribute
from spielleiter.wire.conversation import find_passwords
from spielleiter.wire.trace_reader import PASSWORD

TREATED_AS_EQUAL: Final = (
    "white space between elements; ids of rooms and reservations, if they are replaced consistently"
)
"""What may differ, for people."""

_ID: Final = re.compile(rb"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_TOKEN: Final = re.compile(rb"<<[^<>]*>>|<[^<>]*>|[^<>]+|[<>]")
_SHORTENED: Final = re.compile(rb"<<memento turn=(\d+), \d+ bytes>>")
_POSITION_BEGINS: Final = b'<data class="memento">'
_POSITION_ENDS: Final = b"</data>"
_TURN: Final = re.compile(rb'<state\b[^<>]*?\sturn="(\d+)"')
_START_PIECE: Final = re.compile(rb' startPiece="(\w+)"')
_INSTEAD: Final = b"..."
"""What is shown instead of a password."""
_MOST_TOKENS: Final = 1000
"""Tokens from the first difference on in which further ones are looked for: the time grows with their square."""
_MOST_LINES: Final = 14
_LONGEST_LINE: Final = 200


class Comparison:
    """Compares answers, and remembers which recorded id stands for which new one.

    `password` is the one that is sent; it is never shown.
    """

    def __init__(self, password: bytes = b"") -> None:
        self._password = password
        self._new_ids: dict[bytes, bytes] = {}
        self._old_ids: dict[bytes, bytes] = {}
        self.start_pieces: tuple[str, str] | None = None
        """The recorded start piece and the present one, if they differ."""

    @property
    def id_count(self) -> int:
        """The number of ids that were replaced by others."""
        return sum(old != new for old, new in self._new_ids.items())

    def translated(self, data: bytes) -> bytes:
        """Return what has to be sent in place of recorded bytes: with the new ids and the password as XML text."""
        return self._with_new_ids(data).replace(PASSWORD, _as_text(self._password))

    def shown(self, data: bytes) -> bytes:
        """Return `data` as it can be shown: with three dots instead of each password."""
        data = without_passwords(data.replace(PASSWORD, _INSTEAD))
        for password in (self._password, _as_text(self._password)):
            if password:
                data = data.replace(password, _INSTEAD)
        return data

    def _with_new_ids(self, data: bytes) -> bytes:
        return _ID.sub(lambda found: self._new_ids.get(found[0].lower(), found[0]), data)

    def is_equal(self, recorded: bytes, answer: bytes, *, is_whole: bool = True) -> bool:
        """Return whether `answer` is the recorded one; with `is_whole` false, whether it begins like that."""
        pieces = _START_PIECE.search(recorded), _START_PIECE.search(answer)
        if self.start_pieces is None and pieces[0] and pieces[1] and pieces[0][1] != pieces[1][1]:
            self.start_pieces = pieces[0][1].decode(), pieces[1][1].decode()
        if not is_whole:
            recorded = recorded[: recorded.rfind(b">") + 1]  # the tag or text after the last whole tag may go on
        expected, actual = _tokens(recorded), _tokens(_shortened_like(recorded, answer))
        if not is_whole:
            actual = actual[: len(expected)]
        pairs = list(zip(expected, actual, strict=False))
        are_equal = [self._is_token_equal(*pair) for pair in pairs]  # all of them, to learn every id
        return len(expected) == len(actual) and all(are_equal)

    def difference(self, recorded: bytes, answer: bytes) -> list[str]:
        """Return the lines of both that differ: ``-`` of the recorded one (with the new ids), ``+`` of the answer.

        Instead of passwords they have three dots.
        """
        before = _tokens(self.shown(self._with_new_ids(recorded)))
        after = _tokens(self.shown(_shortened_like(recorded, answer)))
        same = takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False))
        begin = max(0, sum(1 for _ in same) - 1)
        old, new = (
            [escaped(token.decode("utf-8", "replace")) for token in each[begin : begin + _MOST_TOKENS]]
            for each in (before, after)
        )
        changes = [
            line[:_LONGEST_LINE]
            for line in islice(difflib.unified_diff(old, new, lineterm="", n=1), 2, None)  # after two lines of names
            if not line.startswith("@@")
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
        have_agreed = [
            self._new_ids.setdefault(old.lower(), new.lower()) == new.lower()
            and self._old_ids.setdefault(new.lower(), old.lower()) == old.lower()
            for old, new in pairs  # all of them, to learn every id
        ]
        return all(have_agreed)


def _as_text(password: bytes) -> bytes:
    return escape_attribute(password.decode()).encode()


def without_passwords(data: bytes) -> bytes:
    """Return `data` with three dots instead of everything that looks like a password."""
    parts, end = [], 0
    for start, next_end in find_passwords(data):
        parts += [data[end:start], _INSTEAD]
        end = next_end
    return b"".join([*parts, data[end:]])


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
    start, end = answer.find(_POSITION_BEGINS), answer.rfind(_POSITION_ENDS)
    if shortened is None or not 0 <= start < end:
        return answer
    turn = _TURN.search(answer, start, end)
    is_same = turn is not None and turn[1] == shortened[1]
    instead = shortened[0] if is_same else b"<<memento turn=%b>>" % (turn[1] if turn else b"?")
    return answer[:start] + instead + answer[end + len(_POSITION_ENDS) :]
