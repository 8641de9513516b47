"""Reads the documents for tests: fenced code blocks, with the section that each belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Block:
    """A fenced code block. `lead` is the paragraph before it, `section` the heading above it."""

    document: str
    section: str
    language: str
    lead: str
    text: str

    def __str__(self) -> str:
        return f"{self.document}: {self.section}: {self.text.splitlines()[0]}"


def read(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def blocks(document: str, language: str = "", section: str = "") -> list[Block]:
    """Return the code blocks of a document in order; only those of `language` and `section` if these are given."""
    found = []
    heading, paragraph, fence, lines = "", [""], "", [""]
    for line in read(document).splitlines():
        if fence:
            if line == "```":
                text = "".join(f"{each}\n" for each in lines)
                found.append(Block(document, heading, fence, " ".join(paragraph), text))
                fence, paragraph = "", []
            else:
                lines.append(line)
        elif line.startswith("```"):
            fence, lines = line.removeprefix("```"), []
        elif line.startswith("#"):
            heading, paragraph = line.lstrip("# "), []
        elif line:
            if paragraph[-1:] == [""]:
                paragraph = []
            paragraph.append(line)
        elif paragraph:
            paragraph.append("")
    return [each for each in found if language in {"", each.language} and section in {"", each.section}]
