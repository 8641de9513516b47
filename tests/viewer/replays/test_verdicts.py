"""Every verdict of a match has words in both languages."""

from __future__ import annotations

from spielleiter.match.verdict import VERDICTS
from spielleiter.viewer.replays.verdicts import _VERDICTS, verdict_words


def test_every_verdict_of_a_match_is_known() -> None:
    assert set(_VERDICTS) == set(VERDICTS)


def test_a_verdict_names_the_program_and_the_reason() -> None:
    assert verdict_words("crash", "bot", "exit code 1") == {
        "de": "bot: ist abgestürzt (exit code 1)",
        "en": "bot: crashed (exit code 1)",
    }
    assert verdict_words("regular", None, "") == {"de": "regulär zu Ende gespielt", "en": "played to its end"}
    assert verdict_words("something new", None, "") == {"de": "something new", "en": "something new"}
