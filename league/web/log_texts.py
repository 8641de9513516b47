"""What the teacher's page says of the entries of the log, in both languages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from spielleiter.league.words import Words

ACTIONS: Final = {
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
_DETAILS: Final = {
    "to": ("neu", "new"),
    "reason": ("Grund", "reason"),
    "details": ("Text", "text"),
    "size": ("Bytes", "bytes"),
    "code": ("Grund", "reason"),
    "outcome": ("Ergebnis", "result"),
}
_STAGES: Final = {
    "practice": ("Übungszeit", "practice"),
    "frozen": ("Versionen stehen fest", "versions are fixed"),
    "final": ("Finale", "final"),
    "over": ("beendet", "over"),
}


def action_text(action: str, words: Words) -> str:
    """Return what an entry says was done; the name of the action if nobody has put it into words."""
    return words.say(*ACTIONS.get(action, (action, action)))


def subject_text(action: str, subject: str, words: Words) -> str:
    """Return what it was done to."""
    return words.say(*_STAGES.get(subject, (subject, subject))) if action == "enter-stage" else subject


def details_text(details: Mapping[str, Any] | None, words: Words, labels: Mapping[str, tuple[str, str]]) -> str:
    """Return the details of an entry; `labels` are those of the settings."""
    texts = []
    for key, value in (details or {}).items():
        if isinstance(value, Mapping):
            texts.append(details_text(value, words, labels))
        else:
            label = labels.get(key) or _DETAILS.get(key) or (key, key)
            texts.append(f"{words.say(*label)}: {_value_text(value, words)}")
    return "; ".join(text for text in texts if text)


def _value_text(value: Any, words: Words) -> str:
    if isinstance(value, bool):
        return words.say("an", "on") if value else words.say("aus", "off")
    return "–" if value is None else " ".join(str(value).split())
