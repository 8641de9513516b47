"""The dialect of Blokus 2027, derived from that of the season 2021, and the results of later seasons.

Source: packets of release 27.0.4, whose server also decides how packets are read.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from msgspec.structs import replace

from spielleiter.game.api import Seat
from spielleiter.game.blokus.moves import BlokusMistake
from spielleiter.game.blokus.state import RULES_2027
from spielleiter.protocol import messages as m
from spielleiter.protocol.dialect import Dialect, Reading
from spielleiter.protocol.dialects import blokus, packets, release_requests
from spielleiter.protocol.dialects.blokus import (
    MISTAKE_TEXTS,
    MISTAKES_WITHOUT_MOVE,
    describe_move,
    plain_set_move,
    release_move_readers,
)
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.protocol.texts import MoveRefusal, Texts, german_seconds, release_texts
from spielleiter.protocol.values import Element, UnreadableError, is_true, read_integer_text
from spielleiter.protocol.writer import Body, attribute, boolean, element, leaf

# -- results ----------------------------------------------------------------------------------------------------------

LEFT_START: Final = "hat das Spiel verlassen"
SOFT_TIMEOUT_START: Final = "hat fuer die Antwort auf die Zugaufforderung"
HARD_TIMEOUT_START: Final = "hat innerhalb von"

EVERYBODY: Final = "Alle Spieler"
TIE: Final = "Beide Spieler sind gleichauf"
BETTER: Final = "{name} hat am meisten Punkte erzielt."


class _Sentence(NamedTuple):
    """The sentence about a fault: `start`, the player's name, `middle`, and a reason beginning with `reason_start`."""

    cause: m.Cause
    start: str = ""
    middle: str = " "
    reason_start: str = ""


_SENTENCES: Final = {
    sentence.cause: sentence
    for sentence in (
        _Sentence(m.Cause.RULE_VIOLATION, "Regelverletzung von ", ": "),
        _Sentence(m.Cause.PROCESS_VIOLATION, "Missachtung des Spielablaufs von ", ": "),
        _Sentence(m.Cause.LEFT, reason_start=LEFT_START),
        _Sentence(m.Cause.SOFT_TIMEOUT, reason_start=SOFT_TIMEOUT_START),
        _Sentence(m.Cause.HARD_TIMEOUT, reason_start=HARD_TIMEOUT_START),
    )
}

# -- writing ----------------------------------------------------------------------------------------------------------


def write_result(message: m.Result, dialect: Dialect, indent: str) -> Body:
    """Write a result; causes and reasons go into the sentence of the element `winner`."""
    inner, innermost = indent + "  ", indent + "    "
    entries = "".join(
        element(
            inner,
            "entry",
            "",
            element(
                innermost,
                "player",
                attribute("name", None if _is_blank(name) else name) + attribute("team", dialect.team_names[seat]),
            )
            + element(innermost, "score", "", "".join(leaf(innermost + "  ", "part", str(n)) for n in score.parts)),
        )
        for seat, (score, name) in enumerate(zip(message.scores, message.names, strict=False))
    )
    lines = packets.definition_element(message.definition, indent) + element(indent, "scores", "", entries)
    return Body("result", "", lines + _winner(message, dialect, indent))


def _winner(message: m.Result, dialect: Dialect, indent: str) -> str:
    """Return the element `winner`; an empty string if the game ended regularly and there is no winner."""
    faults = [seat for seat, score in enumerate(message.scores) if score.cause is not m.Cause.REGULAR]
    names = _names(message.names, dialect)
    if faults:
        name = EVERYBODY if len(faults) == len(message.scores) else names[faults[0]]
        score = message.scores[faults[0]]
        sentence = _SENTENCES.get(score.cause)
        text = score.reason if sentence is None else f"{sentence.start}{name}{sentence.middle}{score.reason}"
    elif not message.winners:
        return ""
    elif len(message.winners) == 1:
        own = message.score_of(message.winners[0])
        text = (own.reason if own else "") or BETTER.format(name=names[message.winners[0]])
    else:
        text = message.scores[0].reason or TIE
    team = dialect.team_names[message.winners[0]] if len(message.winners) == 1 else None
    attributes = attribute("team", team) + f' regular="{boolean(value=not faults)}"' + attribute("reason", text)
    return element(indent, "winner", attributes)


def _names(names: tuple[str, str], dialect: Dialect) -> tuple[str, str]:
    """Return the names of the players in sentences: the team's name for a player without a name of its own."""
    first, second = (team if _is_blank(name) else name for name, team in zip(names, dialect.team_names, strict=True))
    return first, second


def _is_blank(name: str) -> bool:
    """Return whether a name is white space only. For the official server, U+0085 is none, unlike for Python."""
    return not name or (name.isspace() and "\x85" not in name)


# -- reading ----------------------------------------------------------------------------------------------------------


def read_result(data: Element, reading: Reading) -> m.Result:
    """Read a result, with causes and reasons from the sentence. Raises UnreadableError."""
    parts = reading.children(data, "definition", "scores", "winner")
    if "scores" not in parts:
        raise UnreadableError(f"im Element {data.tag} fehlt das Element scores")
    definition = packets.read_definition(parts["definition"], reading) if "definition" in parts else ()
    entries: dict[Seat, tuple[str, m.Score]] = {}
    for child in reading.each(parts["scores"], "entry"):
        entry = reading.children(child, "player", "score")
        if len(entry) != len(("player", "score")):
            raise UnreadableError("im Element entry fehlt player oder score")
        score = tuple([read_integer_text(part) for part in reading.each(entry["score"], "part")])
        player = entry["player"]
        seat = packets.seat_named(player.get("team", ""), reading.dialect.team_names, "player team")
        if seat in entries:
            raise UnreadableError(f"im Element scores steht {reading.dialect.team_names[seat]} mehr als einmal")
        entries[seat] = player.get("name", ""), m.Score(m.Cause.REGULAR, "", score)
    if 0 not in entries:
        raise UnreadableError("im Element scores fehlt ein Spieler")
    names = tuple(entries[seat][0] if seat in entries else "" for seat in (0, 1))
    result = m.Result(definition, tuple(score for _, (_, score) in sorted(entries.items())), (), (names[0], names[1]))
    return _with_verdict(result, parts["winner"], reading.dialect) if "winner" in parts else result


def _with_verdict(result: m.Result, winner: Element, dialect: Dialect) -> m.Result:
    names, text, team = _names(result.names, dialect), winner.get("reason", ""), winner.get("team")
    winners = () if team is None else (packets.seat_named(team, dialect.team_names, "winner team"),)
    if is_true(winner.get("regular", "")):
        usual = BETTER.format(name=names[winners[0]]) if winners else TIE
        reason = "" if text == usual else text
        scores = tuple(replace(score, reason=reason) for score in result.scores)
        return replace(result, scores=scores, winners=winners or (0, 1))
    cause, reason = m.Cause.UNKNOWN, text
    for sentence in _SENTENCES.values():
        start = f"{sentence.start}{names[1 - winners[0]] if winners else EVERYBODY}{sentence.middle}"
        if text.startswith(start + sentence.reason_start):
            cause, reason = sentence.cause, text[len(start) :]
            break
    scores = tuple(
        score if seat in winners else replace(score, cause=cause, reason=reason)
        for seat, score in enumerate(result.scores)
    )
    return replace(result, scores=scores, winners=winners)


# -- texts ------------------------------------------------------------------------------------------------------------

_TEAM_NAMES: Final = ("ONE", "TWO")
_REQUEST_NAME: Final = "sc.protocol.room.MoveRequest"

_COMMON_TEXTS: Final = release_texts(
    mistake_texts={**MISTAKE_TEXTS, BlokusMistake.WRONG_COLOR: "Nur eigene Spielfiguren können gezogen werden"},
    mistakes_without_move=MISTAKES_WITHOUT_MOVE,
    describe_move=describe_move,
    team_names=_TEAM_NAMES,
    before_move="bei",
    move_request_name=_REQUEST_NAME,
)


def _refuse_out_of_turn(
    _active: Seat | None, on_turn: Seat, actual: Seat, names: tuple[str, str], data: m.RoomData
) -> MoveRefusal:
    """Return the texts for a player that loses the game; the reason in the result is the text of the error."""
    if actual == on_turn:
        error = f"Move from {_TEAM_NAMES[actual]}({names[actual]}) has not been requested."
    else:
        error = _COMMON_TEXTS.out_of_turn(on_turn, on_turn, actual, names, data).error
    return MoveRefusal(error, error, error, None, data)


def _without_packet(refusal: MoveRefusal) -> MoveRefusal:
    """Return `refusal` without an errorpacket, since the player stays connected."""
    return replace(refusal, packet=None)


TEXTS: Final[Texts] = replace(
    _COMMON_TEXTS,
    illegal=lambda name, mistake, move, state: _without_packet(_COMMON_TEXTS.illegal(name, mistake, move, state)),
    unreadable=lambda name, data: _without_packet(_COMMON_TEXTS.unreadable(name, data)),
    out_of_turn=_refuse_out_of_turn,
    departure_reason=lambda departure: f"{LEFT_START}: {departure.value}",
    soft_timeout_reason=lambda seconds: (
        f"{SOFT_TIMEOUT_START} laenger als {german_seconds(seconds)} Sekunden gebraucht."
    ),
    hard_timeout_reason=lambda seconds: (
        f"{HARD_TIMEOUT_START} {german_seconds(seconds)} Sekunden nach Aufforderung keinen Zug gesendet."
    ),
)
"""The reasons do not contain the player's name: the result writes it before them."""

# -- the dialect ------------------------------------------------------------------------------------------------------

PACKAGE: Final = "sc.plugin2027"

_MOVES: Final = release_move_readers(PACKAGE, "sc.api.plugins.Coordinates")
_READ_MEMENTO: Final = blokus.memento_reader(RULES_2027)
_REMOVED: Final = {packets.READERS[tag] for tag in ("testMode", "testing", "scoreForPlayer", "playerScore")}


def _write_prepare(message: m.PrepareRequest, dialect: Dialect, indent: str) -> Body:
    """Write a request. In this season only a game can be paused, not a slot, so a paused slot pauses the game."""
    is_paused = message.is_paused or any(slot.should_be_paused for slot in message.slots)
    slots = tuple(replace(slot, should_be_paused=False) for slot in message.slots)
    return packets.write_prepare(replace(message, is_paused=is_paused, slots=slots), dialect, indent)


BLOKUS_2027: Final[Dialect] = BLOKUS_2021_R3.evolve(
    name="blokus-2027",
    texts=TEXTS,
    score_definition=(m.Fragment("Siegpunkte", m.Aggregation.SUM), m.Fragment("Punkte", m.Aggregation.AVERAGE)),
    readers={
        **dict.fromkeys(tag for tag, reader in packets.READERS.items() if reader in _REMOVED),
        **release_requests.READERS,
        **release_requests.EXTENDED_READERS,
        packets.CLOSE_RESPONSE: None,
    },
    data_readers={
        **release_requests.data_readers(
            {
                **BLOKUS_2021_R3.data_readers,
                "memento": _READ_MEMENTO,
                "sc.protocol.room.MementoMessage": _READ_MEMENTO,
                "sc.protocol.room.WelcomeMessage": packets.read_welcome,
            }
        ),
        **dict.fromkeys(BLOKUS_2021_R3.move_classes),
        **_MOVES,
        packets.MOVE_REQUEST: None,
        "moveRequest": packets.read_move_request,
        _REQUEST_NAME: packets.read_move_request,
        "result": read_result,
        "sc.shared.GameResult": read_result,
    },
    writers={
        m.CloseConnection: packets.attribute_writer("close"),
        m.JoinedGameRoom: packets.joined_game_room_writer(has_count=True),
        m.PlayerScore: None,
        m.PrepareRequest: _write_prepare,
        m.ScoreForPlayerRequest: None,
        m.Testing: None,
        m.TestModeRequest: None,
    },
    data_writers={
        m.MoveData: blokus.move_writer(PACKAGE, has_hints=False),
        m.MoveRequest: packets.attribute_writer("moveRequest"),
        m.Result: write_result,
        m.Memento: blokus.MementoWriter(
            lambda state: (
                f' startTeam="{_TEAM_NAMES[0]}" turn="{state.turn}"'
                f' startPiece="{blokus.SHAPE_NAMES[state.start_shape]}" round="{state.round}"'
            ),
            blokus.last_move(PACKAGE),
            blokus.board,
            blokus.last_move_mono(),
            blokus.shape_lists(),
            blokus.colors("validColors"),
        ),
    },
    move_classes=tuple(_MOVES),
    plain_forms=(plain_set_move(PACKAGE),),
    slot_defaults=m.Slot(None, can_timeout=False, is_reserved=False),
    slot_attributes=("displayName", "canTimeout", "reserved"),
    official_readers=release_requests.OFFICIAL_READERS,
    is_strict=True,
)
