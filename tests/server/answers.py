"""The answers to faults, and checks that others are not affected."""

from __future__ import annotations

import re
from html import unescape
from xml.sax.saxutils import escape

from spielleiter.server import events
from tests.server.harness import Caller, Game, ServerHarness, legal_move, sample


def refusals(harness: ServerHarness, caller: Caller) -> list[tuple[str, str]]:
    """Return kind and text of every refusal to this caller."""
    return [
        (each.fault.value, each.text) if isinstance(each, events.RequestRefused) else (each.refusal, each.text)
        for each in harness.server_events
        if isinstance(each, events.RequestRefused | events.ProtocolBroken) and each.connection == caller.label
    ]


def text_of(packet: bytes) -> str:
    """Return the unescaped message of an error packet."""
    return unescape(packet.split(b'message="', 1)[1].split(b'"', 1)[0].decode())


def left_result(game_id: str, seat: int, points: tuple[int, int] = (0, 0)) -> bytes:
    """Return the result after the player of `seat` has left, derived from the recorded one."""
    recorded = sample("result_left", game_id)
    won, lost = (score + b"\n      </score>" for score in recorded.split(b"\n      </score>")[:2])
    head, won = won[: won.index(b"\n      <score")], won[won.index(b"\n      <score") :]
    tail = recorded[recorded.index(b"\n      <winner") :]
    won, lost = (
        re.sub(rb"\d+</part>\n      </score>", b"%d</part>\n      </score>" % points[side], score)
        for side, score in ((1 - seat, won), (seat, lost))
    )
    if seat == 0:
        return head + lost + won + tail.replace(b"Eins", b"Zwei").replace(b"ONE", b"TWO")
    return head + won + lost + tail


def left(game: Game, seat: int) -> bytes:
    """Return the packets that are sent when the player of `seat` has left before the first move."""
    return left_result(game.id, seat) + sample("left", game.id)


class Bystanders:
    """A game of other players, which must not be affected by the faults in a test."""

    def __init__(self, game: Game) -> None:
        self._game = game

    @classmethod
    async def open(cls, harness: ServerHarness) -> Bystanders:
        return cls(await harness.game())

    async def are_unaffected(self) -> None:
        game = self._game
        for caller in game.callers:
            assert await caller.receive() == b""
        await (game.one, game.two)[game.room.state.seat_on_turn].send(legal_move(game.room))
        for caller in game.callers:
            assert b'class="memento"' in await caller.receive()
            assert not caller.is_ended


def answered(text: str, original: str | None = None) -> bytes:
    """Return the bytes of an error packet."""
    child = "" if original is None else f"\n    {original}"
    message = escape(text, {"'": "&apos;", '"': "&quot;"})
    return f'\n  <errorpacket message="{message}">{child}\n  </errorpacket>'.encode()
