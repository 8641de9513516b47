"""Replay files for the tests of the viewer, and what is in them according to an XML parser of the standard library."""

from __future__ import annotations

import random
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence

from spielleiter.game.api import Move, State
from spielleiter.protocol.messages import Cause, ErrorMessage, Memento, MoveData, Result, RoomData, Score
from spielleiter.server.core.policy import Edition
from spielleiter.server.core.room import Ending
from spielleiter.server.editions import EDITIONS
from spielleiter.server.replay import encode_replay
from spielleiter.viewer.game_json import Details, describe_game
from spielleiter.viewer.positions.view import Json
from spielleiter.viewer.replay_files import Replay

NAMES = ("Anton", "Berta")


def played(edition: Edition, seed: int = 1, plies: int = 1000) -> list[State]:
    """The positions of a random game."""
    rng = random.Random(seed)
    states = [edition.game.new_state(rng)]
    while states[-1].outcome() is None and len(states) <= plies:
        states.append(states[-1].play(rng.choice(list(states[-1].generate_legal_moves()))))
    return states


def ended(edition: Edition, ending: Ending, state: State, names: tuple[str, str] = NAMES) -> Result:
    return ending.result(edition, state, names)


def record_of(edition: Edition, states: Sequence[State], names: tuple[str, str] = NAMES) -> list[RoomData]:
    """The packets of a game that was played by the rules, or cancelled in its last position."""
    outcome = states[-1].outcome()
    ending = Ending.cancelled(()) if outcome is None else Ending.by_rules(outcome)
    mementos: list[RoomData] = [Memento(state, names) for state in states]
    return [*mementos, ended(edition, ending, states[-1], names)]


def refused_record(edition: Edition, states: Sequence[State], move: Move, text: str = "Ungueltig") -> list[RoomData]:
    """The packets of a game that ended with an illegal move."""
    seat = states[-1].seat_on_turn
    result = ended(edition, Ending.by_faults({seat: (Cause.RULE_VIOLATION, text)}), states[-1])
    mementos: list[RoomData] = [Memento(state, NAMES) for state in states]
    return [*mementos, ErrorMessage(text, MoveData(move)), result]


def replay_of(name: str, seed: int = 1, plies: int = 1000) -> bytes:
    """A replay of the edition `name`."""
    edition = EDITIONS[name]
    return encode_replay(edition.dialect, "room", record_of(edition, played(edition, seed, plies)))


def described(edition: Edition, record: Sequence[RoomData], source: str = "", details: Details | None = None) -> Json:
    """The JSON object of a game with these packets."""
    return describe_game(Replay(edition, tuple(record), source), details or Details())


def states_in(content: bytes) -> list[ET.Element]:
    """The elements `state` in a replay, without those that repeat the one before."""
    found: list[ET.Element] = []
    for element in ET.fromstring(content).iter("state"):
        if not found or _text(found[-1]) != _text(element):
            found.append(element)
    return found


def _text(element: ET.Element) -> str:
    return re.sub(r"\s+", " ", ET.tostring(element, encoding="unicode")).strip()


def assert_equals_state(position: dict[str, object], state: ET.Element) -> None:
    """Compare the JSON of a position with the element of the file, value by value."""
    # release 21.1.0 counts turns differently once a colour has left
    if "turn" in state.attrib and state.find("orderedColors") is None:
        assert position["turn"] == int(state.get("turn", ""))
    match position["game"]:
        case "blokus":
            _assert_equals_blokus(position, state)
        case "hase_und_igel":
            _assert_equals_hase_und_igel(position, state)
        case _:  # another game: whatever has the same name in both
            assert [key for key, value in state.attrib.items() if str(position.get(key, value)) != value] == []


def _assert_equals_blokus(position: dict[str, object], state: ET.Element) -> None:
    cells = ["."] * 400
    for each in state.iterfind("board/field"):
        content = each.get("content", "EMPTY")
        if content != "EMPTY":
            cells[20 * int(each.get("y", "")) + int(each.get("x", ""))] = content[0]
    board, colors = position["board"], position["colors"]
    assert isinstance(board, dict)
    assert isinstance(colors, list)
    assert board["cells"] == "".join(cells)
    for entry in colors:
        shapes = [each.text for each in state.iterfind(f"{entry['name'].lower()}Shapes/shape")]
        assert sorted(entry["remaining"]) == sorted(map(str, shapes))
    valid = state.find("validColors")
    if valid is not None:
        assert [entry["name"] for entry in colors if entry["isInGame"]] == [each.text for each in valid]
    piece = state.find("lastMove/piece")
    move = position["lastMove"]
    if piece is not None:
        assert isinstance(move, dict)
        assert (move["color"], move["piece"]) == (piece.get("color"), piece.get("kind"))
        corner = piece.find("position")
        assert corner is not None
        assert min(x for x, _ in move["cells"]) == int(corner.get("x", ""))
        assert min(y for _, y in move["cells"]) == int(corner.get("y", ""))


def _assert_equals_hase_und_igel(position: dict[str, object], state: ET.Element) -> None:
    track, players = position["track"], position["players"]
    assert isinstance(track, list)
    assert isinstance(players, list)
    assert [(each["index"], each["type"]) for each in track] == [
        (int(each.get("index", "")), each.get("type")) for each in state.iterfind("board/fields")
    ]
    for shown, tag in zip(players, ("red", "blue"), strict=True):
        player = state.find(tag)
        assert player is not None
        for key, attribute in (("field", "index"), ("carrots", "carrots"), ("salads", "salads")):
            assert shown[key] == int(player.get(attribute, ""))
        assert shown["cards"] == [each.text for each in player.iterfind("cards/type")]


def cut_at_every(content: bytes, step: int) -> Iterator[bytes]:
    """The file, cut off after every `step` bytes."""
    for size in range(0, len(content), step):
        yield content[:size]


def score_of(cause: Cause, reason: str = "", parts: tuple[int, ...] = (0, 0)) -> Score:
    return Score(cause, reason, parts)
