"""summary.md, parsed line by line."""

from __future__ import annotations

import re

from spielleiter.match.reports.match_reports import INCIDENTS, render_markdown
from spielleiter.match.statistics import Sprt
from spielleiter.match.summary import summarise
from spielleiter.match.verdict import Verdict
from tests.match.hostile import hostile_match
from tests.match.sample_records import fault, game, whole_match


def cells(line: str) -> list[str]:
    """The cells of a table's line, divided as GitHub does: at each bar without a backslash."""
    assert line.startswith("| ")
    assert line.endswith(" |")
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def rows(text: str) -> dict[str, list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return {cells(line)[0]: cells(line)[1:] for line in lines}


def test_the_numbers_are_in_tables() -> None:
    records = whole_match(20)
    summary = summarise(records, planned=40, sprt=Sprt(0, 50))
    text = render_markdown(summary)
    found = rows(text)
    assert found["Won"] == [str(summary.results.wins), str(summary.results.losses)]
    assert found["Pairs with 0, ½, 1, 1½, 2 points"] == [", ".join(map(str, summary.pairs))]
    assert found["SPRT"][0].startswith("LLR ")
    assert "40 of 40 games played, 40 counted, 20 complete pairs." in text
    assert "SPRT" not in render_markdown(summarise(records))


def test_every_table_is_well_formed() -> None:
    for summary in (hostile_match()[0], summarise([], names=("a", "b")), summarise(whole_match(3))):
        width = None
        for line in render_markdown(summary).splitlines():
            if line.startswith("|-"):
                assert line.count("|") == (width or 0) + 1
            elif line.startswith("|"):
                assert width in (None, len(cells(line)))
                width = len(cells(line))
            else:
                width = None


def test_hostile_texts_are_escaped() -> None:
    text = render_markdown(hostile_match()[0])
    assert "<" not in text
    assert "\n# " not in text
    assert not re.search(r"(?<!\\)[`*~$\[\]]", text)
    assert text.count("\n- ") == 2
    assert text.replace("\n", "").isprintable()


def test_incidents_are_listed_up_to_a_limit() -> None:
    few = render_markdown(summarise([game(1), fault(2, 1, Verdict.TIMEOUT, reason="2.5 s, allowed are 2 s")]))
    assert few.endswith("- Game 2: random, timeout: 2.5 s, allowed are 2 s\n")
    many = render_markdown(summarise([fault(number, 0, Verdict.CRASH, reason="") for number in range(1, 31)]))
    assert many.count("\n- Game") == INCIDENTS
    assert "- Game 1: greedy, crash\n" in many
    assert many.endswith("- … and 10 more\n")
