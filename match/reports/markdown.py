"""summary.md: a match on one page, for the summary of a continuous integration run or a comment.

Invariants: the file is in GitHub's Markdown. All texts are escaped, so the name of a program cannot change the layout.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from spielleiter.match.reports.escaping import escape_markdown
from spielleiter.match.reports.words import (
    FAULT_COLUMNS,
    MACHINE_COLUMNS,
    PLATFORM_GAPS,
    attempt_texts,
    elo_text,
    estimate_text,
    fault_counts,
    games_text,
    incident_texts,
    likelihood_text,
    machine_rows,
    machine_warnings,
    percent_text,
    seconds_text,
    share_text,
    significance_text,
    sprt_text,
    title,
)
from spielleiter.match.summary import Summary

INCIDENTS: Final = 20
"""The number of incidents that are shown; report.html has all of them."""


def render_markdown(summary: Summary) -> str:
    """The text of the file."""
    results, programs = summary.results, summary.programs
    lines = [f"## {escape_markdown(title(summary))}", "", f"{escape_markdown(games_text(summary))}.", ""]
    lines += _table(
        ("", *summary.names),
        [
            ("Won", *(program.wins for program in programs)),
            ("Drawn", *(program.draws for program in programs)),
            ("Lost", *(program.losses for program in programs)),
            ("Mean points", *(estimate_text(program.points) for program in programs)),
        ],
    )
    tests = (("SPRT", sprt_text(summary)), ("Significance", significance_text(summary)))
    lines += _table(
        (f"{summary.names[0]} against {summary.names[1]}", ""),
        [
            ("Score", percent_text(results.score)),
            ("Elo, 95 %", elo_text(summary.elo)),
            ("Normalized Elo, 95 %", elo_text(summary.normalized_elo)),
            ("Likelihood of superiority", likelihood_text(summary.likelihood_of_superiority)),
            ("Point difference, 95 %", estimate_text(summary.point_difference)),
            ("Pairs with 0, ½, 1, 1½, 2 points", ", ".join(map(str, summary.pairs))),
            *((name, text) for name, text in tests if text),
        ],
    )
    lines += _table(
        ("Program", *FAULT_COLUMNS),
        [(each.name, *fault_counts(each)) for each in programs],
    )
    lines += _table(
        ("Program", "Answers", "Median", "95 %", "Longest", "Processor time", "per thinking time"),
        [
            (
                each.name,
                each.think_times.answers,
                seconds_text(each.think_times.median),
                seconds_text(each.think_times.p95),
                seconds_text(each.think_times.max),
                seconds_text(each.cpu_seconds),
                share_text(each.processor_share),
            )
            for each in programs
        ],
    )
    if summary.machines:
        lines += _table(MACHINE_COLUMNS, machine_rows(summary))
    notes = [*attempt_texts(summary), *machine_warnings(summary)]
    lines += [f"- {escape_markdown(line)}" for line in notes]
    lines += [f"- {escape_markdown(line)}" for line in incident_texts(summary, INCIDENTS)]
    if summary.platform_gaps:
        lines += ["", f"{PLATFORM_GAPS}:", "", *(f"- {escape_markdown(gap)}" for gap in summary.platform_gaps)]
    return "\n".join(lines).rstrip("\n") + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str | int]]) -> list[str]:
    lines = [_row(head), "|---" + "|--:" * (len(head) - 1) + "|"]
    return [*lines, *map(_row, rows), ""]


def _row(cells: Sequence[str | int]) -> str:
    return "| " + " | ".join(escape_markdown(str(cell)) for cell in cells) + " |"
