"""Every fault is answered as documented, byte for byte, and affects no other connection.

The rows of the fault table in the edition's specification, as bytes on memory streams.
"""

from __future__ import annotations

import pytest

from spielleiter.server import events
from spielleiter.server.errors import Fault
from tests.protocol.streams import LATEST
from tests.server.answers import Bystanders, answered, left, left_result, refusals, text_of
from tests.server.harness import (
    END,
    GAME_TYPE,
    GOODBYE,
    NOWHERE,
    START,
    open_harness,
    sample,
    set_move_packet,
)


def test_the_result_after_a_player_left_equals_the_recording() -> None:
    game_id = "587649db-1dd3-4762-ba6c-d09948678e9e"
    assert left_result(game_id, 1, (15, 10)) == LATEST["result_left"]


# -- requests that cannot be granted ----------------------------------------------------------------------------------

UNAUTHENTICATED = "sc.server.network.UnauthenticatedException: Request {} requires authentication"


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
    "step": (
        f'<step roomId="{NOWHERE}"/>',
        LATEST["errorpacket_unauthenticated_step"],
        Fault.UNAUTHENTICATED,
    ),
    "pause": (
        f'<pause roomId="{NOWHERE}" pause="true"/>',
        answered(
            UNAUTHENTICATED.format(f"PauseGameRequest(roomId={NOWHERE}, pause=true)"),
            f'<originalRequest class="pause" roomId="{NOWHERE}" pause="true"/>',
        ),
        Fault.UNAUTHENTICATED,
    ),
    "cancel": (
        f'<cancel roomId="{NOWHERE}"/>',
        answered(
            UNAUTHENTICATED.format(f"CancelRequest(roomId={NOWHERE})"),
            f'<originalRequest class="cancel" roomId="{NOWHERE}"/>',
        ),
        Fault.UNAUTHENTICATED,
    ),
    "testMode": (
        '<testMode testMode="true"/>',
        answered(
            UNAUTHENTICATED.format("TestModeRequest(testMode=true)"),
            '<originalRequest class="testMode" testMode="true"/>',
        ),
        Fault.UNAUTHENTICATED,
    ),
    "scoreForPlayer": (
        '<scoreForPlayer displayName="Alpha"/>',
        answered(
            UNAUTHENTICATED.format("PlayerScoreRequest(displayName=Alpha)"),
            '<originalRequest class="scoreForPlayer" displayName="Alpha"/>',
        ),
        Fault.UNAUTHENTICATED,
    ),
    "server packet": ('<left roomId="x"/>', LATEST["errorpacket_server_packet"], Fault.SERVER_PACKET),
}


@pytest.mark.parametrize(("request_", "reply", "fault"), STRANGERS.values(), ids=STRANGERS)
async def test_a_request_that_cannot_be_granted(
    request_: str, reply: bytes, fault: Fault, autojump_clock: object
) -> None:
    async with open_harness() as harness:
        bystanders = await Bystanders.open(harness)
        caller = await harness.call()
        await caller.send("<protocol>" + request_)
        assert await caller.receive() == START + reply + GOODBYE
        assert caller.is_ended
        assert refusals(harness, caller) == [(fault.value, text_of(reply))]
        (line,) = harness.logged("request_refused")
        assert (line["connection"], line["fault"], line["text"]) == (caller.label, fault.value, text_of(reply))
        await bystanders.are_unaffected()


async def test_a_wrong_password_is_repeated_to_its_sender_and_never_logged(autojump_clock: object) -> None:
    async with open_harness() as harness:
        caller = await harness.call()
        await caller.send('<protocol><authenticate password="falsch"/>')
        await harness.admin()
        assert b'password="falsch"' in await caller.receive()
        assert "falsch" not in harness.log.getvalue()
        assert harness.config.password not in harness.log.getvalue()


async def test_a_used_reservation_is_unknown(autojump_clock: object) -> None:
    async with open_harness() as harness:
        game = await harness.game()
        caller = await harness.take_seat(game.one.reservation)
        used = LATEST["errorpacket_unknown_reservation"].replace(NOWHERE.encode(), game.one.reservation.encode())
        assert await caller.receive() == START + used + GOODBYE


async def test_a_full_room(autojump_clock: object) -> None:
    async with open_harness() as harness:
        game = await harness.game()
        caller = await harness.call()
        await caller.send(f'<protocol><joinRoom roomId="{game.id}"/>')
        assert await caller.receive() == START + sample("errorpacket_room_full", game.id) + GOODBYE


async def test_a_move_in_another_game(autojump_clock: object) -> None:
    async with open_harness() as harness:
        game = await harness.game()
        caller = await harness.call()
        await caller.send(START + set_move_packet(game.id, "BLUE", "PENTO_L", 0, 0))
        assert await caller.receive() == START + sample("errorpacket_not_member", game.id) + GOODBYE
        await Bystanders(game).are_unaffected()


@pytest.mark.parametrize("command", ["observe", "pause", "step", "cancel"])
async def test_a_command_for_an_unknown_room(command: str, autojump_clock: object) -> None:
    async with open_harness() as harness:
        bystanders = await Bystanders.open(harness)
        admin = await harness.admin()
        await admin.send(f'<{command} roomId="{NOWHERE}"/>')
        received = await admin.receive()
        assert f"Couldn&apos;t find a room with id {NOWHERE}".encode() in received
        assert received.endswith(b"</errorpacket>" + GOODBYE)
        await bystanders.are_unaffected()


SLOT = '<slot displayName="a"/>'


@pytest.mark.parametrize(
    ("slots", "message"),
    [
        ("", "A game is prepared with 2 slots, this request has 0"),
        (SLOT, "A game is prepared with 2 slots, this request has 1"),
        (SLOT * 3, "A game is prepared with 2 slots, this request has 3"),
        (SLOT + "<slot/>", "Slot 2 of this request has no displayName"),
    ],
)
async def test_a_game_that_cannot_be_prepared(slots: str, message: str, autojump_clock: object) -> None:
    async with open_harness() as harness:
        admin = await harness.admin()
        await admin.send(f'<prepare gameType="{GAME_TYPE}">{slots}</prepare>')
        received = await admin.receive()
        assert received.startswith(START + f'\n  <errorpacket message="{message}">\n    <originalRequest'.encode())
        assert received.endswith(b"</errorpacket>" + GOODBYE)
        assert refusals(harness, admin) == [(Fault.BAD_SLOTS.value, message)]
        assert (harness.server.lobby.rooms, harness.server.lobby.reservations) == ({}, {})


# -- faults of players ------------------------------------------------------------------------------------------------


async def test_a_move_out_of_turn(autojump_clock: object) -> None:
    async with open_harness() as harness:
        bystanders = await Bystanders.open(harness)
        game = await harness.game()
        await game.two.send(set_move_packet(game.id, "YELLOW", "PENTO_I", 0, 0))
        error, reply = sample("error_not_your_turn", game.id), sample("errorpacket_not_your_turn", game.id)
        assert await game.two.receive() == error + reply + GOODBYE
        assert await game.one.receive() == left(game, 1) + END
        assert await game.admin.receive() == left(game, 1)
        assert refusals(harness, game.two) == [(Fault.NOT_YOUR_TURN.value, text_of(reply))]
        await bystanders.are_unaffected()


async def test_an_illegal_move(autojump_clock: object) -> None:
    async with open_harness() as harness:
        bystanders = await Bystanders.open(harness)
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
        await bystanders.are_unaffected()


PIECE = '<piece color="{color}" kind="{kind}" rotation="{rotation}" isFlipped="false">{position}</piece>'
POSITION = '<position x="{x}" y="{y}"/>'


def set_move(position: str = POSITION, x: str = "0", y: str = "0", **changes: str) -> str:
    chosen = {"color": "BLUE", "kind": "PENTO_U", "rotation": "NONE", **changes}
    return PIECE.format(**chosen, position=position.format(x=x, y=y))


UNREADABLE = {
    "unknown class": ("sc.plugin2021.HopMove", set_move(), 'data class="sc.plugin2021.HopMove" gibt es nicht'),
    "unknown colour": ("sc.plugin2021.SetMove", set_move(color="PINK"), 'piece color="PINK" gibt es nicht'),
    "unknown piece": ("sc.plugin2021.SetMove", set_move(kind="HEXO"), 'piece kind="HEXO" gibt es nicht'),
    "unknown rotation": ("sc.plugin2021.SetMove", set_move(rotation="UP"), 'piece rotation="UP" gibt es nicht'),
    "no piece": ("sc.plugin2021.SetMove", "", "piece"),
    "no position": ("sc.plugin2021.SetMove", set_move(position=""), "position"),
    "no number": ("sc.plugin2021.SetMove", set_move(x="left"), 'position x="left" ist keine ganze Zahl'),
    "number out of range": ("sc.plugin2021.SetMove", set_move(y="2147483648"), "liegt nicht zwischen"),
    "unknown colour to skip": ("sc.plugin2021.SkipMove", "<color>PINK</color>", '"PINK" im Element color'),
}


@pytest.mark.parametrize(("class_name", "content", "problem"), UNREADABLE.values(), ids=UNREADABLE)
async def test_an_unreadable_move(class_name: str, content: str, problem: str, autojump_clock: object) -> None:
    async with open_harness() as harness:
        bystanders = await Bystanders.open(harness)
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
        await bystanders.are_unaffected()


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


@pytest.mark.parametrize(("request_", "reply", "fault"), STRANGERS.values(), ids=STRANGERS)
async def test_a_player_whose_request_cannot_be_granted_has_left(
    request_: str, reply: bytes, fault: Fault, autojump_clock: object
) -> None:
    async with open_harness() as harness:
        game = await harness.game()
        await game.two.send(request_)
        assert await game.two.receive() == reply + GOODBYE
        assert await game.one.receive() == left(game, 1) + END
        assert await game.admin.receive() == left(game, 1)
        assert [kind for kind, _ in refusals(harness, game.two)] == [fault.value]
