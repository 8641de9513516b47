"""Every fault, and bytes that cannot be understood, are answered as documented, and affect nobody else."""

from __future__ import annotations

import pytest
import trio
from trio.testing import memory_stream_pair

from spielleiter.server import events
from spielleiter.server.core.clock import Arrival
from spielleiter.server.errors import Fault
from tests.protocol.streams import LATEST
from tests.server.harness import (
    END,
    GAME_TYPE,
    GOODBYE,
    NOWHERE,
    PATIENT,
    START,
    Caller,
    ServerHarness,
    answered,
    expect_unaffected,
    left,
    legal_move,
    open_harness,
    refusals,
    sample,
    set_move_packet,
    text_of,
)
from tests.server.wires import ThrottledWire

# -- requests that cannot be granted ----------------------------------------------------------------------------------


STRANGERS: dict[str, tuple[str, bytes, Fault]] = {
    "wrong password": (
        '<authenticate password="falsch"/>',
        LATEST["errorpacket_wrong_password"],
        Fault.WRONG_PASSWORD,
    ),
    "wrong passphrase": (
        '<authenticate passphrase="falsch"/>',
        LATEST["errorpacket_wrong_password"].replace(b" password=", b" passphrase="),
        Fault.WRONG_PASSWORD,
    ),
    "unknown reservation": (
        f'<joinPrepared reservationCode="{NOWHERE}"/>',
        LATEST["errorpacket_unknown_reservation"],
        Fault.UNKNOWN_RESERVATION,
    ),
    "unknown gameType": (
        '<join gameType="swc_2020_hive"/>',
        LATEST["errorpacket_unknown_gametype"],
        Fault.UNKNOWN_GAME_TYPE,
    ),
    "unknown room": (
        f'<joinRoom roomId="{NOWHERE}"/>',
        answered(
            f"sc.api.plugins.exceptions.GameRoomException: Couldn't find a room with id {NOWHERE}",
            f'<originalRequest class="joinRoom" roomId="{NOWHERE}"/>',
        ),
        Fault.UNKNOWN_ROOM,
    ),
    "prepare": (
        f'<prepare gameType="{GAME_TYPE}"><slot displayName="a"/><slot displayName="b"/></prepare>',
        LATEST["errorpacket_unauthenticated_prepare"],
        Fault.UNAUTHENTICATED,
    ),
    "observe": (
        f'<observe roomId="{NOWHERE}"/>',
        LATEST["errorpacket_unauthenticated_observe"],
        Fault.UNAUTHENTICATED,
    ),
    "step": (f'<step roomId="{NOWHERE}"/>', LATEST["errorpacket_unauthenticated_step"], Fault.UNAUTHENTICATED),
    "server packet": ('<left roomId="x"/>', LATEST["errorpacket_server_packet"], Fault.SERVER_PACKET),
}


@pytest.mark.parametrize(("request_", "reply", "fault"), STRANGERS.values(), ids=STRANGERS)
async def test_a_request_that_cannot_be_granted(
    request_: str, reply: bytes, fault: Fault, autojump_clock: object
) -> None:
    """A stranger is disconnected. A player that is disconnected has left."""
    async with open_harness() as harness:
        others, game = await harness.game(), await harness.game()
        caller = await harness.call()
        await caller.send("<protocol>" + request_)
        assert await caller.receive() == START + reply + GOODBYE
        assert caller.is_ended
        assert refusals(harness, caller) == [(fault.value, text_of(reply))]
        (line,) = harness.logged("request_refused")
        assert (line["connection"], line["fault"], line["text"]) == (caller.label, fault.value, text_of(reply))
        await game.two.send(request_)
        assert await game.two.receive() == reply + GOODBYE
        assert await game.one.receive() == left(game, 1) + END
        assert await game.admin.receive() == left(game, 1)
        await expect_unaffected(others)


async def test_a_wrong_password_is_repeated_to_its_sender_and_never_logged(autojump_clock: object) -> None:
    async with open_harness() as harness:
        caller = await harness.call()
        await caller.send('<protocol><authenticate password="falsch"/>')
        await harness.admin()
        assert b'password="falsch"' in await caller.receive()
        assert "falsch" not in harness.log.getvalue()
        assert harness.config.password not in harness.log.getvalue()


async def test_what_depends_on_a_running_game(autojump_clock: object) -> None:
    async with open_harness() as harness:
        game = await harness.game()
        used = LATEST["errorpacket_unknown_reservation"].replace(NOWHERE.encode(), game.one.reservation.encode())
        for request, reply in (
            (f'<joinPrepared reservationCode="{game.one.reservation}"/>'.encode(), used),
            (f'<joinRoom roomId="{game.id}"/>'.encode(), sample("errorpacket_room_full", game.id)),
            (set_move_packet(game.id, "BLUE", "PENTO_L", 0, 0), sample("errorpacket_not_member", game.id)),
        ):
            caller = await harness.call()
            await caller.send(START + request)
            assert await caller.receive() == START + reply + GOODBYE
        await expect_unaffected(game)


SLOT = '<slot displayName="a"/>'


@pytest.mark.parametrize(
    ("request_", "fault", "message"),
    [
        ("<prepare/>", Fault.BAD_SLOTS, "A game is prepared with 2 slots, this request has 0"),
        (f"<prepare>{SLOT}</prepare>", Fault.BAD_SLOTS, "A game is prepared with 2 slots, this request has 1"),
        (f"<prepare>{SLOT * 3}</prepare>", Fault.BAD_SLOTS, "A game is prepared with 2 slots, this request has 3"),
        (f"<prepare>{SLOT}<slot/></prepare>", Fault.BAD_SLOTS, "Slot 2 of this request has no displayName"),
        *(
            (f'<{command} roomId="x"/>', Fault.UNKNOWN_ROOM, "Couldn't find a room with id x")
            for command in ("observe", "pause", "step", "cancel")
        ),
    ],
)
async def test_a_request_of_an_administrator_that_cannot_be_granted(
    request_: str, fault: Fault, message: str, autojump_clock: object
) -> None:
    async with open_harness() as harness:
        admin = await harness.admin()
        await admin.send(request_)
        received = await admin.receive()
        assert message in text_of(received)
        assert received.startswith(START + b"\n  <errorpacket message=")
        assert received.endswith(b"</errorpacket>" + GOODBYE)
        assert [kind for kind, _ in refusals(harness, admin)] == [fault.value]
        assert (harness.server.lobby.rooms, harness.server.lobby.reservations) == ({}, {})


# -- faults of players ------------------------------------------------------------------------------------------------


async def test_a_move_out_of_turn(autojump_clock: object) -> None:
    async with open_harness() as harness:
        others = await harness.game()
        game = await harness.game()
        await game.two.send(set_move_packet(game.id, "YELLOW", "PENTO_I", 0, 0))
        error, reply = sample("error_not_your_turn", game.id), sample("errorpacket_not_your_turn", game.id)
        assert await game.two.receive() == error + reply + GOODBYE
        assert await game.one.receive() == left(game, 1) + END
        assert await game.admin.receive() == left(game, 1)
        assert refusals(harness, game.two) == [(Fault.NOT_YOUR_TURN.value, text_of(reply))]
        await expect_unaffected(others)


async def test_an_illegal_move(autojump_clock: object) -> None:
    async with open_harness() as harness:
        others = await harness.game()
        game = await harness.game()
        await game.one.send(set_move_packet(game.id, "BLUE", "PENTO_U", 7, 7))
        error, reply = sample("error_illegal_move", game.id), sample("errorpacket_illegal_move", game.id)
        result = sample("result_rule_violation", game.id) + sample("left", game.id)
        assert await game.one.receive() == error + result + reply + GOODBYE
        assert await game.two.receive() == result + END
        assert await game.admin.receive() == error + result
        assert not game.admin.is_ended
        assert refusals(harness, game.one) == [(Fault.ILLEGAL_MOVE.value, text_of(reply))]
        assert len(harness.happened(events.MoveRefused)) == 1
        await expect_unaffected(others)


UNREADABLE = {
    "unknown class": ("sc.plugin2021.HopMove", "", 'data class="sc.plugin2021.HopMove" gibt es nicht'),
    "no piece": ("sc.plugin2021.SetMove", "", "piece"),
    "unknown colour to skip": ("sc.plugin2021.SkipMove", "<color>PINK</color>", '"PINK" im Element color'),
}


@pytest.mark.parametrize(("class_name", "content", "problem"), UNREADABLE.values(), ids=UNREADABLE)
async def test_an_unreadable_move(class_name: str, content: str, problem: str, autojump_clock: object) -> None:
    async with open_harness() as harness:
        others = await harness.game()
        game = await harness.game()
        await game.one.send(f'<room roomId="{game.id}"><data class="{class_name}">{content}</data></room>')
        ((fault, text),) = refusals(harness, game.one)
        assert fault == Fault.UNREADABLE_MOVE.value
        assert problem in text
        assert "Der Zug konnte nicht erkannt werden" in text
        result = await game.two.receive()
        assert result.endswith(sample("left", game.id) + END)
        assert b'cause="RULE_VIOLATION" reason="Der Zug konnte nicht erkannt werden: ' in result
        received = await game.one.receive()
        error = received[: received.index(result.removesuffix(END))]
        assert error.startswith(b'\n  <room roomId="%s">\n    <data class="error" message=' % game.id.encode())
        assert received == error + result.removesuffix(END) + received[received.index(b"\n  <errorpacket") :]
        assert received.endswith(b"</errorpacket>" + GOODBYE)
        assert await game.admin.receive() == error + result.removesuffix(END)
        await expect_unaffected(others)


@pytest.mark.parametrize(
    ("data", "recorded"),
    [('<data class="welcomeMessage" color="ONE"/>', "errorpacket_non_move"), ("", "errorpacket_room_no_data")],
)
async def test_a_room_packet_without_a_move(data: str, recorded: str, autojump_clock: object) -> None:
    async with open_harness() as harness:
        game = await harness.game()
        await game.one.send(f'<room roomId="{game.id}">{data}</room>')
        assert await game.one.receive() == sample(recorded, game.id) + GOODBYE
        assert await game.two.receive() == left(game, 0) + END
        assert await game.admin.receive() == left(game, 0)
        assert [fault for fault, _ in refusals(harness, game.one)] == [Fault.NOT_A_MOVE.value]


# -- bytes that cannot be understood ----------------------------------------------------------------------------------


BROKEN: dict[str, tuple[str, str, str, str | None]] = {
    # name: bytes, kind, message (or its beginning), repeated packet; the limits are in tests/server/test_limits.py
    "malformed": ('<join gameType="x"></jion>', "malformed", "Not well-formed XML (packet 1, line 1, column", None),
    "no XML": ("hello <3 goodbye<join/>", "malformed", "Not well-formed XML", None),
    "entity": ("<join gameType='&lol;'/>", "entity", "undefined entity at ", None),
    "size, not complete": ("<!--" + "x" * 8192, "packet_size", "Packet 1 is longer than 8192 bytes", None),
    "control character": ("<\0join/>", "malformed", "Not well-formed XML", None),
    "unknown packet": (
        "<jion/>",
        "unknown_packet",
        "<jion> is not a packet of this protocol",
        '<originalRequest class="jion"/>',
    ),
    "HTTP": ("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "malformed", "The stream has to begin with", None),
}


@pytest.mark.parametrize(("data", "kind", "message", "original"), BROKEN.values(), ids=BROKEN)
async def test_bytes_that_cannot_be_understood(
    data: str, kind: str, message: str, original: str | None, autojump_clock: object
) -> None:
    async with open_harness(packet_bytes_player=8192) as harness:
        others, game = await harness.game(), await harness.game()
        caller = await harness.call()
        await caller.send(data if kind == "malformed" and data.startswith("GET") else "<protocol>" + data)
        ((refusal, text),) = refusals(harness, caller)
        assert refusal == kind
        assert text.startswith(message)
        assert await caller.receive() == START + answered(text, original) + GOODBYE
        assert caller.is_ended
        (line,) = harness.logged("protocol_broken")
        assert (line["refusal"], line["text"]) == (kind, text)
        await game.one.send(data + "</wrong>")
        assert (await game.one.receive()).endswith(GOODBYE)
        assert await game.two.receive() == left(game, 0) + END
        assert await game.admin.receive() == left(game, 0)
        await expect_unaffected(others)


async def test_players_may_send_longer_packets(autojump_clock: object) -> None:
    async with open_harness(packet_bytes_before=256, packet_bytes_player=4096) as harness:
        comment = f"<!--{'x' * 2000}-->"
        game = await harness.game()
        await game.one.send(comment.encode() + legal_move(game.room))
        assert b'turn="1"' in await game.one.receive()
        admin = await harness.admin()
        await admin.send(comment + '<testMode testMode="true"/>')
        assert await admin.receive() == START + LATEST["testing"]
        joining = await harness.call()
        await joining.send(f"<protocol><join/>{comment}<close/>")  # in the same segment
        assert b"<joined " in await joining.receive()
        assert refusals(harness, joining) == []
        stranger = await harness.call()
        await stranger.send("<protocol>" + comment + "<join/>")
        assert [kind for kind, _ in refusals(harness, stranger)] == ["packet_size"]


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
        for data in ("<jion/>", "</wrong>", "<join/>", ""):  # the last but one names no game, the last one comes late
            caller = await harness.call()
            await caller.send("<protocol>" + data)
            if not data:
                await trio.sleep(30.1)
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
        others = await harness.game()
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
        await expect_unaffected(others)


@pytest.mark.parametrize("begun", ["", " \n", "ping", "\0", "&am"])
async def test_text_between_packets_is_no_packet(begun: str, autojump_clock: object) -> None:
    """The releases mind neither the text nor the silence after it."""
    async with open_harness("blokus-2027") as harness:
        caller = await harness.call()
        await caller.send("<protocol><step/>" + begun)
        await trio.sleep(5000.0)
        assert not caller.is_ended
        assert late_packets(harness, caller) == []


@pytest.mark.parametrize("edition", ["blokus-2027", "blokus-2021-21.4.0", "blokus-2021-r3"])
async def test_a_player_may_stop_within_a_packet_of_a_game_without_limits(edition: str, autojump_clock: object) -> None:
    async with open_harness(edition, has_timeouts=False) as harness:
        game = await harness.game()
        move = legal_move(game.room)
        await game.one.send(move[:40])
        await game.two.send("<room")
        await trio.sleep(5000.0)
        assert not game.one.is_ended
        await game.one.send(move[40:])
        assert game.room.ply == 1
        await game.admin.send(f'<cancel roomId="{game.id}"/>')
        if edition == "blokus-2027":  # it stays connected, and is idle now
            await trio.sleep(59.9)
            assert not game.two.is_ended
            await trio.sleep(0.2)
        assert game.two.is_ended is (edition != "blokus-2021-21.4.0")


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


async def test_segments_that_straddle_packets_are_not_slow(autojump_clock: object) -> None:
    async with open_harness("blokus-2027") as harness:
        caller = await harness.call()
        await trio.sleep(29.0)
        await caller.send("<protocol><step/><step")
        for _ in range(20):
            await trio.sleep(9.0)
            await caller.send("/><step")
        assert late_packets(harness, caller) == []
        assert (await caller.receive()).count(b"<errorpacket") == 21
        await trio.sleep(10.1)
        assert [kind for kind, _ in late_packets(harness, caller)] == ["packet_timeout"]


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
