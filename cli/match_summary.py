"""The result of a match on the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from spielleiter.cli.commands import print_line
from spielleiter.common.text import count_text, escaped, text_width

if TYPE_CHECKING:
    from spielleiter.match.summary import Summary


def show_summary(summary: Summary, folder: Path) -> None:
    """Print the result of a match, whose reports are in `folder`."""
    from spielleiter.match.reports.texts import (
        attempt_texts,
        both_elo_text,
        estimate_text,
        games_text,
        headline,
        machine_warnings,
        percent_text,
        seconds_text,
        significance_text,
        sprt_text,
    )

    print_line(headline(summary))
    print_line(games_text(summary))
    for program in summary.programs:
        times, score = program.think_times, f"+{program.wins} ={program.draws} -{program.losses}"
        print_line(
            f"{program.name}: {score}, points {estimate_text(program.points)}; "
            f"thinks {seconds_text(times.median)} (median), {seconds_text(times.p95)} (95 %), "
            f"{seconds_text(times.max)} (longest)"
        )
        print_line(
            f"{' ' * text_width(escaped(program.name))}  {count_text(program.crashes, 'crash', 'crashes')}, "
            f"{count_text(program.timeouts, 'timeout')}, {count_text(program.illegal_moves, 'illegal move')}, "
            f"{count_text(program.bad_messages, 'bad message')}, "
            f"{count_text(program.leftovers, 'time')} left running after the game"
            + (
                f", too slow on an overloaded machine {count_text(program.overloads, 'time')}"
                if program.overloads
                else ""
            )
        )
    print_line(
        f"Elo {both_elo_text(summary)}, likelihood of superiority {percent_text(summary.likelihood_of_superiority)}"
    )
    tests = sprt_text(summary), significance_text(summary)
    for text in filter(None, (*tests, *attempt_texts(summary), *machine_warnings(summary))):
        print_line(text)
    if summary.machines:
        print_line(
            "machines: " + ", ".join(f"{each.name} {count_text(each.games, 'game')}" for each in summary.machines)
        )
    print_line(f"report: {folder / 'report.html'}")
