"""What the releases since 2022 share: results, the texts about conduct, and the tables of packets.

A season adds its moves, positions and mistakes: `release_dialect` makes its dialect of them. Source: releases 23.0.3 to
27.0.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from spielleiter.game.api import Mistake, Move, Outcome, Seat
from spielleiter.protocol import messages as m
from spielleiter.protocol.dialect import DataReader, Dialect, Reading, Writer
from spielleiter.protocol.dialects import packets, release_requests
from spielleiter.protocol.texts import MoveRefusal, Texts, german_seconds, release_texts
from spielleiter.protocol.values import Element, UnreadableError, is_true, read_integer_text
from spielleiter.protocol.writer import Body, attribute, boolean, element, leaf

# -- results ----------------------------------------------------------------------------------------------------------

TEAM_NAMES: Final = ("ONE", "TWO")

LEFT_START: Final = "hat das Spiel verlassen"
SOFT_TIMEOUT_START: Final = "hat fuer die Antwort auf die Zugaufforderung"
HARD_TIMEOUT_START: Final = "hat innerhalb von"

EVERYBODY: Final = "Alle Spieler"
TIE: Final = "Beide Spieler sind gleichauf"
BETTER: Final = "{name} hat am meisten Punkte erzielt."

_DRAWN: Final = (1,)
"""The first part of each score after a draw."""


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


def result_writer(irregular_end: str | None = None) -> Writer:
    """Return a writer of results; causes and reasons go into the sentence of the element `winner`.

    An outcome whose sentence ends with `irregular_end` is written as if a player were at fault.
    """

    def write(message: m.Result, dialect: Dialect, indent: str) -> Body:
        lines = _scores(message, dialect, indent, _plain_score)
        return Body("result", "", lines + _winner(irregular_end, message, dialect, indent))

    return write


def write_result_with_causes(message: m.Result, dialect: Dialect, indent: str) -> Body:
    """Write a result of the releases until 2023: causes and reasons are in the scores, a draw has no winner."""
    lines = _scores(message, dialect, indent, lambda score, inner: packets.score_element(score, score.reason, inner))
    if len(message.winners) == 1:
        lines += element(indent, "winner", attribute("team", dialect.team_names[message.winners[0]]))
    return Body("result", "", lines)


def _scores(message: m.Result, dialect: Dialect, indent: str, score_element: Callable[[m.Score, str], str]) -> str:
    """Return the definition of the scores, and the scores with their players."""
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
            + score_element(score, innermost),
        )
        for seat, (score, name) in enumerate(zip(message.scores, message.names, strict=False))
    )
    return packets.definition_element(message.definition, indent) + element(indent, "scores", "", entries)


def _plain_score(score: m.Score, indent: str) -> str:
    return element(indent, "score", "", "".join(leaf(indent + "  ", "part", str(part)) for part in score.parts))


def _winner(irregular_end: str | None, message: m.Result, dialect: Dialect, indent: str) -> str:
    """Return the element `winner`; an empty string if the game ended regularly and there is no winner."""
    faults = [seat for seat, score in enumerate(message.scores) if score.cause is not m.Cause.REGULAR]
    names = sentence_names(message.names)
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
    is_regular = not faults and not _ends_with(text, irregular_end)
    attributes = attribute("team", team) + f' regular="{boolean(value=is_regular)}"' + attribute("reason", text)
    return element(indent, "winner", attributes)


def _ends_with(text: str, end: str | None) -> bool:
    return end is not None and text.endswith(end)


def sentence_names(names: tuple[str, str]) -> tuple[str, str]:
    """Return the names of the players in sentences: the team's name for a player without a name of its own."""
    first, second = (team if _is_blank(name) else name for name, team in zip(names, TEAM_NAMES, strict=True))
    return first, second


def _is_blank(name: str) -> bool:
    """Return whether a name is white space only. For the official server, U+0085 is none, unlike for Python."""
    return not name or (name.isspace() and "\x85" not in name)


# -- reading ----------------------------------------------------------------------------------------------------------


def result_reader(irregular_end: str | None = None) -> DataReader:
    """Return a reader of results, with causes and reasons from the sentence; see `result_writer`."""

    def read(data: Element, reading: Reading) -> m.Result:
        result, winner = _read_scores(data, reading, lambda _score: (m.Cause.REGULAR, ""))
        return result if winner is None else _with_verdict(irregular_end, result, winner, reading.dialect)

    return read


def read_result_with_causes(data: Element, reading: Reading) -> m.Result:
    """Read what `write_result_with_causes` writes. Raises UnreadableError."""
    result, winner = _read_scores(data, reading, packets.read_cause)
    if winner is not None:
        return replace(result, winners=(packets.seat_named(winner.get("team", ""), TEAM_NAMES, "winner team"),))
    is_draw = all(score.parts[:1] == _DRAWN for score in result.scores)
    return replace(result, winners=(0, 1) if is_draw else ())


def _read_scores(
    data: Element, reading: Reading, read_cause: Callable[[Element], tuple[m.Cause, str]]
) -> tuple[m.Result, Element | None]:
    """Return a result without its winners, and the element that names them, if there is one."""
    parts = reading.required(data, "scores", optional=("definition", "winner"))
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
        entries[seat] = player.get("name", ""), m.Score(*read_cause(entry["score"]), score)
    if 0 not in entries:
        raise UnreadableError("im Element scores fehlt ein Spieler")
    names = tuple(entries[seat][0] if seat in entries else "" for seat in (0, 1))
    scores = tuple(score for _, (_, score) in sorted(entries.items()))
    return m.Result(definition, scores, (), (names[0], names[1])), parts.get("winner")


def _with_verdict(irregular_end: str | None, result: m.Result, winner: Element, dialect: Dialect) -> m.Result:
    names, text, team = sentence_names(result.names), winner.get("reason", ""), winner.get("team")
    winners = () if team is None else (packets.seat_named(team, dialect.team_names, "winner team"),)
    if is_true(winner.get("regular", "")) or _ends_with(text, irregular_end):
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

_REQUEST_NAME: Final = "sc.protocol.room.MoveRequest"


def conduct_texts(
    *,
    mistake_texts: Mapping[Mistake, str],
    mistake_names: Mapping[Mistake, str] | None = None,
    mistakes_without_move: frozenset[Mistake] = frozenset(),
    describe_move: Callable[[Move | None], str],
    outcome_texts: Mapping[str, str] | None = None,
    before_move: str = "bei",
) -> Texts:
    """Return the texts of a season; the arguments are those of `release_texts`, but for `outcome_texts`.

    These are the sentences about an outcome by its reason, in which `{name}` stands for the name of the winner,
    `{capitals}` for the same in capital letters, and `{loser}` for the other name; there is none for a reason whose
    sentence is `BETTER` or `TIE`. The reasons of faults do not contain the player's name: the result writes it before
    them.
    """
    common = release_texts(
        mistake_texts=mistake_texts,
        mistake_names=mistake_names,
        mistakes_without_move=mistakes_without_move,
        describe_move=describe_move,
        team_names=TEAM_NAMES,
        before_move=before_move,
        move_request_name=_REQUEST_NAME,
    )

    def refuse_out_of_turn(
        _active: Seat | None, on_turn: Seat, actual: Seat, names: tuple[str, str], data: m.RoomData
    ) -> MoveRefusal:
        """Return the texts for a player that loses the game; the reason in the result is the text of the error."""
        if actual == on_turn:
            error = f"Move from {TEAM_NAMES[actual]}({names[actual]}) has not been requested."
        else:
            error = common.out_of_turn(on_turn, on_turn, actual, names, data).error
        return MoveRefusal(error, error, error, None, data)

    def regular_reason(outcome: Outcome, names: tuple[str, str]) -> str:
        text = (outcome_texts or {}).get(outcome.reason, "")
        if outcome.winner is None:
            return text
        name, loser = (sentence_names(names)[seat] for seat in (outcome.winner, 1 - outcome.winner))
        return text.format(name=name, capitals=name.upper(), loser=loser)

    return replace(
        common,
        illegal=lambda name, mistake, move, state: _without_packet(common.illegal(name, mistake, move, state)),
        unreadable=lambda name, data: _without_packet(common.unreadable(name, data)),
        out_of_turn=refuse_out_of_turn,
        regular_reason=regular_reason,
        departure_reason=lambda departure: f"{LEFT_START}: {departure.value}",
        soft_timeout_reason=lambda seconds: (
            f"{SOFT_TIMEOUT_START} laenger als {german_seconds(seconds)} Sekunden gebraucht."
        ),
        hard_timeout_reason=lambda seconds: (
            f"{HARD_TIMEOUT_START} {german_seconds(seconds)} Sekunden nach Aufforderung keinen Zug gesendet."
        ),
    )


def _without_packet(refusal: MoveRefusal) -> MoveRefusal:
    """Return `refusal` without an errorpacket, since the player stays connected."""
    return replace(refusal, packet=None)


# -- the dialect ------------------------------------------------------------------------------------------------------

_REMOVED: Final = {packets.READERS[tag] for tag in ("testMode", "testing", "scoreForPlayer", "playerScore")}


def _write_prepare(message: m.PrepareRequest, dialect: Dialect, indent: str) -> Body:
    """Write a request. In these seasons only a game can be paused, not a slot, so a paused slot pauses the game."""
    is_paused = message.is_paused or any(slot.should_be_paused for slot in message.slots)
    slots = tuple(replace(slot, should_be_paused=False) for slot in message.slots)
    return packets.write_prepare(replace(message, is_paused=is_paused, slots=slots), dialect, indent)


def release_dialect(
    *,
    name: str,
    texts: Texts,
    points: tuple[m.Fragment, ...],
    moves: Mapping[str, DataReader],
    read_memento: DataReader,
    data_writers: Mapping[type, Writer],
    irregular_end: str | None = None,
    scores_have_causes: bool = False,
    **more: Any,
) -> Dialect:
    """Return the dialect of a season.

    `points` are the parts of the score after the first one, `moves` the readers of moves by class, as the release reads
    them. `data_writers` has at least the writers of `MoveData` and `Memento`. `irregular_end` is that of
    `result_writer`; `scores_have_causes` is for the releases until 2023, whose results have no sentence. `more` are
    other fields of `Dialect`.
    """
    read_result = read_result_with_causes if scores_have_causes else result_reader(irregular_end)
    mementos = {"memento": read_memento, "sc.protocol.room.MementoMessage": read_memento}
    return Dialect(
        name=name,
        texts=texts,
        score_definition=(m.Fragment("Siegpunkte", m.Aggregation.SUM), *points),
        readers={
            **{tag: reader for tag, reader in packets.READERS.items() if reader not in _REMOVED},
            **release_requests.READERS,
            **release_requests.EXTENDED_READERS,
        },
        data_readers={
            **release_requests.data_readers(
                {**packets.DATA_READERS, **mementos, "sc.protocol.room.WelcomeMessage": packets.read_welcome}
            ),
            **moves,
            "moveRequest": packets.read_move_request,
            _REQUEST_NAME: packets.read_move_request,
            **dict.fromkeys(("result", "sc.shared.GameResult"), read_result),
        },
        writers={
            **packets.WRITERS,
            m.CloseConnection: packets.attribute_writer("close"),
            m.JoinedGameRoom: packets.joined_game_room_writer(has_count=True),
            m.PrepareRequest: _write_prepare,
        },
        data_writers={
            **packets.DATA_WRITERS,
            m.MoveRequest: packets.attribute_writer("moveRequest"),
            m.Result: write_result_with_causes if scores_have_causes else result_writer(irregular_end),
            **data_writers,
        },
        move_classes=tuple(moves),
        team_names=TEAM_NAMES,
        slot_defaults=m.Slot(None, can_timeout=False, is_reserved=False),
        slot_attributes=("displayName", "canTimeout", "reserved"),
        official_readers=release_requests.OFFICIAL_READERS,
        is_strict=True,
        **more,
    ).evolve(
        readers={packets.CLOSE_RESPONSE: None},
        data_readers={packets.MOVE_REQUEST: None},
        writers=dict.fromkeys((m.PlayerScore, m.ScoreForPlayerRequest, m.Testing, m.TestModeRequest)),
    )
