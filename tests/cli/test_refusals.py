"""Refusals by a server: advice for people, the original text for scripts."""

from __future__ import annotations

import pytest

from spielleiter.cli.refusals import failure_text, refusal_text
from spielleiter.client.client_errors import CannotConnectError, ClientError, RequestRefusedError
from spielleiter.protocol.dialects.blokus_2027 import BLOKUS_2027
from spielleiter.server.core.lobby import NO_ADMINS

TEXTS = BLOKUS_2027.texts


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        (TEXTS.unknown_room("x"), "spielleiter admin status"),
        (TEXTS.room_full("x"), "--reservation"),
        (TEXTS.unknown_reservation, "spielleiter admin prepare"),
        (TEXTS.unknown_game_type("x", ["y"]), "--game"),
        (TEXTS.wrong_password, "--password"),
        ("cannot connect to ::1:4000 (nobody listens there)", "spielleiter serve --port 4000"),
    ],
)
def test_known_refusals_say_what_to_do(message: str, advice: str) -> None:
    reason, _, what = refusal_text(message).partition("; ")
    assert "Exception" not in reason
    assert reason in message
    assert advice in what


@pytest.mark.parametrize(
    "message", ["whatever", f"{TEXTS.wrong_password}; {NO_ADMINS}", "cannot connect to x:1 (no such host)"]
)
def test_unknown_refusals_have_no_advice(message: str) -> None:
    assert refusal_text(message) == message.rpartition("Exception: ")[2]


@pytest.mark.parametrize(
    ("error", "is_kept"),
    [
        (RequestRefusedError(TEXTS.unknown_room("x")), True),
        (
            CannotConnectError("cannot connect to x:1 (nobody listens there)"),
            False,
        ),  # our own words, which no script parses
    ],
)
def test_scripts_get_a_refusal_unchanged(error: ClientError, is_kept: bool) -> None:
    assert (failure_text(error, keeps_words=True) == str(error)) == is_kept
    assert failure_text(error, keeps_words=False) == refusal_text(str(error))
