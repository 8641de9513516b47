"""What the teacher's page says of the entries of the log, in both languages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from spielleiter.league.model import FinalKind, FullCheck, Stage
from spielleiter.league.words import LANGUAGES, Words
from spielleiter.server.editions import EDITIONS
from spielleiter.viewer.game_json import edition_title

Pair: TypeAlias = tuple[str, str]
"""A text in German and in English."""

ACTIONS: Final[Mapping[str, Pair]] = {
    "make-league": ("Liga angelegt", "made the league"),
    "log-in": ("als Lehrkraft angemeldet", "logged in as the teacher"),
    "set-password": ("Passwort gesetzt", "set the password"),
    "change-settings": ("Einstellungen geändert", "changed settings"),
    "set-anchors": ("Eingebaute Spieler gewählt", "chose built-in players"),
    "pause-league": ("Pause für alle", "paused the league"),
    "resume-league": ("Pause beendet", "ended the pause"),
    "enter-stage": ("Abschnitt begonnen", "began a stage"),
    "add-message": ("Nachricht angeschlagen", "posted a message"),
    "remove-message": ("Nachricht zurückgenommen", "took a message back"),
    "new-spectator-link": ("Link für Zuschauer erzeugt", "made a link for spectators"),
    "remove-spectator-link": ("Link für Zuschauer abgeschaltet", "switched the link for spectators off"),
    "keep-backup": ("Sicherung erzeugt", "made a backup"),
    "keep-export": ("Export erzeugt", "made an export"),
    "download-backup": ("Sicherung heruntergeladen", "downloaded a backup"),
    "download-export": ("Export heruntergeladen", "downloaded an export"),
    "add-team": ("Team angelegt", "added a team"),
    "rename-team": ("Team umbenannt", "renamed a team"),
    "renew-code": ("Neuer Code für", "made a new code for"),
    "pause-team": ("Team angehalten", "paused a team"),
    "resume-team": ("Team spielt wieder", "resumed a team"),
    "remove-team": ("Team entfernt", "removed a team"),
    "upload": ("Hochgeladen", "uploaded"),
    "accept-version": ("Angenommen", "accepted"),
    "refuse-version": ("Abgelehnt", "refused"),
    "full-check": ("Ausführlich geprüft", "checked in full"),
    "withdraw-version": ("Zurückgezogen", "withdrew"),
    "take-back": ("Ältere Version spielt wieder", "took an older version back"),
    "pause-version": ("Version angehalten", "paused a version"),
    "resume-version": ("Version spielt wieder", "resumed a version"),
    "remove-version": ("Version gelöscht", "removed a version"),
    "repeat-pair": ("Begegnung wiederholt", "repeated a pair of games"),
    "void-pair": ("Begegnung ungültig", "declared a pair of games void"),
    "challenge": ("Herausgefordert", "challenged"),
    "allow-helpers": ("Andere PCs erlaubt", "allowed other PCs"),
    "forbid-helpers": ("Andere PCs verboten", "forbade other PCs"),
    "add-helper": ("PC hinzugefügt", "added a PC"),
    "revoke-helper": ("PC widerrufen", "revoked a PC"),
    "allow-without-sandbox": ("PC ohne Sandbox erlaubt", "allowed a PC without a sandbox"),
    "forbid-without-sandbox": ("PC nur mit Sandbox", "required a sandbox of a PC"),
}
"""The actions of the log by their names, which the export has as well."""
_DETAILS: Final[Mapping[str, Pair]] = {
    "to": ("neu", "new"),
    "reason": ("Grund", "reason"),
    "details": ("Text", "text"),
    "size": ("Größe", "size"),
    "sha256": ("Prüfsumme", "checksum"),
    "code": ("Grund", "reason"),
    "de": ("Grund", "reason"),
    "en": ("Grund", "reason"),
    "outcome": ("Ergebnis", "result"),
    "kind": ("Art", "kind"),
}
_STAGES: Final[Mapping[Stage, Pair]] = {
    "practice": ("Übungszeit", "practice"),
    "frozen": ("Versionen stehen fest", "versions are fixed"),
    "final": ("Finale", "final"),
    "over": ("beendet", "over"),
}
FINAL_KINDS: Final[Mapping[FinalKind, Pair]] = {
    "round-robin": ("Jeder gegen jeden", "Round robin"),
    "swiss": ("Schweizer System", "Swiss system"),
    "knock-out": ("K.-o.-System", "Knock-out"),
}
_OUTCOMES: Final[Mapping[FullCheck, Pair]] = {
    "waiting": ("kommt noch", "to come"),
    "running": ("läuft", "running"),
    "passed": ("bestanden", "passed"),
    "warned": ("bestanden, mit Warnungen", "passed, with warnings"),
    "failed": ("nicht bestanden", "failed"),
}
_VALUES: Final[Mapping[str, Mapping[Any, Pair]]] = {
    "kind": FINAL_KINDS,
    "outcome": _OUTCOMES,
    "language": {"de": ("Deutsch", "German"), "en": ("Englisch", "English")},
}
"""The words for the values that a detail or a setting can have, by its name."""


def action_text(action: str, words: Words) -> str:
    """Return what an entry says was done; the name of the action if nobody has put it into words."""
    return words.say(*ACTIONS.get(action, (action, action)))


def subject_text(action: str, subject: str, words: Words) -> str:
    """Return what it was done to."""
    if action == "enter-stage":
        return _choice_text(_STAGES, subject, words)
    return subject.replace("builtin:", "") if action == "set-anchors" else subject


def details_text(details: Mapping[str, Any] | None, words: Words, labels: Mapping[str, Pair]) -> str:
    """Return the details of an entry; `labels` are those of the settings."""
    details = details or {}
    left_out = {"code", *LANGUAGES} - {words.language} if words.language in details else set()
    texts = []
    for key, value in details.items():
        if isinstance(value, Mapping):
            texts.append(details_text(value, words, labels))
        elif key not in left_out:
            label = labels.get(key) or _DETAILS.get(key) or (key, key)
            texts.append(f"{words.say(*label)}: {_value_text(key, value, words)}")
    return "; ".join(text for text in texts if text)


def _value_text(name: str, value: Any, words: Words) -> str:
    match name, value:
        case _, None:
            return words.say("leer", "empty")
        case _, bool():
            return words.say("an", "on") if value else words.say("aus", "off")
        case "freeze_at", float():
            return words.moment(value)
        case "size", int():
            return f"{words.number(value / 1000, 1)} kB"
        case _, int():
            return words.number(value)
        case _, float():
            return words.number(value, len(f"{value:g}".partition(".")[2]))
        case "sha256", str():
            return value[:12]
        case "edition", str() if value in EDITIONS:
            return edition_title(EDITIONS[value])
        case _ if name in _VALUES:
            return _choice_text(_VALUES[name], value, words)
        case _:
            return " ".join(str(value).split())


def _choice_text(texts: Mapping[Any, Pair], value: str, words: Words) -> str:
    return words.say(*texts.get(value, (value, value)))
