"""Requests of an administrator, the answers to them, observations, refusals, and how its connection ends."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

import pytest
import trio
from trio.testing import MemoryReceiveStream, MemorySendStream, MockClock, wait_all_tasks_blocked

from spielleiter.client.admin import AdminClient, ObserverEvent, PreparedRoom
from spielleiter.client.client_errors import (
    AuthenticationError,
    ClientError,
    ConnectionLostError,
    NoFeedError,
    NoStatusError,
    RequestRefusedError,
    ServerProtocolError,
    UnspeakableError,
)
from spielleiter.client.transport import Transport
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.protocol.dialects.blokus_2027 import BLOKUS_2027
from spielleiter.protocol.dialects.hase_und_igel_2018 import HASE_UND_IGEL_2018
from spielleiter.protocol.feed import Current, FeedEvent, GameStepped, RoomClosed, encode_event
from spielleiter.protocol.messages import (
    AuthenticateRequest,
    CloseConnection,
    ErrorMessage,
    ErrorPacket,
    FeedRequest,
    FeedUpdate,
    JoinedGameRoom,
    Left,
    Memento,
    MetricsText,
    Observed,
    ObserveRequest,
    Paused,
    PauseRequest,
    PlayerScore,
    Prepared,
    PrepareRequest,
    Slot,
    Status,
    Testing,
    UnknownPacket,
)
from tests.client.fake import (
    CUT,
    DIALECT,
    END,
    GOODBYE,
    HELLO,
    OBSERVE,
    ROOM,
    START,
    STAY_OPEN,
    FakeServer,
    Step,
    administered,
    connected,
    refuse,
    result,
    script,
    together,
    watch,
)
from tests.timeouts import HANG_TIMEOUT

PAUSE = f'\n  <pause roomId="{ROOM}" pause="true"/>'
PAUSE_NOWHERE = '\n  <pause roomId="nowhere" pause="true"/>'
OBSERVE_NOWHERE = '\n  <observe roomId="nowhere"/>'


def prepare_packet(game: str, *names: str) -> str:
    slots = (f'\n    <slot displayName="{name}" canTimeout="true" reserved="true"/>' for name in names)
    return f'\n  <prepare gameType="{game}" pause="false">{"".join(slots)}\n  </prepare>'


# -- requests ---------------------------------------------------------------------------------------------------------


async def test_a_room_is_prepared() -> None:
    async def administer(admin: AdminClient) -> None:
        slots: list[Slot | str] = ["Alice", Slot("Bob & Co", can_timeout=False, is_reserved=False)]
        assert await admin.prepare("swc_2021_blokus", slots, pause=True) == PreparedRoom(ROOM, ("c1", "c2"))

    await administered(
        administer,
        '\n  <prepare gameType="swc_2021_blokus" pause="true">\n    <slot displayName="Alice" canTimeout="true"'
        ' reserved="true"/>\n    <slot displayName="Bob &amp; Co" canTimeout="false" reserved="false"/>\n  </prepare>',
        JoinedGameRoom("some other room", 1),
        Prepared(ROOM, ("c1", "c2")),
        GOODBYE,
    )


async def test_requests_without_an_answer_return_once_they_are_sent() -> None:
    async def administer(admin: AdminClient) -> None:
        await admin.pause(ROOM)
        await admin.resume(ROOM)
        await admin.step(ROOM)
        await admin.step(ROOM, forced=True)
        await admin.cancel(ROOM)

    await administered(
        administer,
        f'{PAUSE}\n  <pause roomId="{ROOM}" pause="false"/>'
        f'\n  <step roomId="{ROOM}" forced="false"/>\n  <step roomId="{ROOM}" forced="true"/>'
        f'\n  <cancel roomId="{ROOM}"/>',
        GOODBYE,
    )


async def test_the_score_sheet_is_started_ended_and_read() -> None:
    score = PlayerScore("Alice", 1, ())

    async def administer(admin: AdminClient) -> None:
        assert await admin.enable_test_mode() is True
        assert await admin.enable_test_mode(is_enabled=False) is False
        assert await admin.score_for_player("Alice") == score

    await administered(
        administer,
        '\n  <testMode testMode="true"/>',
        Testing(is_enabled=True),
        '\n  <testMode testMode="false"/>',
        Testing(is_enabled=False),
        '\n  <scoreForPlayer displayName="Alice"/>',
        score,
        GOODBYE,
    )


async def test_the_answer_to_a_cancelled_call_is_not_taken_for_another_request(autojump_clock: MockClock) -> None:
    async def administer(admin: AdminClient) -> None:
        with trio.move_on_after(1):
            await admin.enable_test_mode()
        assert await admin.enable_test_mode(is_enabled=False) is False

    packets = '\n  <testMode testMode="true"/>\n  <testMode testMode="false"/>'
    await administered(administer, packets, Testing(is_enabled=True), Testing(is_enabled=False), GOODBYE)


async def test_a_request_without_a_packet_in_this_edition_is_not_sent() -> None:
    async def administer(admin: AdminClient) -> None:
        with pytest.raises(UnspeakableError, match="blokus-2027 has no way to write TestModeRequest"):
            await admin.enable_test_mode()
        await watch(admin)

    await administered(administer, STAY_OPEN, dialect=BLOKUS_2027)


async def test_hase_und_igel_is_administered_in_its_own_dialect() -> None:
    async def administer(admin: AdminClient) -> None:
        assert await admin.prepare("swc_2018_hase_und_igel", ["a", "b"], pause=True) == PreparedRoom(ROOM, ("c", "d"))
        assert await admin.score_for_player("nobody") == PlayerScore("", 0, ())

    await administered(
        administer,
        '\n  <prepare gameType="swc_2018_hase_und_igel">'
        '\n    <slot displayName="a" canTimeout="true" shouldBePaused="true"/>'
        '\n    <slot displayName="b" canTimeout="true" shouldBePaused="true"/>\n  </prepare>',
        Prepared(ROOM, ("c", "d")),
        '\n  <scoreForPlayer displayName="nobody"/>',
        PlayerScore("", 0, ()),
        GOODBYE,
        dialect=HASE_UND_IGEL_2018,
        hello=HELLO.replace("password", "passphrase"),
    )


# -- observations -----------------------------------------------------------------------------------------------------

EVENTS: list[ObserverEvent] = [
    Memento(START, ("Alice", "Bob")),
    Paused(is_paused=True),
    ErrorMessage("no"),
    result((0,)),
]


async def test_a_game_is_observed_to_its_end() -> None:
    async def administer(admin: AdminClient) -> None:
        observation = await admin.observe(ROOM)
        await wait_all_tasks_blocked()  # no event is lost, however late it is read
        assert [event async for event in observation] == EVENTS
        with pytest.raises(StopAsyncIteration):
            await anext(observation)

    await administered(administer, OBSERVE, Observed(ROOM), *EVENTS, Left("another room"), Left(ROOM), GOODBYE)


async def test_two_rooms_can_be_observed_at_once() -> None:
    async def administer(admin: AdminClient) -> None:
        first, second = await admin.observe(ROOM), await admin.observe("other")
        assert [event async for event in second] == []
        assert [event async for event in first] == [Paused(is_paused=False)]

    await administered(
        administer,
        OBSERVE,
        Observed(ROOM),
        '\n  <observe roomId="other"/>',
        Observed("other"),
        Paused(is_paused=False),
        Left(ROOM),
        Left("other"),
        GOODBYE,
    )


async def test_an_observation_ends_with_an_error_if_the_connection_does() -> None:
    async def administer(admin: AdminClient) -> None:
        observation = await admin.observe(ROOM)
        await wait_all_tasks_blocked()
        assert await anext(observation) == Paused(is_paused=True)
        for _ in range(2):
            with pytest.raises(ConnectionLostError, match="the server ended the connection"):
                await anext(observation)

    await administered(administer, OBSERVE, Observed(ROOM), Paused(is_paused=True), END)


# -- refusals ---------------------------------------------------------------------------------------------------------


async def expect_refusal(admin: AdminClient) -> None:
    with pytest.raises(RequestRefusedError, match=r"^no such room$"):
        await admin.observe("nowhere")


REFUSED_OBSERVATION = ErrorPacket("no such room", ObserveRequest("nowhere"))
REFUSED_PAUSE = ErrorPacket("no such room", PauseRequest("nowhere", is_paused=True))


async def test_the_waiting_call_raises_the_refusal_and_the_connection_goes_on() -> None:
    async def administer(admin: AdminClient) -> None:
        await expect_refusal(admin)
        await watch(admin)

    await administered(administer, OBSERVE_NOWHERE, REFUSED_OBSERVATION, STAY_OPEN, dialect=BLOKUS_2027)


async def test_a_refusal_goes_to_the_first_request_of_its_kind() -> None:
    refused: list[str] = []

    async def administer(admin: AdminClient) -> None:
        async def prepares() -> None:
            with pytest.raises(RequestRefusedError):
                await admin.prepare("chess", ["a", "b"])
            refused.append("prepare")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(prepares)
            await wait_all_tasks_blocked()
            nursery.start_soon(watch, admin)

    await administered(
        administer,
        prepare_packet("chess", "a", "b") + OBSERVE,
        ErrorPacket("no such game", PrepareRequest("chess", ())),
        Observed(ROOM),
        Left(ROOM),
        GOODBYE,
        dialect=BLOKUS_2027,
    )
    assert refused == ["prepare"]


async def test_a_wrong_password_is_raised_once() -> None:
    async def administer(admin: AdminClient) -> None:
        with pytest.raises(AuthenticationError, match=r"^wrong$"):
            await admin.observe(ROOM)
        await watch(admin)

    password = ErrorPacket("wrong", AuthenticateRequest("geheim"))
    request = ErrorPacket("not allowed", ObserveRequest(ROOM))
    await administered(administer, OBSERVE, password, request, STAY_OPEN, dialect=BLOKUS_2027)


async def test_the_next_request_raises_a_refusal_that_no_call_has_raised() -> None:
    async def administer(admin: AdminClient) -> None:
        await admin.pause("nowhere")
        await wait_all_tasks_blocked()
        with pytest.raises(RequestRefusedError, match=r"^no such room$"):
            await admin.pause(ROOM)
        await watch(admin)

    await administered(administer, PAUSE_NOWHERE, REFUSED_PAUSE, STAY_OPEN, dialect=BLOKUS_2027)


async def pause_nowhere(admin: AdminClient) -> None:
    await admin.pause("nowhere")


async def cancel_nowhere(admin: AdminClient) -> None:
    await admin.cancel("nowhere")


async def prepare(admin: AdminClient) -> None:
    await admin.prepare("chess", ["a", "b"])


async def pause(admin: AdminClient) -> None:
    await admin.pause(ROOM)


async def fail(admin: AdminClient) -> None:
    raise LookupError("no idea")


@pytest.mark.parametrize(
    ("administer", "steps", "error", "text"),
    [
        # the connection of a waiting call, or of none, is ended with a refusal
        (prepare, (refuse("no", AuthenticateRequest("geheim")),), AuthenticationError, "^no$"),
        (pause_nowhere, (PAUSE_NOWHERE, refuse("no room")), RequestRefusedError, "^no room$"),
        (
            cancel_nowhere,
            ('\n  <cancel roomId="nowhere"/>\n  <sc.protocol.CloseConnection/>\n</protocol>', refuse("no room")),
            RequestRefusedError,
            "^no room$",
        ),
        (pause, (PAUSE, CloseConnection(), END), ConnectionLostError, "without giving a reason"),
        (watch, (OBSERVE, b"<protocol><observed></left>"), ClientError, "something unreadable"),
        (fail, (GOODBYE,), LookupError, "^no idea$"),
    ],
)
async def test_the_reason_for_the_end_of_a_connection_is_raised_as_it_is(
    administer: Callable[[AdminClient], Awaitable[None]], steps: tuple[Step, ...], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        await administered(administer, *steps)


async def test_sending_over_a_lost_connection_raises_the_reason_that_the_server_sent() -> None:
    transport, server = connected()
    await refuse("the server stops")(server)
    with pytest.raises(RequestRefusedError, match=r"^the server stops$"):
        async with AdminClient(transport).running("geheim") as admin:
            await admin.pause(ROOM)


# trio runs tasks that are ready in random order; every order has to work
@pytest.mark.parametrize("_attempt", range(20))
async def test_a_request_at_the_end_of_the_stream_raises_the_reason(_attempt: int) -> None:
    receiving = MemoryReceiveStream()
    transport = Transport(trio.StapledStream(MemorySendStream(), receiving), BLOKUS_2021_R3)
    with trio.fail_after(HANG_TIMEOUT):
        async with AdminClient(transport).running("wrong") as admin:
            await wait_all_tasks_blocked()
            receiving.put_data(b'<protocol><errorpacket message="no">')
            receiving.put_data(b'<originalRequest class="authenticate"/></errorpacket>')
            receiving.put_data(b"</protocol>")
            receiving.put_eof()
            with pytest.raises(AuthenticationError, match=r"^no$"):
                await admin.prepare("swc_2021_blokus", ["a", "b"])


# -- the end of a connection ------------------------------------------------------------------------------------------


async def test_leaving_does_not_wait_for_ever_for_the_end_of_the_stream(autojump_clock: MockClock) -> None:
    goodbye = "\n  <sc.protocol.CloseConnection/>\n</protocol>"
    await administered(pause, PAUSE + goodbye, FakeServer.expect_eof)


async def test_connect_opens_and_closes_a_tcp_connection() -> None:
    listener = (await trio.open_tcp_listeners(0, host="127.0.0.1"))[0]
    port = listener.socket.getsockname()[1]
    seen: list[bytes] = []

    async def administer() -> None:
        async with AdminClient.connect("127.0.0.1", port, "geheim", dialect=DIALECT, tap=seen.append) as admin:
            assert await admin.enable_test_mode() is True

    async def serve() -> None:
        stream = await listener.accept()
        steps = HELLO + '\n  <testMode testMode="true"/>', Testing(is_enabled=True), GOODBYE
        await script(*steps)(FakeServer(stream))
        await stream.aclose()

    async with listener:
        await together(administer, serve)
    assert b"".join(seen) == b'<protocol>\n  <testing testMode="true"/>\n</protocol>'


# -- status -----------------------------------------------------------------------------------------------------------


async def test_a_long_status_is_read() -> None:
    report = {"closed": ["x" * 1000] * 2000}

    async def administer(admin: AdminClient) -> None:
        assert await admin.status() == report

    await administered(administer, "\n  <status/>", Status(json.dumps(report)), GOODBYE)


@pytest.mark.parametrize(
    ("steps", "error", "text"),
    [
        ((refuse("<status> is no packet", UnknownPacket("status")),), NoStatusError, r"only spielleiter does \(<st"),
        (("\n  <status/>", CUT), NoStatusError, "does not report its status"),
        (("\n  <status/>", GOODBYE), NoStatusError, "no answer for 10 s"),
        *(
            (("\n  <status/>", Status(report), GOODBYE), NoStatusError, "cannot be read")
            for report in ("{", "[]", "1", '"text"')
        ),
        # these are no signs of a server without a status
        ((refuse("wrong", AuthenticateRequest("geheim")),), AuthenticationError, "^wrong$"),
        ((refuse("no room", PauseRequest("nowhere", is_paused=True)),), RequestRefusedError, "^no room$"),
    ],
)
async def test_a_server_without_a_status_is_told_apart_from_one_that_refuses(
    steps: tuple[Step, ...], error: type[Exception], text: str, autojump_clock: MockClock
) -> None:
    async def administer(admin: AdminClient) -> None:
        await admin.status()

    with pytest.raises(error, match=text):
        await administered(administer, *steps)


# -- figures and the feed ---------------------------------------------------------------------------------------------


async def test_the_figures_are_the_text_of_the_server() -> None:
    async def administer(admin: AdminClient) -> None:
        assert await admin.metrics() == '# HELP a b\na{c="<d>"} 1.0\n'

    await administered(administer, "\n  <metrics/>", MetricsText('# HELP a b\na{c="<d>"} 1.0'), GOODBYE)


async def test_a_server_without_figures_is_told() -> None:
    async def administer(admin: AdminClient) -> None:
        await admin.metrics()

    with pytest.raises(NoStatusError, match="does not report its figures"):
        await administered(administer, refuse("no packet", UnknownPacket("metrics")))


def told(*events: FeedEvent) -> FeedUpdate:
    return FeedUpdate(f"[{','.join(encode_event(event).decode() for event in events)}]")


async def test_events_of_the_feed_are_read_one_by_one_until_the_connection_ends() -> None:
    expected: list[FeedEvent] = [Current(), RoomClosed("a"), GameStepped("b"), RoomClosed("b")]
    seen: list[FeedEvent] = []

    async def administer(admin: AdminClient) -> None:
        following = await admin.follow()
        while True:
            seen.append(await anext(following))

    with pytest.raises(ConnectionLostError, match="the server ended the connection"):
        await administered(
            administer, "\n  <feed/>", told(*expected[:1]), told(*expected[1:3]), told(*expected[3:]), END
        )
    assert seen == expected


@pytest.mark.parametrize(
    ("steps", "error", "text"),
    [
        ((refuse("<feed> is no packet", UnknownPacket("other")),), NoFeedError, r"only spielleiter does \(<feed"),
        (("\n  <feed/>", CUT), NoFeedError, "does not have a feed"),
        (("\n  <feed/>", GOODBYE), NoFeedError, "no answer for 10 s"),
        (("\n  <feed/>", FeedUpdate("{}"), GOODBYE), ServerProtocolError, "feed cannot be read"),
        # these are no signs of a server without a feed
        ((refuse("too many", FeedRequest()),), RequestRefusedError, "^too many$"),
        ((refuse("wrong", AuthenticateRequest("geheim")),), AuthenticationError, "^wrong$"),
    ],
)
async def test_a_server_without_a_feed_is_told_apart_from_one_that_refuses(
    steps: tuple[Step, ...], error: type[Exception], text: str, autojump_clock: MockClock
) -> None:
    async def administer(admin: AdminClient) -> None:
        async for _ in await admin.follow():
            pass

    with pytest.raises(error, match=text):
        await administered(administer, *steps)


async def test_events_that_nobody_reads_are_kept_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spielleiter.client.admin.FEED_BYTES", 100)
    packet = told(RoomClosed("x" * 50))

    async def administer(admin: AdminClient) -> None:
        following = await admin.follow()
        await wait_all_tasks_blocked()
        assert [await anext(following) for _ in range(2)] == [RoomClosed("x" * 50)] * 2
        with pytest.raises(ConnectionLostError, match="too many events"):
            await anext(following)
        assert await admin.metrics() == "m\n"  # the connection goes on

    await administered(administer, "\n  <feed/>", *[packet] * 4, "\n  <metrics/>", MetricsText("m"), GOODBYE)


async def test_a_game_is_prepared_from_a_position() -> None:
    async def administer(admin: AdminClient) -> None:
        await admin.prepare("g", ["a", "b"], position="<p/>")

    packet = prepare_packet("g", "a", "b").replace("</prepare>", "", 1).rstrip()
    sent = f"{packet}\n    <position>&lt;p/&gt;</position>\n  </prepare>"
    await administered(administer, sent, Prepared("r", ("c", "d")), GOODBYE)
