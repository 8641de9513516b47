"""One sentence says how a game ended; reading it gives cause and reason again."""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spielleiter.protocol.dialects.blokus_2027 import BLOKUS_2027
from spielleiter.protocol.messages import Cause, Result, RoomMessage, Score, UnreadableData
from tests.protocol import strategies
from tests.protocol.seasons import decode, samples

RECORDED: Final = samples("blokus-2027")
REGULAR: Final = Score(Cause.REGULAR, "", (2, 7))
TEMPLATE: Final = RECORDED["result_rule_violation"].decode()


def result_of(packet: bytes | str) -> Result:
    message = decode(BLOKUS_2027, packet)
    assert isinstance(message, RoomMessage)
    assert isinstance(message.data, Result), message.data
    return message.data


def problem_of(packet: str) -> str:
    message = decode(BLOKUS_2027, packet, is_from_server=True)
    assert isinstance(message, RoomMessage)
    assert isinstance(message.data, UnreadableData), message.data
    return message.data.problem


def encode(result: Result) -> str:
    return BLOKUS_2027.encode(RoomMessage("r", result)).decode()


@pytest.mark.parametrize(
    ("name", "causes", "reason", "winners"),
    [
        ("result_regular", (Cause.REGULAR, Cause.REGULAR), "", (1,)),
        ("result_draw", (Cause.REGULAR, Cause.REGULAR), "", (0, 1)),
        (
            "result_rule_violation_skip",
            (Cause.RULE_VIOLATION, Cause.REGULAR),
            "Der erste Zug muss einen Stein setzen bei 'Farbe Blau setzt aus'",
            (1,),
        ),
        (
            "result_not_requested",
            (Cause.PROCESS_VIOLATION, Cause.REGULAR),
            "Move from ONE(Alice) has not been requested.",
            (1,),
        ),
        (
            "result_not_connected",
            (Cause.REGULAR, Cause.LEFT),
            "hat das Spiel verlassen: NOT_CONNECTED",
            (0,),
        ),
        ("result_nobody", (Cause.LEFT, Cause.LEFT), "hat das Spiel verlassen: NOT_CONNECTED", ()),
        (
            "result_soft_timeout",
            (Cause.SOFT_TIMEOUT, Cause.REGULAR),
            "hat fuer die Antwort auf die Zugaufforderung laenger als 2 Sekunden gebraucht.",
            (1,),
        ),
        (
            "result_hard_timeout",
            (Cause.HARD_TIMEOUT, Cause.REGULAR),
            "hat innerhalb von 2 Sekunden nach Aufforderung keinen Zug gesendet.",
            (1,),
        ),
    ],
)
def test_a_recorded_verdict_is_read(
    name: str, causes: tuple[Cause, Cause], reason: str, winners: tuple[int, ...]
) -> None:
    result = result_of(RECORDED[name])
    assert tuple(score.cause for score in result.scores) == causes
    assert {score.reason for score in result.scores if score.cause is not Cause.REGULAR} == ({reason} - {""})
    assert result.winners == winners


def test_a_result_contains_names_and_parts() -> None:
    result = result_of(RECORDED["result_regular_names"])
    assert result.names == ("Häschen & Co", "Zwei")
    assert [score.parts for score in result.scores] == [(0, 98), (2, 131)]
    assert result.definition == BLOKUS_2027.score_definition


@pytest.mark.parametrize(
    ("names", "scores", "winners", "verdict"),
    [
        (
            ("", "  "),
            (REGULAR, REGULAR),
            (1,),
            '<winner team="TWO" regular="true" reason="TWO hat am meisten Punkte erzielt."/>',
        ),
        (
            ("", "B"),
            (Score(Cause.SOFT_TIMEOUT, "schlief", (0, 0)), REGULAR),
            (1,),
            '<winner team="TWO" regular="false" reason="ONE schlief"/>',
        ),
        (
            ("A", "B"),
            (REGULAR, Score(Cause.UNKNOWN, "Der Blitz schlug ein", (0, 0))),
            (0,),
            '<winner team="ONE" regular="false" reason="Der Blitz schlug ein"/>',
        ),
        (
            ("A", "B"),
            (Score(Cause.REGULAR, "A hat gewonnen.", (2, 1)), Score(Cause.REGULAR, "A hat gewonnen.", (0, 0))),
            (0,),
            '<winner team="ONE" regular="true" reason="A hat gewonnen."/>',
        ),
        (
            ("A", "B"),
            (Score(Cause.REGULAR, "Remis", (1, 1)), Score(Cause.REGULAR, "Remis", (1, 1))),
            (0, 1),
            '<winner regular="true" reason="Remis"/>',
        ),
    ],
)
def test_a_written_verdict_is_read_as_it_was(
    names: tuple[str, str], scores: tuple[Score, Score], winners: tuple[int, ...], verdict: str
) -> None:
    result = Result(BLOKUS_2027.score_definition, scores, winners, names)
    text = encode(result)
    assert f"</scores>\n      {verdict}\n    </data>" in text
    assert encode(result_of(text)) == text


def test_an_unknown_sentence_is_kept_word_for_word() -> None:
    text = TEMPLATE.replace("Regelverletzung von Alice: Der", "Unheil: Der")
    result = result_of(text)
    assert result.scores[0].cause is Cause.UNKNOWN
    assert result.scores[0].reason.startswith("Unheil: Der erste Zug")
    assert BLOKUS_2027.encode(decode(BLOKUS_2027, text)).decode() == text


@pytest.mark.parametrize(
    ("score", "winners", "verdict"),
    [
        (Score(Cause.REGULAR, "", (1, 0)), (0, 1), '<winner regular="true" reason="Beide Spieler sind gleichauf"/>'),
        (
            Score(Cause.LEFT, "hat das Spiel verlassen: LOST_CONNECTION", (0, 0)),
            (),
            '<winner regular="false" reason="Alle Spieler hat das Spiel verlassen: LOST_CONNECTION"/>',
        ),
        (Score(Cause.REGULAR, "", (1, 0)), (1,), '<winner team="TWO" regular="true" reason="TWO hat am meisten'),
    ],
)
def test_a_result_may_have_the_first_players_score_only(score: Score, winners: tuple[int, ...], verdict: str) -> None:
    result = Result(BLOKUS_2027.score_definition, (score,), winners, ("A", ""))
    text = encode(result)
    assert text.count("<entry>") == 1
    assert verdict in text
    assert result_of(text) == result
    assert [result.score_of(seat) for seat in (0, 1, None)] == [score, None, None]


def test_a_game_without_a_winner_has_no_verdict() -> None:
    result = Result(BLOKUS_2027.score_definition, (REGULAR, REGULAR), (), ("A", "B"))
    text = encode(result)
    assert "<winner" not in text
    assert result_of(text) == result


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("scores>", "points>", "im Element data fehlt das Element scores"),
        ('<player name="Bob" team="TWO"/>', "", "im Element entry fehlt player oder score"),
        ('<player name="Bob" team="TWO"/>', '<player team="RED"/>', 'player team="RED" gibt es nicht; erlaubt: ONE'),
        ('<player name="Bob" team="TWO"/>', '<player team="ONE"/>', "im Element scores steht ONE mehr als einmal"),
        ("entry>", "eintrag>", "im Element scores fehlt ein Spieler"),
        ('<player name="Alice" team="ONE"/>', '<player team="TWO"/>', "im Element scores steht TWO mehr als einmal"),
        ("<part>2</part>", "<part>zwei</part>", '"zwei" im Element part ist keine ganze Zahl'),
        ('<winner team="TWO"', '<winner team="two"', 'winner team="two" gibt es nicht; erlaubt: ONE, TWO'),
    ],
)
def test_an_unreadable_result_says_why(old: str, new: str, problem: str) -> None:
    assert problem_of(TEMPLATE.replace(old, new)).startswith(problem)


def test_unknown_children_are_noted() -> None:
    notes: list[str] = []
    text = (
        TEMPLATE.replace("<entry>", "<entry><a/>").replace("<score>", "<score><b/>").replace("<scores>", "<scores><c/>")
    )
    assert BLOKUS_2027.encode(decode(BLOKUS_2027, text, notes, is_from_server=True)).decode() == TEMPLATE
    assert set(notes) == {"<a> in <entry>", "<b> in <score>", "<c> in <scores>"}


def test_a_result_may_leave_its_definition_out() -> None:
    before, _, rest = TEMPLATE.partition("<definition>")
    assert result_of(before + rest.partition("</definition>")[2]).definition == ()


FAULTS: Final = st.tuples(st.sampled_from([cause for cause in Cause if cause is not Cause.REGULAR]), strategies.words)


@settings(max_examples=150)
@given(strategies.names, FAULTS, st.sampled_from((0, 1, None)))
def test_every_verdict_is_written_as_it_was_read(
    names: tuple[str, str], fault: tuple[Cause, str], faulty: int | None
) -> None:
    bad = Score(*fault, (0, 0))
    scores = (bad, bad) if faulty is None else (bad, REGULAR) if faulty == 0 else (REGULAR, bad)
    winners = () if faulty is None else (1 - faulty,)
    text = encode(Result(BLOKUS_2027.score_definition, scores, winners, names))
    assert encode(result_of(text)) == text
