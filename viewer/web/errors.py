"""The errors of the web application: a status, and one sentence in German and English."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final


class WebError(Exception):
    """A request was refused. `status` is the one of HTTP; the texts say whose fault it is and what to do."""

    def __init__(self, status: int, de: str, en: str) -> None:
        super().__init__(en)
        self.status = status
        self.de = de
        self.en = en

    def as_json(self) -> dict[str, dict[str, str]]:
        """Return the body of the answer."""
        return {"error": {"de": self.de, "en": self.en}}


def unknown_room(room_id: str) -> WebError:
    """Return the error for a room that does not exist, or is forgotten already."""
    shown = room_id[:80]
    return WebError(404, f"Den Raum {shown} gibt es nicht (mehr).", f"There is no room {shown} (any more).")


def unknown_game_type(game_type: str, known: Iterable[str]) -> WebError:
    """Return the error for a gameType that this server does not play; `known` are those that it plays."""
    names = ", ".join(known)
    return WebError(
        400,
        f"Das Spiel {game_type} gibt es hier nicht; bekannt sind: {names}.",
        f"There is no game {game_type} here; known are: {names}.",
    )


def unknown_ply(ply: int) -> WebError:
    """Return the error for a position that a game does not have."""
    return WebError(404, f"Das Spiel hat keinen Zug {ply}.", f"The game has no ply {ply}.")


STATUS_TEXTS: Final = {
    404: ("Diese Adresse gibt es hier nicht.", "There is no such address here."),
    405: ("Diese Anfrage ist hier nicht erlaubt.", "This request is not allowed here."),
    500: ("Der Server hat einen Fehler; das Protokoll nennt ihn.", "The server has a bug; its log names it."),
}
"""The sentences for errors that the toolkit finds itself, by status."""
