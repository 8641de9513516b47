"""Texts, numbers and times in the language of whoever reads a page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias

Language: TypeAlias = Literal["de", "en"]
LANGUAGES: Final[tuple[Language, ...]] = ("de", "en")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True, slots=True)
class Words:
    """Puts texts, numbers and times into one language."""

    language: Language

    def say(self, de: str, en: str, **values: Any) -> str:
        """Return the text of the language, with ``{name}`` replaced by the value of this name."""
        text = de if self.language == "de" else en
        return text.format(**values) if values else text

    def number(self, value: float, digits: int = 0) -> str:
        """Return a number with separators of thousands."""
        text = f"{round(value, digits) + 0:,.{digits}f}".replace("-", "−")  # + 0: there is no −0
        return text.translate(str.maketrans(",.", ".,")) if self.language == "de" else text

    def signed(self, value: float) -> str:
        """Return a whole number with its sign; ±0 for none."""
        rounded = round(value)
        return "±0" if rounded == 0 else ("+" if rounded > 0 else "") + self.number(rounded)

    def moment(self, seconds: float) -> str:
        """Return a time in this machine's zone, by its date and to the minute."""
        at = datetime.fromtimestamp(seconds, UTC).astimezone()
        if self.language == "de":
            return f"{at.day}.{at.month}.{at.year}, {at:%H:%M}"
        return f"{at.day} {_MONTHS[at.month - 1]} {at.year}, {at:%H:%M}"

    def day(self, iso: str) -> str:
        """Return a day that is given as ``2027-01-31``."""
        year, month, day = (int(part) for part in iso.split("-"))
        return f"{day}.{month}.{year}" if self.language == "de" else f"{day} {_MONTHS[month - 1]} {year}"

    def duration(self, seconds: float) -> str:
        """Return a time to wait, in the unit that fits."""
        if seconds < 100:
            return f"{round(seconds)} s"
        return f"{round(seconds / 60)} min" if seconds < 5400 else self.number(seconds / 3600, 1) + " h"
