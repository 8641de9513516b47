"""`ReplayFileError`: a file that cannot be shown as a game, with one sentence in German and in English.

Invariants: whatever a file contains, reading it raises no other exception. The sentences do not repeat more of the file
than a short excerpt, and do not name it; the caller does that.
"""

from __future__ import annotations

from spielleiter.viewer.positions.view import Words


class ReplayFileError(Exception):
    """The file cannot be shown. `words` has the sentence in both languages; `str(error)` is the English one."""

    def __init__(self, de: str, en: str) -> None:
        super().__init__(en)
        self.words: Words = {"de": de, "en": en}
