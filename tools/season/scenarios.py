"""What is said to an official server to learn its answers: whole games, wrong moves, faults, leaving, administration.

Each scenario is a function of a table. The docstring of a function is what its recording says of it. Those with a
`join`, which takes a free seat in any room, need the server for themselves: `ALONE`.
"""

from collections import Counter
from collections.abc import Awaitable, Callable

from tools.season.altered_moves import AlteredMoves
from tools.season.table import Peer, Table

Scenario = Callable[[Table], Awaitable[None]]


# -- whole games ------------------------------------------------------------------------------------------------------


async def whole_game(table: Table) -> None:
    """A prepared game, observed; both seats play legal moves to the end"""
    await table.begin()
    await table.play_to_end()
    await table.admin.wait_for("<left")


async def whole_game_join(table: Table) -> None:
    """Two clients join, and play legal moves to the end; nobody observes"""
    await _join(table)
    await table.play_to_end()


async def _join(table: Table) -> None:
    async with table.start_of_a_game():
        for name, team in (("a", "ONE"), ("b", "TWO")):
            seat = await table.connect(name)
            await seat.send(f'<join gameType="{table.game_type}"/>')
            joined = await seat.wait_for("<joined")
            table.seats[team] = seat
            table.room = joined.split('"')[1]


# -- moves ------------------------------------------------------------------------------------------------------------


class WrongMoves:
    """Games that end with a move that the rules refuse or cannot read; the kinds are as different as can be."""

    def __init__(self, altered: AlteredMoves) -> None:
        self._altered = altered
        self._sent: Counter[str] = Counter()

    async def illegal_move(self, table: Table) -> None:
        """After some plies the seat on turn sends a move that the rules refuse"""
        await self._play_and_send(table, lambda verdict: verdict != "OK")

    async def unusual_move(self, table: Table) -> None:
        """After some plies the seat on turn sends a legal move in an unusual form, then the game goes on"""
        await self._play_and_send(table, lambda verdict: verdict == "OK")

    async def _play_and_send(self, table: Table, is_wanted: Callable[[str], bool]) -> None:
        await table.begin()
        await table.play(table.rng.randrange(12))
        if table.is_over:
            await table.settle()
            return
        seat = await table.requested()
        legal = table.rules.moves(300)["moves"]
        for move in table.rng.sample(legal, min(40, len(legal))):
            self._altered.learn(move)
        tried = [self._altered.altered(table.rng.choice(legal)) for _ in range(60)]
        judged = [
            (self._sent[verdict["verdict"]], number, verdict["verdict"], move)
            for number, (move, verdict) in enumerate(zip(tried, table.rules.judge(tried), strict=True))
            if is_wanted(verdict["verdict"]) and move not in legal
        ]
        if not judged:
            await table.settle()
            return
        _, _, verdict, move = min(judged)
        self._sent[verdict] += 1
        table.transcript.heads.append(f"verdict of the rules: {verdict}")
        if verdict == "OK":
            await table.answer(move)
            await table.play(2)
        else:
            await seat.send(table.message(move))
        await table.settle()


async def move_out_of_turn(table: Table) -> None:
    """The seat that is not on turn sends a move"""
    await table.begin()
    await table.requested()
    await table.off_turn.send(table.message(table.legal_move()))
    await table.settle()


async def two_moves_at_once(table: Table) -> None:
    """The seat on turn sends its move twice"""
    await table.begin()
    seat = await table.requested()
    move = table.message(table.legal_move())
    await seat.send(move + move)
    await table.settle()


async def move_before_the_start(table: Table) -> None:
    """A seat sends a move while the other one is free"""
    first, _ = await table.prepare()
    seat = await table.connect("a")
    await seat.send(f'<joinPrepared reservationCode="{first}"/>')
    await seat.wait_for("<joined")
    await seat.send(table.message(table.legal_move()))
    await table.settle()


async def move_to_another_room(table: Table) -> None:
    """The seat on turn sends its move with the id of no room"""
    await table.begin()
    seat = await table.requested()
    await seat.send(f'<room roomId="nowhere">{table.legal_move()}</room>')
    await table.settle()


async def move_of_a_stranger(table: Table) -> None:
    """Somebody without a seat sends the move of the seat on turn"""
    await table.begin()
    await table.requested()
    stranger = await table.connect("x")
    await stranger.send(table.message(table.legal_move()))
    await table.settle()


async def move_after_the_end(table: Table) -> None:
    """A seat sends a move after the game was cancelled"""
    await table.begin()
    seat = await table.requested()
    move = table.message(table.legal_move())
    await table.admin.send(f'<cancel roomId="{table.room}"/>')
    await seat.wait_for("<left")
    await seat.send(move)
    await table.settle()


# -- packets ----------------------------------------------------------------------------------------------------------


def packet_on_turn(packet: str) -> Scenario:
    """The seat on turn sends this instead of a move; `ROOM` is the id of its room, `MOVE` a legal move."""

    async def scenario(table: Table) -> None:
        await table.begin()
        seat = await table.requested()
        move = table.legal_move()
        await seat.send(packet.replace("ROOM", table.room).replace("MOVE", move))
        await table.settle()

    scenario.__doc__ = f"the seat on turn sends {packet}"
    return scenario


def packet_of_a_stranger(text: str) -> Scenario:
    """A new connection says only this."""

    async def scenario(table: Table) -> None:
        await table.connect("c", text)
        await table.settle()

    scenario.__doc__ = f"a new connection says {text}"
    return scenario


ON_TURN = {
    "no_data": '<room roomId="ROOM"/>',
    "empty_data": '<room roomId="ROOM"><data/></room>',
    "empty_move": '<room roomId="ROOM"><data class="move"/></room>',
    "unknown_class": '<room roomId="ROOM"><data class="nothing"/></room>',
    "move_request": '<room roomId="ROOM"><data class="moveRequest"/></room>',
    "memento": '<room roomId="ROOM"><data class="memento"/></room>',
    "number": "<int>7</int>",
    "server_packet": '<joined roomId="ROOM"/>',
    "close": "<close/>",
    "malformed": '<room roomId="ROOM"><data class="move"><</room>',
    "wrong_end_tag": '<room roomId="ROOM"></data></room>',
    "comment_before_move": '<!-- nothing --><room roomId="ROOM">MOVE</room>',
    "room_without_id": "<room>MOVE</room>",
    "further_attribute": '<room roomId="ROOM" more="1">MOVE</room>',
    "further_element": '<room roomId="ROOM">MOVE<more/></room>',
    "blanks": '\n\n  <room\n roomId="ROOM" >\n MOVE \n</room >\n',
}
AUTHENTICATE = '<authenticate password="examplepassword"/>'
_SLOT = '<slot displayName="A" canTimeout="true" reserved="true"/>'
_REQUESTS = {
    "observe": '<observe roomId="nowhere"/>',
    "pause": '<pause roomId="nowhere" pause="true"/>',
    "step": '<step roomId="nowhere"/>',
    "cancel": '<cancel roomId="nowhere"/>',
    "prepare": f'<prepare gameType="swc_1999_nothing" pause="false">{_SLOT}{_SLOT}</prepare>',
}
STRANGERS = {
    "nothing": "",
    "another_root": "<other><join/>",
    "http": "GET / HTTP/1.1\r\n\r\n",
    "malformed_attribute": "<protocol><join gameType=>",
    "unknown_packet": "<protocol><unknown/>",
    "unknown_room": '<protocol><joinRoom roomId="nowhere"/>',
    "unknown_reservation": '<protocol><joinPrepared reservationCode="nothing"/>',
    "unknown_game": '<protocol><join gameType="swc_1999_nothing"/>',
    "wrong_password": '<protocol><authenticate password="wrong"/>',
    "no_password": "<protocol><authenticate/>",
    **{request: f"<protocol>{packet}" for request, packet in _REQUESTS.items()},
    **{f"{request}_nothing": f"<protocol>{AUTHENTICATE}{packet}" for request, packet in _REQUESTS.items()},
}


# -- time -------------------------------------------------------------------------------------------------------------


async def soft_timeout(table: Table) -> None:
    """A seat answers after more than the two seconds that it has"""
    await table.begin(can_timeout=True)
    await table.play(2)
    seat = await table.requested()
    move = table.message(table.legal_move())
    await table.pause(2.3)
    await seat.send(move)
    await table.settle()


async def soft_timeout_with_illegal_move(table: Table) -> None:
    """A seat sends a packet that is no move after more than two seconds"""
    await table.begin(can_timeout=True)
    seat = await table.requested()
    await table.pause(2.3)
    await seat.send(table.message('<data class="move"/>'))
    await table.settle()


async def late_but_in_time(table: Table) -> None:
    """A seat answers after one second"""
    await table.begin(can_timeout=True)
    await table.requested()
    await table.pause(1.0)
    await table.answer()
    await table.play(2)
    await table.settle()


async def hard_timeout(table: Table) -> None:
    """A seat does not answer"""
    await table.begin(can_timeout=True)
    await table.play(3)
    seat = await table.requested()
    table.transcript.pause(10.0)
    await seat.wait_for("<left")
    await table.settle()


async def no_timeout(table: Table) -> None:
    """A seat that is prepared without a time limit answers after three seconds"""
    await table.begin()
    await table.requested()
    await table.pause(3.0)
    await table.answer()
    await table.play(1)
    await table.settle()


# -- leaving ----------------------------------------------------------------------------------------------------------


def leaving(who: str, how: str, plies: int) -> Scenario:
    """After some plies `on_turn`, `off_turn` or the `observer` leaves, by `fin`, `close` or `end_tag`."""

    async def scenario(table: Table) -> None:
        await table.begin()
        await table.play(plies)
        if table.is_over:
            return
        await table.requested()
        await _leave({"on_turn": table.on_turn, "off_turn": table.off_turn, "observer": table.admin}[who], how)
        if who == "observer":
            await table.play(2)
        await table.settle()

    scenario.__doc__ = f"after {plies} plies {who} leaves ({how})"
    return scenario


async def _leave(peer: Peer, how: str) -> None:
    if how == "fin":
        await peer.end_stream()
    elif how == "close":
        await peer.close()
    else:
        await peer.send("</protocol>")


async def leaving_before_the_start(table: Table) -> None:
    """A seat leaves while the other one is free, which is then taken"""
    first, second = await table.prepare()
    seat = await table.connect("a")
    await seat.send(f'<joinPrepared reservationCode="{first}"/>')
    await seat.wait_for("<joined")
    await seat.close()
    await table.settle()
    other = await table.connect("b")
    await other.send(f'<joinPrepared reservationCode="{second}"/>')
    await table.settle()


# -- administration ---------------------------------------------------------------------------------------------------


def _pause(table: Table, on: bool) -> str:
    return f'<pause roomId="{table.room}" pause="{str(on).lower()}"/>'


async def pause_step_resume(table: Table) -> None:
    """An administrator pauses, lets two single moves be made, and resumes; the game goes on to its end"""
    await table.begin()
    await table.play(2)
    await table.requested()
    await table.admin.send(_pause(table, True))
    await table.admin.wait_for('class="paused"')
    await table.answer()
    await table.settle()
    for _ in range(2):
        await table.admin.send(f'<step roomId="{table.room}" forced="false"/>')
        await table.requested()
        await table.answer()
        await table.settle()
    await table.admin.send(_pause(table, False))
    await table.play_to_end()


async def prepared_paused(table: Table) -> None:
    """A game is prepared as paused; it begins when the administrator resumes it"""
    await table.take_seats(await table.prepare(pause=True))
    await table.settle()
    await table.admin.send(_pause(table, False))
    await table.play(4)
    await table.settle()


async def prepared_paused_step(table: Table) -> None:
    """A game is prepared as paused; the administrator lets single moves be made"""
    await table.take_seats(await table.prepare(pause=True))
    await table.settle()
    for _ in range(3):
        await table.admin.send(f'<step roomId="{table.room}"/>')
        await table.requested()
        await table.answer()
        await table.settle()


async def step_without_pause(table: Table) -> None:
    """An administrator asks for a step of a game that is not paused"""
    await table.begin()
    await table.requested()
    await table.admin.send(f'<step roomId="{table.room}" forced="false"/>')
    await table.settle()


async def pause_twice(table: Table) -> None:
    """An administrator pauses twice, and resumes after the move that was asked for"""
    await table.begin()
    await table.requested()
    await table.admin.send(_pause(table, True))
    await table.admin.send(_pause(table, True))
    await table.admin.wait_for('class="paused"')
    await table.answer()
    await table.settle()
    await table.admin.send(_pause(table, False))
    await table.play(2)
    await table.settle()


def cancelling(plies: int) -> Scenario:
    """An administrator cancels the game after some plies."""

    async def scenario(table: Table) -> None:
        await table.begin()
        await table.play(plies)
        if table.is_over:
            await table.admin.wait_for("<left")
        await table.admin.send(f'<cancel roomId="{table.room}"/>')
        await table.settle()

    scenario.__doc__ = f"an administrator cancels the game after {plies} plies"
    return scenario


async def cancelling_before_the_start(table: Table) -> None:
    """An administrator cancels a game in which nobody sits"""
    await table.prepare()
    await table.admin.send(f'<cancel roomId="{table.room}"/>')
    await table.settle()


async def observing_late(table: Table) -> None:
    """An administrator observes a game that has begun"""
    await table.take_seats(await table.prepare(observe=False))
    await table.play(3)
    await table.requested()
    await table.admin.send(f'<observe roomId="{table.room}"/>')
    await table.admin.wait_for("<observed")
    await table.play(3)
    await table.settle()


async def two_observers(table: Table) -> None:
    """Two administrators observe; one of them leaves"""
    await table.begin()
    other = await table.connect("B", '<protocol><authenticate password="examplepassword"/>')
    await other.send(f'<observe roomId="{table.room}"/>')
    await other.wait_for("<observed")
    await table.play(2)
    await table.requested()
    await other.close()
    await table.play(2)
    await table.settle()


async def reservation_twice(table: Table) -> None:
    """A reservation is redeemed twice"""
    first, _ = await table.prepare()
    for name in "ab":
        seat = await table.connect(name)
        await seat.send(f'<joinPrepared reservationCode="{first}"/>')
        await table.settle()


async def room_is_full(table: Table) -> None:
    """Somebody joins a room that has both players"""
    await table.begin()
    await table.requested()
    stranger = await table.connect("x")
    await stranger.send(f'<joinRoom roomId="{table.room}"/>')
    await table.settle()


async def unauthenticated_requests(table: Table) -> None:
    """Somebody who is no administrator asks for what only they may"""
    await table.begin()
    await table.requested()
    stranger = await table.connect("x")
    for request in ("observe", "step", "cancel"):
        await stranger.send(f'<{request} roomId="{table.room}"/>')
        await table.settle()
    await stranger.send(_pause(table, True))
    await table.settle()


def _with(names: dict[str, str], prefix: str, make: Callable[[str], Scenario]) -> dict[str, Scenario]:
    return {f"{prefix}_{name}": make(text) for name, text in names.items()}


ALONE: dict[str, Scenario] = {"whole_game_join": whole_game_join, **_with(STRANGERS, "stranger", packet_of_a_stranger)}
"""Scenarios that need the server for themselves."""

TOGETHER: dict[str, Scenario] = {
    **{
        each.__name__: each
        for each in (
            hard_timeout,
            soft_timeout,
            soft_timeout_with_illegal_move,
            late_but_in_time,
            no_timeout,
            move_out_of_turn,
            two_moves_at_once,
            move_before_the_start,
            move_to_another_room,
            move_of_a_stranger,
            move_after_the_end,
            leaving_before_the_start,
            pause_step_resume,
            prepared_paused,
            prepared_paused_step,
            step_without_pause,
            pause_twice,
            cancelling_before_the_start,
            observing_late,
            two_observers,
            reservation_twice,
            room_is_full,
            unauthenticated_requests,
        )
    },
    **{f"cancelling_after_{plies}": cancelling(plies) for plies in (0, 1, 5, 20, 40)},
    **{
        f"leaving_{who}_{how}": leaving(who, how, plies)
        for who, how, plies in (
            ("on_turn", "fin", 0),
            ("on_turn", "close", 3),
            ("on_turn", "end_tag", 4),
            ("off_turn", "fin", 1),
            ("off_turn", "close", 2),
            ("off_turn", "end_tag", 5),
            ("observer", "close", 2),
            ("observer", "fin", 2),
        )
    },
    **_with(ON_TURN, "packet", packet_on_turn),
}
