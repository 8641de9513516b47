from __future__ import annotations

import dataclasses
import gzip
from pathlib import Path

import pytest
import trio

from client.editions import DEFAULT_GAME_TYPE
from client.player import Player
from client.strategies import make_responder
from match.house import SERVER_LOG, WIRE_LOG, House, open_house, own_config
from match.plan import Opening, PlannedGame
from match.setup import Entrant, MatchSetup
from protocol.messages import Memento, Result
from server import events
from tests.patience import PATIENCE
from tests.spielleiter.background import background_server

SETUP = MatchSetup(
    entrants=(Entrant("new", "new"), Entrant("old", "old")), game_type=DEFAULT_GAME_TYPE, games=2, seed=1, run_id="run"
)
GAME = PlannedGame(1, 1, 7, (1, 0))


async def play(house: House, strategies: tuple[str, str] = ("illegal", "first")) -> list[Memento | Result]:
    """A game in which program 1 sits on seat 0; what an observer saw."""
    room = await house.admin.prepare(DEFAULT_GAME_TYPE, ["old", "new"])
    observation = await house.admin.observe(room.room_id)

    async def take_part(program: int) -> None:
        host, port = house.addresses[program]
        async with Player.connect(host, port, dialect=house.dialect) as player:
            await player.join_prepared(room.reservations[1 - program])
            await player.play_with(make_responder(strategies[program], seed=1))

    with trio.fail_after(PATIENCE):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(take_part, 0)
            nursery.start_soon(take_part, 1)
            return [event async for event in observation if isinstance(event, Memento | Result)]


async def test_our_own_server_knows_whose_connection_it_is(tmp_path: Path) -> None:
    heard: list[tuple[str, int | None]] = []
    async with open_house(
        SETUP, GAME, tmp_path, lambda event, program: heard.append((type(event).__name__, program))
    ) as house:
        assert house.is_own
        await play(house, ("garbage", "first"))
    told = set(heard)
    assert {("ConnectionOpened", 0), ("ConnectionOpened", 1), ("ProtocolBroken", 0), ("GameEnded", None)} <= told
    assert ("ProtocolBroken", 1) not in told
    assert ("ConnectionOpened", None) in told  # the administrator's


async def test_our_own_server_begins_as_planned(tmp_path: Path, replay: bytes) -> None:
    async def first_position(planned: PlannedGame, folder: Path) -> Memento:
        await trio.Path(folder).mkdir()
        async with open_house(SETUP, planned, folder, lambda *_: None) as house:
            first, *_ = await play(house)
        assert isinstance(first, Memento)
        return first

    twice = [(await first_position(GAME, tmp_path / name)).state for name in ("a", "b")]
    assert twice[0] == twice[1]
    (tmp_path / "one.xml").write_bytes(replay)
    opening = dataclasses.replace(GAME, opening=Opening("one.xml", str(tmp_path / "one.xml"), 1))
    assert (await first_position(opening, tmp_path / "c")).state.turn == 1


async def test_what_was_said_is_written_down(tmp_path: Path) -> None:
    async with open_house(SETUP, GAME, tmp_path, lambda *_: None) as house:
        await play(house)
    log = gzip.decompress((tmp_path / WIRE_LOG).read_bytes())
    for text in (
        b"program 1 > ",
        b"program 2 > ",
        b"program 1 < ",
        b"program 2 < ",
        b"<joinPrepared",
        b'class="result"',
    ):
        assert text in log
    assert log.split(b"\n", 2)[1].startswith(b"--- 0.")
    assert '"event": "game_ended"' in (tmp_path / SERVER_LOG).read_text()


def test_our_own_server_has_the_options_that_were_given() -> None:
    setup = dataclasses.replace(SETUP, server_options={"soft_timeout": 0.5})
    config = own_config(setup, dataclasses.replace(GAME, opening=Opening("a", "/a.xml", 3)))
    assert (config.soft_timeout, config.seed, config.load_game_file, config.turn) == (0.5, 7, Path("/a.xml"), 3)
    assert own_config(setup).seed is None
    with pytest.raises(TypeError):
        own_config(dataclasses.replace(SETUP, server_options={"unknown": 1}))


async def test_a_server_that_runs_already_is_seen_as_an_observer_sees_it(tmp_path: Path) -> None:
    with background_server() as server:
        setup = dataclasses.replace(SETUP, server=("127.0.0.1", server.port), password="examplepassword")
        async with open_house(setup, GAME, tmp_path, lambda *_: None) as house:
            assert not house.is_own
            *_, last = await play(house)
    assert isinstance(last, Result)
    log = gzip.decompress((tmp_path / WIRE_LOG).read_bytes())
    assert log.startswith(b"\n--- 0.")
    assert b" observer < " in log
    assert b'class="result"' in log


async def test_a_connection_that_comes_to_nothing_harms_nobody(tmp_path: Path) -> None:
    opened = trio.Event()

    def listen(event: events.Happening, program: int | None) -> None:
        if isinstance(event, events.ConnectionOpened) and program == 1:
            opened.set()

    async with open_house(SETUP, GAME, tmp_path, listen) as house:
        stream = await trio.open_tcp_stream(*house.addresses[1])
        with trio.fail_after(PATIENCE):
            await opened.wait()
        await stream.aclose()
        *_, last = await play(house)
    assert isinstance(last, Result)
