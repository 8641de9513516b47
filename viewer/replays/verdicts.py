"""The verdicts on games of a match, in words for people.

Invariants: the keys are the texts in the records of a match. A verdict that is not in the table is shown as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from spielleiter.viewer.positions.view import Words

_VERDICTS: Final[Mapping[str, Words]] = {
    "regular": {"de": "regulär zu Ende gespielt", "en": "played to its end"},
    "does not start": {"de": "startet nicht", "en": "does not start"},
    "never joins": {"de": "nimmt seinen Platz nicht ein", "en": "never takes its seat"},
    "speaks nonsense": {"de": "hält sich nicht an das Protokoll", "en": "does not follow the protocol"},
    "dies": {"de": "hat sich mitten im Spiel beendet", "en": "ended during the game"},
    "crash": {"de": "ist abgestürzt", "en": "crashed"},
    "leaves": {"de": "hat die Verbindung getrennt", "en": "closed its connection"},
    "tampers with its keeper": {
        "de": "hat den Prozess angehalten, der es überwacht",
        "en": "stopped the process that supervises it",
    },
    "timeout": {"de": "hat für einen Zug zu lange gebraucht", "en": "took too long for a move"},
    "hangs": {"de": "hat nicht mehr geantwortet", "en": "did not answer any more"},
    "illegal move": {"de": "regelwidriger Zug", "en": "illegal move"},
    "bad message": {"de": "ungültige Nachricht", "en": "invalid message"},
    "does not end": {"de": "beendet sich nach dem Spiel nicht", "en": "does not end after the game"},
    "leaves processes behind": {
        "de": "lässt nach dem Spiel Prozesse zurück",
        "en": "leaves processes behind after the game",
    },
    "overloaded machine": {
        "de": "der Rechner war überlastet, das Spiel zählt nicht",
        "en": "the machine was overloaded, the game does not count",
    },
    "contested seat": {
        "de": "unklar, welches Programm hier gespielt hat, das Spiel zählt nicht",
        "en": "nobody can tell which program played here, the game does not count",
    },
    "cancelled": {"de": "abgebrochen, das Spiel zählt nicht", "en": "cancelled, the game does not count"},
    "server failed": {
        "de": "der Server ist ausgefallen, das Spiel zählt nicht",
        "en": "the server failed, the game does not count",
    },
}


def verdict_words(verdict: str, offender: str | None, reason: str) -> Words:
    """Return a verdict as a sentence in both languages.

    - `verdict`: the text in the record of the game.
    - `offender`: the name of the program at fault; None if neither is.
    - `reason`: the explanation in the record, which is in English; it may be empty.
    """
    known = _VERDICTS.get(verdict, {"de": verdict, "en": verdict})
    words: Words = {}
    for language, text in known.items():
        who = "" if offender is None else f"{offender}: "
        why = f" ({reason})" if reason else ""
        words[language] = f"{who}{text}{why}"
    return words
