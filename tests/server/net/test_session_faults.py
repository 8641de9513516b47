"""Every fault is answered as documented, byte for byte, and affects nobody else.

The rows of the fault table in the edition's specification, as bytes on memory streams.
"""

from __future__ import annotations

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from spielleiter.server import events
from spielleiter.server.errors import Fault
from spielleiter.server.net import password_guard as guard
from spielleiter.server.net.session import GUESSES_WAITING
from tests.protocol.streams import LATEST
from tests.server.answers import Bystanders, answered, left, left_result, refusals, text_of
from tests.server.harness import (
    END,
    GAME_TYPE,
    GOODBYE,
    NOWHERE,
    PASSWORD,
    START,
    Caller,
    ServerHarness,
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
        await caller.says("<protocol>" + request_)
        assert await caller.hears() == START + reply + GOODBYE
        assert caller.is_ended
        assert refusals(harness, caller) == [(fault.value, text_of(reply))]
        (line,) = harness.logged("request_refused")
        assert (line["connection"], line["fault"], line["text"]) == (caller.label, fault.value, text_of(reply))
        await bystanders.are_unaffected()


async def test_a_wrong_password_is_repeated_to_its_sender_and_never_logged(autojump_clock: object) -> None:
    async with open_harness() as harness:
        caller = await harness.call()
        await caller.says('<protocol><authenticate password="falsch"/>')
        await harness.admin()
        assert b'password="falsch"' in await caller.hears()
        assert "falsch" not in harness.log.getvalue()
        assert harness.config.password not in harness.log.getvalue()


async def test_a_used_reservation_is_unknown(autojump_clock: object) -> None:
    async with open_harness() as harness:
        game = await harness.game()
        caller = await harness.take_seat(game.one.reservation)
        used = LATEST["errorpacket_unknown_reservation"].replace(NOWHERE.encode(), game.one.reservation.encode())
        assert await caller.hears() == START + used + GOODBYE


async def test_a_full_room(autojump_clock: object) -> None:
    async with open_harness() as harness:
        game = await harness.game()
        caller = await harness.call()
        await caller.says(f'<protocol><joinRoom roomId="{game.id}"/>')
        assert await caller.hears() == START + sample("errorpacket_room_full", game.id) + GOODBYE


async def test_a_move_in_another_game(autojump_clock: object) -> None:
    async with open_harness() as harness:
        game = await harness.game()
        caller = await harness.call()
        await caller.says(START + set_move_packet(game.id, "BLUE", "PENTO_L", 0, 0))
        assert await caller.hears() == START + sample("errorpacket_not_member", game.id) + GOODBYE
        await Bystanders(game).are_unaffected()


@pytest.mark.parametrize("command", ["observe", "pause", "step", "cancel"])
async def test_a_command_for_an_unknown_room(command: str, autojump_clock: object) -> None:
    async with open_harness() as harness:
        bystanders = await Bystanders.open(harness)
        admin = await harness.admin()
        await admin.says(f'<{command} roomId="{NOWHERE}"/>')
        heard = await admin.hears()
        assert f"Couldn&apos;t find a room with id {NOWHERE}".encode() in heard
        assert heard.endswith(b"</errorpacket>" + GOODBYE)
        await bystanders.are_unaffected()


SLOT = '<slot displayName="a"/>'


@pytest.mark.parametrize(
    ("slots", "said"),
    [
        ("", "A game is prepared with 2 slots, this request has 0"),
        (SLOT, "A game is prepared with 2 slots, this request has 1"),
        (SLOT * 3, "A game is prepared with 2 slots, this request has 3"),
        (SLOT + "<slot/>", "Slot 2 of this request has no displayName"),
    ],
)
async def test_a_game_that_cannot_be_prepared(slots: str, said: str, autojump_clock: object) -> None:
    async with open_harness() as harness:
        admin = await harness.admin()
        await admin.says(f'<prepare gameType="{GAME_TYPE}">{slots}</prepare>')
        heard = await admin.hears()
        assert heard.startswith(START + f'\n  <errorpacket message="{said}">\n    <originalRequest'.encode())
        assert heard.endswith(b"</errorpacket>" + GOODBYE)
        assert refusals(harness, admin) == [(Fault.BAD_SLOTS.value, said)]
        assert (harness.server.lobby.rooms, harness.server.lobby.reservations) == ({}, {})


# -- faults of players ------------------------------------------------------------------------------------------------


async def test_a_move_out_of_turn(autojump_clock: object) -> None:
    async with open_harness() as harness:
        bystanders = await Bystanders.open(harness)
        game = await harness.game()
        await game.two.says(set_move_packet(game.id, "YELLOW", "PENTO_I", 0, 0))
        error, reply = sample("error_not_your_turn", game.id), sample("errorpacket_not_your_turn", game.id)
        assert await game.two.hears() == error + reply + GOODBYE
        assert await game.one.hears() == left(game, 1) + END
        assert await game.admin.hears() == left(game, 1)
        assert refusals(harness, game.two) == [(Fault.NOT_YOUR_TURN.value, text_of(reply))]
        await bystanders.are_unaffected()


async def test_an_illegal_move(autojump_clock: object) -> None:
    async with open_harness() as harness:
        bystanders = await Bystanders.open(harness)
        game = await harness.game()
        await game.one.says(set_move_packet(game.id, "BLUE", "PENTO_U", 7, 7))
        error, reply = sample("error_illegal_move", game.id), sample("errorpacket_illegal_move", game.id)
        result = sample("result_rule_violation", game.id) + sample("left", game.id)
        assert await game.one.hears() == error + result + reply + GOODBYE
        assert await game.two.hears() == result + END
        assert await game.admin.hears() == error + result
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
        await game.one.says(f'<room roomId="{game.id}"><data class="{class_name}">{content}</data></room>')
        ((fault, text),) = refusals(harness, game.one)
        assert fault == Fault.UNREADABLE_MOVE.value
        assert problem in text
        assert "Der Zug konnte nicht erkannt werden" in text
        result = await game.two.hears()
        assert result.endswith(sample("left", game.id) + END)
        assert b'cause="RULE_VIOLATION" reason="Der Zug konnte nicht erkannt werden: ' in result
        heard = await game.one.hears()
        error = heard[: heard.index(result.removesuffix(END))]
        assert error.startswith(b'\n  <room roomId="%s">\n    <data class="error" message=' % game.id.encode())
        assert heard == error + result.removesuffix(END) + heard[heard.index(b"\n  <errorpacket") :]
        assert heard.endswith(b"</errorpacket>" + GOODBYE)
        assert await game.admin.hears() == error + result.removesuffix(END)
        await bystanders.are_unaffected()


@pytest.mark.parametrize(
    ("data", "recorded"),
    [('<data class="welcomeMessage" color="ONE"/>', "errorpacket_non_move"), ("", "errorpacket_room_no_data")],
)
async def test_a_room_packet_without_a_move(data: str, recorded: str, autojump_clock: object) -> None:
    async with open_harness() as harness:
        game = await harness.game()
        await game.one.says(f'<room roomId="{game.id}">{data}</room>')
        assert await game.one.hears() == sample(recorded, game.id) + GOODBYE
        assert await game.two.hears() == left(game, 0) + END
        assert await game.admin.hears() == left(game, 0)
        assert [fault for fault, _ in refusals(harness, game.one)] == [Fault.NOT_A_MOVE.value]


@pytest.mark.parametrize(("request_", "reply", "fault"), STRANGERS.values(), ids=STRANGERS)
async def test_a_player_whose_request_cannot_be_granted_has_left(
    request_: str, reply: bytes, fault: Fault, autojump_clock: object
) -> None:
    async with open_harness() as harness:
        game = await harness.game()
        await game.two.says(request_)
        assert await game.two.hears() == reply + GOODBYE
        assert await game.one.hears() == left(game, 1) + END
        assert await game.admin.hears() == left(game, 1)
        assert [kind for kind, _ in refusals(harness, game.two)] == [fault.value]


async def test_guessing_passwords_delays_the_answers_to_the_guesser_only(autojump_clock: object) -> None:
    async with open_harness(password_attempts=2, password_delay=3.0) as harness:
        for wait in (0, 0, 1, 2, 3, 3, 3):
            caller = await harness.call()
            await caller.says('<protocol><authenticate password="wrong"/>')
            if wait:
                await trio.sleep(wait - 0.1)
                assert not caller.is_ended
                await trio.sleep(0.2)
            assert caller.is_ended
        assert len(harness.happened(events.RequestRefused)) == 7
        assert [each.delay for each in harness.happened(events.AnswerDelayed)] == [1.0, 2.0, 3.0, 3.0, 3.0]


async def test_the_right_password_is_never_delayed_by_wrong_ones(autojump_clock: object) -> None:
    async with open_harness(password_attempts=1, password_delay=30.0) as harness:
        guessing = [await harness.call() for _ in range(8)]
        for caller in guessing:
            await caller.near.send_all(b'<protocol><authenticate password="wrong"/>')
            await wait_all_tasks_blocked()
        before = trio.current_time()
        admin = await harness.call()
        await admin.says(f'<protocol><authenticate password="{PASSWORD}"/>')
        assert len(harness.happened(events.AdminAuthenticated)) == 1
        assert trio.current_time() - before < 1.0
        assert not guessing[-1].is_ended


async def test_while_too_many_guesses_wait_no_password_is_checked(
    autojump_clock: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "AT_ONCE", 3)
    async with open_harness(password_attempts=1, password_delay=4.0) as harness:
        guessing = [await harness.call() for _ in range(4)]  # the first one is answered at once
        for caller in guessing:
            await caller.near.send_all(b'<protocol><authenticate password="wrong"/>')
            await wait_all_tasks_blocked()
        for password in ("wrong", PASSWORD):
            caller = await harness.call()
            await caller.says(f'<protocol><authenticate password="{password}"/>')
            assert GUESSES_WAITING in (await caller.hears()).decode()
            assert refusals(harness, caller) == [(Fault.GUESSES_WAITING.value, GUESSES_WAITING)]
        await trio.sleep(10.0)
        admin = await harness.call()
        await admin.says(f'<protocol><authenticate password="{PASSWORD}"/>')
        assert len(harness.happened(events.AdminAuthenticated)) == 1


async def guess(harness: ServerHarness, hosts: list[str]) -> list[Caller]:
    """Send one wrong password from each of `hosts`; some answers may be delayed."""
    callers = [await harness.call(host) for host in hosts]
    for caller in callers:
        await caller.near.send_all(b'<protocol><authenticate password="wrong"/>')
        await wait_all_tasks_blocked()
    return callers


@pytest.mark.parametrize("addresses", [1, 4, 400])
async def test_guesses_from_other_addresses_never_delay_an_administrator(
    addresses: int, autojump_clock: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "AT_ONCE", 16)
    monkeypatch.setattr(guard, "EACH_AT_ONCE", 4)
    async with open_harness(password_attempts=1, password_delay=30.0) as harness:
        await guess(harness, [f"127.0.1.{number % addresses}" for number in range(max(24, addresses))])
        waiting = harness.server._guard._waiting
        assert waiting.total() == (4 if addresses == 1 else 16)
        before = trio.current_time()
        admin = await harness.call("127.0.0.1")
        await admin.says(f'<protocol><authenticate password="{PASSWORD}"/>')
        assert len(harness.happened(events.AdminAuthenticated)) == 1
        assert trio.current_time() - before < 1.0
        assert not admin.is_ended


async def test_a_wrong_password_from_a_new_address_is_answered_at_once_while_too_many_wait(
    autojump_clock: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "AT_ONCE", 3)
    async with open_harness(password_attempts=1, password_delay=30.0) as harness:
        await guess(harness, ["a"] * 4)
        first, second = await guess(harness, ["b", "b"])
        assert refusals(harness, first)[0][0] == Fault.WRONG_PASSWORD.value
        assert refusals(harness, second) == [(Fault.GUESSES_WAITING.value, GUESSES_WAITING)]
        assert first.is_ended
        assert second.is_ended


async def test_a_delayed_wrong_password_is_reported_as_wrong(
    autojump_clock: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "AT_ONCE", 4)
    async with open_harness(password_attempts=1, password_delay=4.0) as harness:
        _, waited, *_ = await guess(harness, ["a"] * 5)
        await trio.sleep(0.9)
        await guess(harness, ["b", "b"])
        await trio.sleep(0.2)
        assert waited.is_ended
        assert [kind for kind, _ in refusals(harness, waited)] == [Fault.WRONG_PASSWORD.value]


async def test_parallel_guesses_are_delayed_like_consecutive_ones(autojump_clock: object) -> None:
    async with open_harness(password_attempts=2, password_delay=4.0) as harness:
        guessing = [await harness.call() for _ in range(8)]
        for caller in guessing:
            await caller.near.send_all(b'<protocol><authenticate password="wrong"/>')
            await wait_all_tasks_blocked()
        assert [each.delay for each in harness.happened(events.AnswerDelayed)] == [1.0, 2.0, 3.0, 4.0, 4.0, 4.0]
        for seconds in range(4):
            await trio.sleep(0.5)
            assert [caller.is_ended for caller in guessing[:5]] == [number < 2 + seconds for number in range(5)]
            await trio.sleep(0.5)
        await trio.sleep(0.5)
        assert all(caller.is_ended for caller in guessing)


@pytest.mark.parametrize("way", ["hangs up", "server stops", "everything is cancelled"])
async def test_a_guesser_that_leaves_during_its_delay_leaves_nothing(way: str, autojump_clock: object) -> None:
    async with open_harness(password_attempts=1, password_window=10.0) as harness:
        guard = harness.server._guard
        guessing = [await harness.call() for _ in range(3)]
        for caller in guessing:
            await caller.near.send_all(b'<protocol><authenticate password="wrong"/>')
            await wait_all_tasks_blocked()
        assert guard.delay("host", trio.current_time()) == 3.0  # one has failed, two are waiting
        if way == "hangs up":
            for caller in guessing:
                await caller.hangs_up()
            await trio.sleep(2.5)
        elif way == "server stops":
            for session in list(harness.server._sessions):
                session.end("the server stops", 1.0)
            await trio.sleep(1.5)
        else:
            harness.nursery.cancel_scope.cancel()
            with trio.CancelScope(shield=True):
                await wait_all_tasks_blocked()
        assert not harness.server._sessions
        assert not guard._waiting
        assert guard.delay("host", trio.current_time() + 10.0) == 0.0
