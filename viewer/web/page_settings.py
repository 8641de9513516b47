"""What the process of the pages is told when it starts: the server to show, passwords, folders, and how to log.

It travels through a pipe, never in a command line or in a variable of the environment, which others could read.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from spielleiter.server.config import Config


class PageSettings(Struct, frozen=True, kw_only=True):
    """The settings of the pages of one server."""

    host: str
    port: int
    """Where programs, persons and these pages reach the game port."""
    secret: str
    """What makes these pages an administrator of the server; visitors are never told, and it is not accepted from
    them."""
    is_own: bool = True
    """Whether the server is known to be one of this version."""
    is_match: bool = False
    """Whether these are the pages of a match, on which nobody can play or administrate."""
    spares_processor: bool = False
    """Whether visitors can have nothing computed that takes longer than showing a game: no analysis, no picture, no
    reading of their files."""
    edition: str | None = None
    """The edition in whose wire form the server is asked; None: that of the current season."""
    page_port: int = 0
    """The port of the pages; 0 if there are no pages."""
    admin_password: str | None = None
    """What a visitor has to know to prepare, pause and cancel games; None: nobody can."""
    viewer_password: str | None = None
    """What a visitor has to know to see anything; None: nothing."""
    password_attempts: int = 5
    password_window: float = 60.0
    password_delay: float = 30.0
    game_options: dict[str, str] = {}
    """The options of the games that the server plays, which are not on the wire."""
    replays: str | None = None
    """The folder of replays."""
    matches: str | None = None
    """The folder of a match, or of several."""
    single: str | None = None
    """A replay that the pages show, whatever it is called."""
    log_format: str = "auto"
    log_level: str = "info"

    @property
    def folders(self) -> tuple[Path | None, Path | None, Path | None]:
        """The folder of replays, that of matches, and the single replay."""
        replays, matches, single = (
            None if text is None else Path(text) for text in (self.replays, self.matches, self.single)
        )
        return replays, matches, single

    @classmethod
    def of(cls, config: Config, address: tuple[str, int], secret: str, page_port: int) -> PageSettings:
        """Return the settings for the pages on `page_port` of a server with this configuration, which is at
        `address`.
        """
        return cls(
            host=address[0],
            port=address[1],
            secret=secret,
            page_port=page_port,
            admin_password=None if config.has_public_password else config.password,
            viewer_password=config.viewer_password,
            password_attempts=config.password_attempts,
            password_window=config.password_window,
            password_delay=config.password_delay,
            game_options=dict(config.game_options),
            replays=_text(config.replay_folder),
            matches=_text(config.viewer_matches),
            log_format=config.log_format,
            log_level=config.log_level,
        )


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
