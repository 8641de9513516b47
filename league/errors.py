"""Errors of the league that its callers handle."""

from __future__ import annotations


class LeagueError(Exception):
    """The base class; it is never raised itself."""


class RefusedError(LeagueError):
    """A request that is not granted, with one sentence in each language that says why and what to do."""

    def __init__(self, code: str, de: str, en: str) -> None:
        super().__init__(en)
        self.code = code
        """Identifies the reason, such as ``too-many-uploads``."""
        self.de = de
        self.en = en


class LeagueDiskError(LeagueError):
    """The disk is full, or the database cannot be written; nothing of the change was kept."""


class LeagueFileError(LeagueError):
    """A database or a backup is damaged, of a newer version, of something else, or in use; the text says what to do."""
