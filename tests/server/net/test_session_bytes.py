"""Bytes that cannot be understood are refused with a reason, and affect no other connection."""

from __future__ import annotations

import pytest
import trio
from trio.testing import memory_stream_pair

from spielleiter.server import events
from spielleiter.server.core.clock import Arrival
from tests.protocol.streams import LATEST
from tests.server.answers import Bystanders, answered, left, refusals
from tests.server.harness import END, GOODBYE, PATIENT, START, Caller, ServerHarness, legal_move, open_harness
from tests.server.wires import ThrottledWire

# -- bytes that cannot be understood ----------------------------------------------------------------------------------

DEEP = "<a>" * 32 + "</a>" * 32
MANY = " ".join(f'a{number}=""' for number in range(65))

BROKEN: dict[str, tuple[str, str, str, str | None]] = {
    # name: bytes after <protocol>, kind, message (or its beginning), repeated packet
    "malformed": ('<join gameType="x"></jion>', "malformed", "Not well-formed XML (packet 1, line 1, column", None),
    "no XML": ("hello <3 goodbye<join/>", "malformed", "Not well-formed XML", None),
    "entity": ("<join gameType='&lol;'/>", "entity", "undefined entity at ", None),
    "depth": (f"<room>{DEEP}</room>", "depth", "Packet 1 has elements nested deeper than 32", None),
    "attributes": (f"<join {MANY}/>", "attributes", "Packet 1 has an element <join> with more than 64", None),
    "children": (f"<room>{'<a/>' * 65}</room>", "children", "Packet 1 has more than 64 elements below it", None),
    "size": (f"<join gameType='{'x' * 8192}'/>", "packet_size", "Packet 1 is longer than 8192 bytes", None),
    "size, not complete": ("<!--" + "x" * 8192, "packet_size", "Packet 1 is longer than 8192 bytes", None),
    "unknown packet": (
        "<jion/>",
        "unknown_packet",
        "<jion> is not a packet of this protocol",
        '<originalRequest class="jion"/>',
    ),
}


@pytest.mark.parametrize(("data", "kind", "message", "original"), BROKEN.values(), ids=BROKEN)
async def test_bytes_that_cannot_be_understood(
    data: str, kind: str, message: str, original: str | None, autojump_clock: object
) -> None:
    async with open_harness(packet_children_player=64) as harness:
        bystanders = await Bystanders.open(harness)
        caller = await harness.call()
        await caller.send("<protocol>" + data)
        ((refusal, text),) = refusals(harness, caller)
        assert refusal == kind
        assert text.startswith(message)
        assert await caller.receive() == START + answered(text, original) + GOODBYE
        assert caller.is_ended
        (line,) = harness.logged("protocol_broken")
        assert (line["refusal"], line["text"]) == (kind, text)
        await bystanders.are_unaffected()


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ("<!DOCTYPE protocol><protocol>", "doctype"),
        ('<!DOCTYPE protocol [<!ENTITY a "aaaaaaaaaa">]><protocol><join gameType="&a;"/>', "doctype"),
        ('<?xml version="1.0" encoding="ISO-8859-1"?><protocol>', "encoding"),
        ("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "malformed"),
    ],
)
async def test_streams_with_a_wrong_beginning(data: str, kind: str, autojump_clock: object) -> None:
    async with open_harness() as harness:
        caller = await harness.call()
        await caller.send(data)
        ((refusal, text),) = refusals(harness, caller)
        assert refusal == kind
        assert await caller.receive() == START + answered(text) + GOODBYE


@pytest.mark.parametrize("data", [*(data for data, *_ in BROKEN.values()), "<\0join/>", "<!DOCTYPE x>"])
async def test_a_player_whose_bytes_cannot_be_understood_has_left(data: str, autojump_clock: object) -> None:
    async with open_harness(packet_children_player=64, packet_bytes_player=8192) as harness:
        game = await harness.game()
        await game.one.send(data)
        assert (await game.one.receive()).endswith(GOODBYE)
        assert await game.two.receive() == left(game, 0) + END
        assert await game.admin.receive() == left(game, 0)
        assert len(refusals(harness, game.one)) == 1


async def test_players_may_send_longer_packets(autojump_clock: object) -> None:
    async with open_harness(packet_bytes_before=256, packet_bytes_player=4096) as harness:
        comment = f"<!--{'x' * 2000}-->"
        game = await harness.game()
        await game.one.send(comment.encode() + legal_move(game.room))
        assert b'turn="1"' in await game.one.receive()
        admin = await harness.admin()
        await admin.send(comment + '<testMode testMode="true"/>')
        assert await admin.receive() == START + LATEST["testing"]
        stranger = await harness.call()
        await stranger.send("<protocol>" + comment + "<join/>")
        assert [kind for kind, _ in refusals(harness, stranger)] == ["packet_size"]


async def test_a_longer_packet_may_follow_the_join_in_the_same_segment(autojump_clock: object) -> None:
    async with open_harness(packet_bytes_before=256, packet_bytes_player=4096) as harness:
        caller = await harness.call()
        await caller.send(f"<protocol><join/><!--{'x' * 1000}--><close/>")
        assert b"<joined " in await caller.receive()
        assert refusals(harness, caller) == []


async def test_unknown_content_of_a_packet_is_ignored_and_logged_once(autojump_clock: object) -> None:
    async with open_harness() as harness:
        caller = await harness.call()
        await caller.send("<protocol><join mood='good'><wish/><wish/></join>")
        assert b"<joined " in await caller.receive()
        await caller.send("<join><wish/><dream/></join>")
        ignored = [each.ignored for each in harness.happened(events.ContentIgnored, caller.label)]
        assert ignored == [("<wish> in <join>",), ("<dream> in <join>",)]
        assert len(harness.logged("content_ignored")) == 2


async def test_the_release_ends_a_connection_that_it_cannot_understand_without_a_reply(autojump_clock: object) -> None:
    async with open_harness("blokus-2021-21.4.0") as harness:
        for data in ("<jion/>", "</wrong>", "<join/>"):  # the last one names no game
            caller = await harness.call()
            await caller.send("<protocol>" + data)
            assert (await caller.receive(), caller.is_ended) == (b"", True)
            assert len(refusals(harness, caller)) == 1


# -- timeouts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", ["", "<protocol>", "<protocol><!-- hello -->\n", "<protocol><join"])
async def test_the_first_packet_must_come_in_time(data: str, autojump_clock: object) -> None:
    async with open_harness() as harness:
        caller = await harness.call()
        if data:
            await caller.send(data)
        await trio.sleep(29.9)
        assert await caller.receive() == b""
        await trio.sleep(0.2)
        text = "No packet came within 30 s"
        assert await caller.receive() == START + answered(text) + GOODBYE
        assert refusals(harness, caller) == [("first_packet", text)]


def late_packets(harness: ServerHarness, caller: Caller) -> list[tuple[str, str]]:
    """Return the refusals of a stranger whose only complete packets are requests of administrators."""
    return [each for each in refusals(harness, caller) if each[0] != "unauthenticated"]


@pytest.mark.parametrize("begun", ["<room", "<room roomId='", "<step/><!-- ", "ping <"])
async def test_a_packet_of_a_stranger_must_be_complete_in_time(begun: str, autojump_clock: object) -> None:
    async with open_harness("blokus-2027", **PATIENT) as harness:
        bystanders = await Bystanders.open(harness)
        caller = await harness.call()
        await caller.send("<protocol><step/>")
        await caller.receive()
        await trio.sleep(100.0)
        await caller.send(begun)
        await trio.sleep(9.9)
        assert late_packets(harness, caller) == []
        await trio.sleep(0.2)
        text = "A packet was begun and not ended in 10 s"
        assert text.encode() in await caller.receive()
        assert caller.is_ended
        assert late_packets(harness, caller) == [("packet_timeout", text)]
        await bystanders.are_unaffected()


@pytest.mark.parametrize("begun", ["ping", "\0", " ping &amp;", "&am"])
async def test_text_between_packets_is_no_packet(begun: str, autojump_clock: object) -> None:
    """The releases mind neither the text nor the silence after it."""
    async with open_harness("blokus-2027") as harness:
        caller = await harness.call()
        await caller.send("<protocol><step/>" + begun)
        await trio.sleep(5000.0)
        assert not caller.is_ended
        assert late_packets(harness, caller) == []


@pytest.mark.parametrize("edition", ["blokus-2027", "blokus-2021-21.4.0", "blokus-2021-r3"])
@pytest.mark.parametrize("is_on_turn", [True, False])
async def test_a_player_may_stop_within_a_packet(edition: str, is_on_turn: bool, autojump_clock: object) -> None:
    async with open_harness(edition, has_timeouts=False) as harness:
        game = await harness.game()
        player, other = (game.one, game.two) if is_on_turn else (game.two, game.one)
        move = legal_move(game.room)
        await player.send(move[:40])
        await trio.sleep(5000.0)
        assert not player.is_ended
        if not is_on_turn:
            await other.send(legal_move(game.room))
            move = legal_move(game.room)
            await player.send(b"' x='")
            return
        await player.send(move[40:])
        assert game.room.ply == 1


async def test_a_player_that_stops_within_a_packet_has_its_time_limits(autojump_clock: object) -> None:
    async with open_harness("blokus-2027") as harness:
        game = await harness.game()
        await game.one.send(legal_move(game.room)[:40])
        await trio.sleep(10.1)
        (ended,) = harness.happened(events.GameEnded)
        assert ended.causes == ("HARD_TIMEOUT", "REGULAR")


async def test_a_player_that_stops_within_a_packet_is_idle_after_its_game(autojump_clock: object) -> None:
    async with open_harness("blokus-2027") as harness:
        game = await harness.game()
        await game.two.send("<room")
        await game.admin.send(f'<cancel roomId="{game.id}"/>')
        await trio.sleep(59.9)
        await game.two.send(" ")
        assert not game.two.is_ended
        await trio.sleep(0.2)
        assert game.two.is_ended


@pytest.mark.parametrize(
    ("host", "is_exempt"), [("127.0.0.1", True), ("::1", True), ("192.0.2.1", False), ("host", False)]
)
@pytest.mark.parametrize("settings", [{}, {"bounds_loopback": True}])
async def test_peers_on_this_machine_may_take_their_time_as_with_the_release(
    settings: dict[str, bool], host: str, is_exempt: bool, autojump_clock: object
) -> None:
    async with open_harness("blokus-2027", **settings) as harness:
        is_exempt &= not settings
        silent, slow, half = [await harness.call(host) for _ in range(3)]
        await slow.send("<protocol><joi")
        await half.send("<protocol><step/><st")
        await trio.sleep(36.0)
        assert [each.is_ended for each in (silent, slow, half)] == [not is_exempt] * 3
        players = [await harness.call(host) for _ in range(2)]
        for player in players:
            await player.send("<protocol><join/>")
        (room,) = harness.server.lobby.rooms.values()
        room.cancel()
        await trio.sleep(3600.0)
        assert [each.is_ended for each in players] == [not is_exempt] * 2
        if is_exempt:
            await slow.send("n/>")
            await players[0].send("<join/>")
            assert room not in harness.server.lobby.rooms.values()
            assert len(harness.server.lobby.rooms) == 1
            assert b"memento" in await slow.receive()


async def test_each_packet_has_its_own_deadline(autojump_clock: object) -> None:
    async with open_harness("blokus-2027") as harness:
        caller = await harness.call()
        await trio.sleep(29.0)
        await caller.send("<protocol><step/><step")
        await trio.sleep(9.9)
        assert late_packets(harness, caller) == []
        await trio.sleep(0.2)
        assert [kind for kind, _ in late_packets(harness, caller)] == ["packet_timeout"]


async def test_segments_that_straddle_packets_are_not_slow(autojump_clock: object) -> None:
    async with open_harness("blokus-2027") as harness:
        caller = await harness.call()
        await caller.send("<protocol><step")
        for _ in range(20):
            await trio.sleep(9.0)
            await caller.send("/><step")
        assert late_packets(harness, caller) == []
        assert (await caller.receive()).count(b"<errorpacket") == 20
        await trio.sleep(10.1)
        assert [kind for kind, _ in late_packets(harness, caller)] == ["packet_timeout"]


async def test_between_packets_a_peer_may_be_silent_for_ever(autojump_clock: object) -> None:
    async with open_harness(**PATIENT) as harness:
        caller = await harness.admin()
        for _ in range(3):
            await trio.sleep(5000.0)
            await caller.send(' <testMode testMode="true"/> \n')
            assert (await caller.receive()).endswith(LATEST["testing"])


async def test_the_release_ends_a_slow_connection_without_a_reply(autojump_clock: object) -> None:
    async with open_harness("blokus-2021-21.4.0") as harness:
        caller = await harness.call()
        await trio.sleep(30.1)
        assert (await caller.receive(), caller.is_ended) == (b"", True)
        assert [kind for kind, _ in refusals(harness, caller)] == ["first_packet"]


# -- a late event loop ------------------------------------------------------------------------------------------------


class LateWire(ThrottledWire):
    """A wire on which the end of a packet arrives in time, but is noticed only after the deadline."""

    def __init__(self, late: bytes, after: float) -> None:
        super().__init__()
        self._late = late
        self._after = after
        self._is_first = True

    async def receive(self) -> tuple[bytes, Arrival]:
        if self._is_first:
            self._is_first = False
            return b"<protocol><step/><step", Arrival(trio.current_time())
        if self._late and not self.unread:
            self.unread = 1
            await trio.sleep(self._after)
        data, self._late, self.unread = self._late, b"", 0
        return (data, Arrival(trio.current_time())) if data else await super().receive()


async def test_a_packet_that_arrived_in_time_is_read_by_a_late_server(autojump_clock: object) -> None:
    async with open_harness("blokus-2027") as harness:
        wire = LateWire(b" forced='true'/>", after=20.0)
        near, _ = memory_stream_pair()
        caller = await harness.call_over(near, wire)
        await trio.sleep(15.0)
        assert late_packets(harness, caller) == []
        assert bytes(wire.taken).count(b"<errorpacket") == 2


async def test_many_packets_at_once_do_not_get_more_turns(autojump_clock: object) -> None:
    async with open_harness(**PATIENT) as harness:
        game = await harness.game()
        other = await harness.call()
        await game.admin.near.send_all(f'<pause roomId="{game.id}" pause="false"/>'.encode() * 50)
        await other.send('<protocol><authenticate password="examplepassword"/>')
        kinds = [type(each) for each in harness.server_events]
        before = kinds[: len(kinds) - kinds[::-1].index(events.AdminAuthenticated)]
        assert kinds.count(events.CommandIgnored) == 50
        assert before.count(events.CommandIgnored) < 10


async def test_a_hard_limit_waits_for_input_that_was_read_and_not_handled(autojump_clock: object) -> None:
    async with open_harness(**PATIENT) as harness:
        game = await harness.game()
        (admin,) = game.room.observers
        seen: list[bool] = []

        def look(event: events.ServerEvent) -> None:
            if isinstance(event, events.CommandIgnored):
                seen.append(admin.sink.has_unread_input())

        harness.server.stream.subscribe(look)
        await game.admin.send(f'<pause roomId="{game.id}" pause="false"/>' * 3)
        assert seen == [False, True, True]
        assert not admin.sink.has_unread_input()
