"""For every season: recorded packets are written as they were read, and the rules lead through recorded games."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from spielleiter.game.api import Game, State
from spielleiter.game.blokus.state import BLOKUS_2021
from spielleiter.protocol import messages as m
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.dialects import (
    blokus_2021,
    blokus_2027,
    hase_und_igel_2018,
    mississippi_queen_2024,
    penguins_2023,
)
from spielleiter.protocol.errors import Refusal, RemoteProtocolError
from spielleiter.server.editions import EDITIONS
from tests.protocol.streams import data_of, decode, packets, samples, transcripts
from tests.seen import as_seen
from tests.shared import needs_shared


class Season(NamedTuple):
    dialect: Dialect
    folder: str
    game: Game

    def __str__(self) -> str:
        return self.dialect.name


R1, R2 = blokus_2021.BLOKUS_2021_R1, blokus_2021.BLOKUS_2021_R2
R3, RELEASE = blokus_2021.BLOKUS_2021_R3, blokus_2021.BLOKUS_2021_RELEASE
D2027, D2018 = blokus_2027.BLOKUS_2027, hase_und_igel_2018.HASE_UND_IGEL_2018
D2023, D2024 = penguins_2023.PENGUINS_2023, mississippi_queen_2024.MISSISSIPPI_QUEEN_2024
FOLDERS: Final = {R3.name: "blokus-2021", RELEASE.name: "blokus-2021"}
"""The folder with the recordings of an edition, if it has another name than the edition."""
SEASONS: Final = [
    Season(edition.dialect, folder, edition.game)
    for folder, edition in ((FOLDERS.get(name, name), edition) for name, edition in EDITIONS.items())
    if samples(folder)
]
"""The editions with recorded packets."""
CLOSE: Final = ("close", "sc.protocol.CloseConnection", "sc.protocol.responses.CloseConnection")


def recordings(pattern: str, seasons: list[Season]) -> list[Any]:
    return [
        pytest.param(season, path, id=f"{season}-{path.stem}")
        for season in seasons
        for path in transcripts(season.folder, pattern)
    ]


@pytest.mark.parametrize(
    ("season", "name"),
    [pytest.param(each, name, id=f"{each}-{name}") for each in SEASONS for name in samples(each.folder)],
)
@pytest.mark.parametrize("is_from_server", [True, False])
def test_a_recorded_packet_is_written_as_it_was_read(season: Season, name: str, is_from_server: bool) -> None:
    """A server, too, can name what only servers send."""
    notes: list[str] = []
    packet = samples(season.folder)[name]
    assert season.dialect.encode(decode(season.dialect, packet, notes, is_from_server=is_from_server)) == packet
    assert notes == []


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("season", [*SEASONS, Season(R2, "", BLOKUS_2021)], ids=str)
def test_every_written_position_of_a_game_is_read_as_it_was(season: Season, seed: int) -> None:
    rng = random.Random(seed)
    state = season.game.new_state(rng)
    names = ("a", "b")
    while state.outcome() is None:
        read = data_of(
            season.dialect, season.dialect.encode(m.RoomMessage("r", m.Memento(state, names))), is_from_server=True
        )
        assert read.names in {names, ("", "")}  # the later releases show no names with a position
        assert read == m.Memento(as_seen(state), read.names)
        state = state.play(rng.choice(list(state.generate_legal_moves())))
        if season.dialect is R2 and getattr(state, "valid_mask", 15) != 15:
            break  # that revision does not say which colours are still in the game


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("is_to_server", [False, True])
@pytest.mark.parametrize(("season", "game"), recordings("*.gz", SEASONS))
def test_a_whole_conversation_is_written_as_it_was_read(season: Season, game: Path, is_to_server: bool) -> None:
    recorded = [
        packet for who, packet in packets(game, is_to_server=is_to_server) if not is_to_server or who != "admin"
    ]
    assert len(recorded) > 40
    for packet in recorded:
        assert season.dialect.encode(decode(season.dialect, packet, is_from_server=not is_to_server)) == packet


@needs_shared
@pytest.mark.parametrize(("season", "case"), recordings("cases/*.txt", SEASONS))
def test_every_answer_of_a_special_case_is_written_as_it_was_read(season: Season, case: Path) -> None:
    for _, packet in packets(case, is_to_server=False):
        assert season.dialect.encode(decode(season.dialect, packet, is_from_server=True)) == packet


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize(
    ("season", "game"), recordings("*.gz", [each for each in SEASONS if each.dialect in {D2018, D2027}])
)
def test_the_rules_lead_from_position_to_position(season: Season, game: Path) -> None:
    """Playing the recorded moves gives the recorded positions, byte for byte."""
    mementos = [
        packet for who, packet in packets(game, is_to_server=False) if who == "p1" and b'class="memento"' in packet
    ]
    assert len(mementos) > 30
    first = decode(season.dialect, mementos[0], is_from_server=True)
    assert isinstance(first, m.RoomMessage)
    assert isinstance(first.data, m.Memento)
    state: State = first.data.state
    for packet in mementos[1:]:
        state = state.play(data_of(season.dialect, packet, is_from_server=True).state.last_move)
        assert season.dialect.encode(m.RoomMessage(first.room_id, m.Memento(state, first.data.names))) == packet
    assert state.outcome() is not None


# -- what the seasons do differently ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dialect", "read", "written"),
    [
        (D2018, CLOSE, "sc.protocol.responses.CloseConnection"),
        (R1, CLOSE, "sc.protocol.responses.CloseConnection"),
        (R3, CLOSE, "sc.protocol.CloseConnection"),
        (RELEASE, ("sc.protocol.CloseConnection",), "sc.protocol.CloseConnection"),
        (D2023, ("sc.protocol.CloseConnection",), "sc.protocol.CloseConnection"),
        (D2024, ("sc.protocol.CloseConnection",), "sc.protocol.CloseConnection"),
        (D2027, ("close", "sc.protocol.CloseConnection"), "close"),
    ],
    ids=str,
)
def test_close_packets(dialect: Dialect, read: tuple[str, ...], written: str) -> None:
    assert dialect.encode(m.CloseConnection()).decode() == f"\n  <{written}/>"
    for tag in CLOSE:
        if tag in read:
            assert decode(dialect, f"<{tag}/>") == m.CloseConnection()
        else:
            with pytest.raises(RemoteProtocolError) as error:
                decode(dialect, f"<{tag}/>")
            assert error.value.original == m.UnknownPacket(tag)


@pytest.mark.parametrize(
    ("dialect", "attributes"),
    [
        (D2018, 'roomId="r" existing="false"'),
        (R2, 'roomId="r" existing="false"'),
        (R3, 'roomId="r" playerCount="1" existing="false"'),
        (RELEASE, 'roomId="r" playerCount="1"'),
        (D2027, 'roomId="r" playerCount="1"'),
    ],
    ids=str,
)
def test_joined_game_room(dialect: Dialect, attributes: str) -> None:
    assert dialect.encode(m.JoinedGameRoom("r", 1, is_existing=False)).decode() == f"\n  <joinedGameRoom {attributes}/>"
    assert dialect.encode(m.JoinedGameRoom("r")).decode() == '\n  <joinedGameRoom roomId="r"/>'


@pytest.mark.parametrize(
    ("dialect", "unknown", "unwritten"),
    [
        (D2018, ("joinRoom", "errorpacket", "sc.protocol.requests.JoinGameRequest"), (m.JoinRoomRequest, m.Paused)),
        (R2, ("errorpacket", "sc.protocol.requests.JoinGameRequest"), (m.ErrorPacket, m.Paused)),
        (
            D2027,
            ("testMode", "testing", "scoreForPlayer", "playerScore", "foo"),
            (m.TestModeRequest, m.Testing, m.ScoreForPlayerRequest, m.PlayerScore),
        ),
    ],
    ids=str,
)
def test_packets_that_a_season_does_not_have(
    dialect: Dialect, unknown: tuple[str, ...], unwritten: tuple[type, ...]
) -> None:
    for tag in unknown:
        with pytest.raises(RemoteProtocolError) as error:
            decode(dialect, f"<{tag}/>")
        assert error.value.refusal is Refusal.UNKNOWN_PACKET
    assert not any(map(dialect.has_packet, unwritten))
    assert all(map(dialect.has_packet, (m.Joined, m.CloseConnection, m.Memento, m.MoveRequest, m.ErrorMessage)))


@pytest.mark.parametrize(
    ("dialect", "colors", "unnamed"),
    [(D2018, ("red", "blue"), "Unknown"), (R1, ("one", "two"), "Unknown"), (R3, ("ONE", "TWO"), "")],
    ids=str,
)
def test_names_of_seats_and_of_players_without_a_name(dialect: Dialect, colors: tuple[str, str], unnamed: str) -> None:
    for seat, color in enumerate(colors):
        packet = dialect.encode(m.RoomMessage("r", m.WelcomeMessage(seat)))
        assert f'<data class="welcomeMessage" color="{color}"/>'.encode() in packet
        assert data_of(dialect, packet, is_from_server=True) == m.WelcomeMessage(seat)
    assert dialect.unnamed == unnamed
