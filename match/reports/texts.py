"""Texts for numbers and results, the same in all reports and on the terminal.

The texts are plain and not escaped. A missing value is a dash.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from spielleiter.common.text import count_text
from spielleiter.match.records import GameRecord
from spielleiter.match.statistics import MIN_PAIRS, Estimate
from spielleiter.match.summary import ProgramSummary, Summary

NO_VALUE: Final = "–"
FAULT_COLUMNS: Final = ("Crashes", "Timeouts", "Illegal moves", "Bad messages", "Left running")


def headline(summary: Summary) -> str:
    """The answer in one sentence, and a further one for each program that was often too slow on an overloaded machine.

    Games of such a program do not count, so the overload may have saved it from losses.
    """
    played = count_text(summary.played, "game")
    overloads = [
        f"But {each.overloads} of {played} do not count because {each.name} was too slow on an overloaded machine"
        for each in summary.often_overloaded
    ]
    return ". ".join([_answer(summary), *overloads])


def _answer(summary: Summary) -> str:
    first, second = summary.names
    state = summary.sprt
    if state is not None and state.decision is not None:
        test = state.test
        accepted, other = (test.elo1, test.elo0) if state.decision == "H1" else (test.elo0, test.elo1)
        unit = "nElo" if test.model == "normalized" else "Elo"
        compared = f"{accepted:+zg} {unit} rather than {other:+zg}"
        return f"{first} against {second}: {compared} (SPRT accepted {state.decision})"
    pairs = sum(summary.pairs)
    if not pairs:
        return f"{first} against {second}: no result, since no pair of games is complete"
    if summary.better is not None:
        return f"{summary.names[summary.better]} is better than {summary.names[1 - summary.better]}"
    if not summary.has_enough_pairs:
        complete = f"{count_text(pairs, 'complete pair')}, at least {MIN_PAIRS} are needed"
        return f"{first} against {second}: too few pairs to tell ({complete})"
    return f"Not decided between {first} and {second}: more games are needed"


def machine_warnings(summary: Summary) -> list[str]:
    """A sentence for each machine that decides differently from the others, beyond chance."""
    return [
        f"{each.name} decides differently from the other machines (chi-squared test of pairs, p = {each.p_value:.2g})"
        for each in summary.machines
        if each.is_different
    ]


MACHINE_COLUMNS: Final = ("Machine", "Games", "Score", "Mean points", "Median think time", "Time losses", "p")


def machine_rows(summary: Summary) -> list[tuple[str | int, ...]]:
    """The rows of the table of machines, under MACHINE_COLUMNS; pairs of numbers are those of both programs."""
    return [
        (
            each.name or "(here)",
            each.games,
            f"+{each.wins} ={each.draws} −{each.losses}",
            " : ".join(NO_VALUE if points is None else f"{points:.1f}" for points in each.points),
            " : ".join(map(seconds_text, each.think_medians)),
            each.time_losses,
            NO_VALUE if each.p_value is None else f"{each.p_value:.2g}",
        )
        for each in summary.machines
    ]


def title(summary: Summary) -> str:
    """The season and the headline: the first line of every report."""
    return headline(summary) if summary.season is None else f"{summary.season}: {headline(summary)}"


def elo_text(elo: Estimate | None) -> str:
    """For example ``+55.6 [+27.9, +83.4]``: value and 95 % interval."""
    if elo is None:
        return NO_VALUE
    return f"{_signed(elo.value)} [{_signed(elo.low)}, {_signed(elo.high)}]"


def _signed(value: float) -> str:
    if math.isinf(value):
        return "+∞" if value > 0 else "−∞"
    return f"{value:+z.1f}".replace("-", "−")


def both_elo_text(summary: Summary) -> str:
    """For example ``+55.6 [+27.9, +83.4], nElo +57.9 [+29.3, +86.4]``; nElo is left out if it has no value."""
    normalized = summary.normalized_elo
    return elo_text(summary.elo) + ("" if normalized is None else f", nElo {elo_text(normalized)}")


def estimate_text(estimate: Estimate | None) -> str:
    """For example ``81.7 [79.2, 84.1]``: value and 95 % interval."""
    if estimate is None:
        return NO_VALUE
    return f"{estimate.value:z.1f} [{estimate.low:z.1f}, {estimate.high:z.1f}]".replace("-", "−")


def percent_text(share: float | None) -> str:
    """For example ``97.7 %``. Only exact values are shown as 0 % and 100 %."""
    if share is None:
        return NO_VALUE
    if 0.9999 <= share < 1:
        return "> 99.99 %"
    if 0 < share <= 0.0001:
        return "< 0.01 %"
    return f"{100 * share:.1f} %" if 0.001 < share < 0.999 else f"{100 * share:.2f} %"


def share_text(share: float | None) -> str:
    """A share that may be above 1, for example ``38.5 %``, ``2.4 times`` or ``340 times``."""
    if share is None or share <= 1:
        return percent_text(share)
    return f"{share:.1f} times" if share < 9.95 else f"{share:.0f} times"


def likelihood_text(likelihood: float | None) -> str:
    """A likelihood in per cent; it is never shown as certain, even if it is 1 after rounding to a float."""
    return percent_text(likelihood if likelihood is None else min(max(likelihood, 1e-9), 1 - 1e-9))


def seconds_text(seconds: float | None) -> str:
    """A time with three significant digits, in seconds or milliseconds."""
    if seconds is None:
        return NO_VALUE
    return (
        f"{1000 * seconds:.3g} ms"
        if seconds < 0.9995
        else f"{seconds:.3g} s"
        if seconds < 999.5
        else f"{seconds:.0f} s"
    )


def sprt_text(summary: Summary) -> str | None:
    """For example ``LLR +1.23 (-2.94, +2.94), elo0=0 elo1=50 …: undecided``; None without a test."""
    state = summary.sprt
    if state is None:
        return None
    ratio = ratio_text(state.log_likelihood_ratio, state.test.lower, state.test.upper)
    return f"{ratio}, {state.test}: {f'{state.decision} accepted' if state.decision else 'undecided'}"


def ratio_text(ratio: float, lower: float, upper: float) -> str:
    """For example ``LLR +1.23 (-2.94, +2.94)``: the log-likelihood ratio with its bounds."""
    return f"LLR {ratio:+z.2f} ({lower:+z.2f}, {upper:+z.2f})"


def significance_text(summary: Summary) -> str | None:
    """For example ``e-value 3.2 of 20, risk 0.05: undecided``; None without a test."""
    test = summary.significance
    return None if test is None else e_value_text(test.log_e_value, test.risk, summary.names, summary.better)


def e_value_text(log_e_value: float, risk: float, names: Sequence[str], better: int | None) -> str:
    """For example ``e-value 24.1 of 20, risk 0.05: new is better``; `better` is an index of `names`."""
    e_value = math.exp(min(log_e_value, 700.0))  # a larger exponent may overflow
    state = "undecided" if better is None else f"{names[better]} is better"
    return f"e-value {e_value:.3g} of {1 / risk:.3g}, risk {risk:g}: {state}"


def games_text(summary: Summary) -> str:
    """The numbers of games that were planned, played and counted, and of complete pairs."""
    games = count_text(summary.played if summary.planned is None else summary.planned, "game")
    played = games if summary.planned is None else f"{summary.played} of {games}"
    pairs = count_text(sum(summary.pairs), "complete pair")
    text = f"{played} played, {summary.results.games} counted, {pairs}"
    if summary.uncounted:
        text += f"; {summary.uncounted} not counted"
    return text


def fault_counts(program: ProgramSummary) -> tuple[int, ...]:
    """The values for FAULT_COLUMNS."""
    return program.crashes, program.timeouts, program.illegal_moves, program.bad_messages, program.leftovers


def attempt_texts(summary: Summary) -> list[str]:
    """A sentence for everything that was tried although it is not allowed, without a full stop."""
    found = [
        f"{program.name} {attempt}: {count_text(count, 'time')}, refused"
        for program in summary.programs
        for attempt, count in program.attempts.items()
    ]
    if summary.foreign_connections:
        count = count_text(summary.foreign_connections, "connection")
        found.append(f"{count} to the ports of the programs refused, since no program was seen to have made them")
    return found


def attempts_of_game(record: GameRecord) -> list[str]:
    """The same for one game."""
    return [
        f"{record.names[program]} {attempt}: {count_text(count, 'time')}, refused"
        for program in (0, 1)
        for attempt, count in sorted(record.attempts[program].items())
    ]


def result_text(record: GameRecord) -> str:
    """The name of the winner, ``draw`` or ``not counted``."""
    if not record.is_counted:
        return "not counted"
    return "draw" if record.winner is None else record.names[record.winner]


def incident_texts(summary: Summary, limit: int | None = None) -> tuple[str, ...]:
    """A line for each game that is not "regular"; if there are more than `limit`, the last line says how many."""
    incidents = summary.incidents if limit is None else summary.incidents[:limit]
    lines = []
    for each in incidents:
        by = "" if each.offender is None else f"{summary.names[each.offender]}, "
        lines.append(f"Game {each.game}: {by}{each.verdict}" + (f": {each.reason}" if each.reason else ""))
    if len(incidents) < len(summary.incidents):
        lines.append(f"… and {len(summary.incidents) - len(incidents)} more")
    return tuple(lines)
