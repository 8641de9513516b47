"""[reports.csv]
games.csv: one line for each game, for spreadsheets.

Invariants: columns are never removed or reordered; new ones are added at the end. Programs 1 and 2 are the `--player1`
and `--player2` of the match. A text is one line without control characters, and no spreadsheet takes it for a formula.


[reports.markdown]
summary.md: a match on one page, for the summary of a continuous integration run or a comment.

Invariants: the file is in GitHub's Markdown. All texts are escaped, so the name of a program cannot change the layout.


[reports.html]
report.html: a match on one page with plots, for a browser.

Invariants: the page is a single file. It has no script and fetches nothing, and a policy in its head forbids both. All
names, reasons and other texts from programs are escaped. Links lead into the folders of the games beside the page.


[reports]
The reports of a match: files for spreadsheets, continuous integration and people.

Invariants: the text of a report is a pure function of the summary and the records. No report fetches anything, and
everything that a program or its author chose (names, reasons) is escaped for the format of the report. Only junit.xml
has another source: the end of the standard error of programs in games that failed.

"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Final

from spielleiter.common.text import shortened
from spielleiter.match.game_folder import REPLAY_PAGE
from spielleiter.match.records import GameRecord
from spielleiter.match.reports.junit import BOTH, render_junit
from spielleiter.match.reports.plots import Band, Bar, CurvePoint, Dot, histogram, line_chart, scatter, stacked_bars
from spielleiter.match.reports.rendering import (
    escape_cell,
    escape_markdown,
    link,
    page,
    platform_gaps_list,
    table,
    write_text,
)
from spielleiter.match.reports.rendering import escape_html as escape
from spielleiter.match.reports.texts import (
    FAULT_COLUMNS,
    MACHINE_COLUMNS,
    NO_VALUE,
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
    result_text,
    seconds_text,
    share_text,
    significance_text,
    sprt_text,
    title,
)
from spielleiter.match.statistics import PLAYED_OUT, Sprt
from spielleiter.match.summary import HISTOGRAM_EDGES, ProgressionPoint, Summary, progression_of
from spielleiter.match.verdict import Verdict
from spielleiter.programs.last_words import read_tail

COLUMNS: Final = (
    "game", "pair", "game_type", "seed", "start", "name1", "name2", "seat1", "seat2", "winner", "is_counted", "verdict",
    "offender", "reason", "points1", "points2", "cause1", "cause2", "plies", "answers1", "answers2", "think_seconds1",
    "think_seconds2", "think_max1", "think_max2", "cpu_seconds1", "cpu_seconds2", "wall_seconds", "started_at",
    "folder", "replay", "season", "machine",
)  # fmt: skip


def render_csv(records: Iterable[GameRecord], season: str | None = None) -> str:
    """The text of the file, with the line endings of RFC 4180; `season` is that of all games."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    for record in records:
        writer.writerow([_csv_cell(value) for value in (*_csv_row(record), season, record.machine)])
    return file.getvalue()


def _csv_row(record: GameRecord) -> list[str | float | None]:
    winner = "draw" if record.winner is None else record.names[record.winner]
    return [
        record.game,
        record.pair,
        record.game_type,
        record.seed,
        record.start,
        *record.names,
        record.seats.index(0),
        record.seats.index(1),
        winner if record.is_counted else None,
        int(record.is_counted),
        record.verdict,
        None if record.offender is None else record.names[record.offender],
        record.reason,
        *record.points,
        *record.causes,
        record.plies,
        *(len(times) for times in record.think_times),
        *(round(math.fsum(times), 6) for times in record.think_times),
        *(max(times, default=None) for times in record.think_times),
        *record.cpu_seconds,
        record.wall_seconds,
        record.started_at,
        record.folder,
        record.replay,
    ]


def _csv_cell(value: str | float | None) -> str | float:
    if value is None:
        return ""
    return escape_cell(value) if isinstance(value, str) else value


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


_WIDEST: Final = 1000.0  # the highest Elo difference that a plot shows


def render_html(summary: Summary, records: Sequence[GameRecord], pages: Collection[int] = ()) -> str:
    """The text of the file; `records` are sorted by game. `pages` are the games whose replay has a page beside it."""
    first, second = map(escape, summary.names)
    tests = (("SPRT", sprt_text(summary)), ("Significance", significance_text(summary)))
    facts = [f"{games_text(summary)}.", *(f"{name}: {text}." for name, text in tests if text)]
    body = [
        f"<h1>{escape(title(summary))}</h1>",
        *(f"<p>{escape(fact)}</p>" for fact in facts),
        _results(summary),
        _comparison(summary),
        _faults(summary, records, pages),
        *(f"<p>{escape(text)}.</p>" for text in attempt_texts(summary)),
        _times(summary),
        _machines(summary),
        f"<p>In the plots:{_key('p0', first)}{_key('p1', second)}{_key('draw', 'draw')}</p>",
        *_figures(summary, records),
        _games(records, pages),
        platform_gaps_list(summary.platform_gaps),
    ]
    season = "" if summary.season is None else f"{summary.season}: "
    return page(f"{season}{summary.names[0]} vs {summary.names[1]}", body)


def _key(kind: str, escaped: str) -> str:
    return f' <span class="key {kind}"></span>{escaped}'


# -- tables -----------------------------------------------------------------------------------------------------


def _results(summary: Summary) -> str:
    programs = summary.programs
    return table(
        "Results",
        ("", *summary.names),
        [
            ("Won", *(each.wins for each in programs)),
            ("Drawn", *(each.draws for each in programs)),
            ("Lost", *(each.losses for each in programs)),
            ("Mean points, 95 %", *(estimate_text(each.points) for each in programs)),
        ],
    )


def _comparison(summary: Summary) -> str:
    return table(
        f"{summary.names[0]} against {summary.names[1]}",
        ("", ""),
        [
            ("Score", percent_text(summary.results.score)),
            ("Elo, 95 %", elo_text(summary.elo)),
            ("Normalized Elo, 95 %", elo_text(summary.normalized_elo)),
            ("Likelihood of superiority", likelihood_text(summary.likelihood_of_superiority)),
            ("Point difference, 95 %", estimate_text(summary.point_difference)),
            ("Pairs with 0, ½, 1, 1½, 2 points", ", ".join(map(str, summary.pairs))),
        ],
    )


def _faults(summary: Summary, records: Sequence[GameRecord], pages: Collection[int]) -> str:
    rows: list[tuple[str | int, ...]] = [(each.name, *fault_counts(each)) for each in summary.programs]
    faults = table("Faults", ("Program", *FAULT_COLUMNS), rows)
    played = {record.game: record for record in records}
    lines = "".join(
        f"<li>{_incident(line, played[each.game], pages)}</li>"
        for each, line in zip(summary.incidents, incident_texts(summary), strict=True)
    )
    return f"{faults}<ul>{lines}</ul>" if lines else faults


def _incident(line: str, record: GameRecord, pages: Collection[int]) -> str:
    """The line of an incident; its first words are a link to the game's folder, and the replay is linked at its end."""
    game, colon, rest = line.partition(":")
    replay = "" if record.replay is None else f" ({_replay_link(record, pages)})"
    return f"{_folder_link(record, game)}{colon}{escape(rest)}{replay}"


def _times(summary: Summary) -> str:
    return table(
        "Times",
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
            for each in summary.programs
        ],
    )


def _machines(summary: Summary) -> str:
    """The machines of a cluster; empty if there were none."""
    if not summary.machines:
        return ""
    warnings = "".join(f"<p>{escape(line)}.</p>" for line in machine_warnings(summary))
    return table("Machines", MACHINE_COLUMNS, machine_rows(summary)) + warnings


def _games(records: Sequence[GameRecord], pages: Collection[int]) -> str:
    head = ("Game", "Start", "First", "Result", "Verdict", "Points", "Moves", "Time", "Replay")
    lines = [f'<details><summary>All {len(records)} games</summary><div class="wide"><table><thead><tr>']
    lines += ["".join(f"<th>{cell}</th>" for cell in head), "</tr></thead>"]
    for record in records:
        points = " : ".join(NO_VALUE if each is None else str(each) for each in record.points)
        verdict = record.verdict if record.verdict == Verdict.REGULAR else f"{record.verdict}: {record.reason}"
        replay = _replay_link(record, pages)
        cells = [
            f"<td>{_folder_link(record, str(record.game))}</td>",
            f'<td class="text">{escape(record.start or NO_VALUE)}</td>',
            f'<td class="text">{escape(record.names[record.seats[0]])}</td>',
            f'<td class="text">{escape(result_text(record))}</td>',
            f'<td class="text">{escape(verdict)}</td>',
            f"<td>{points}</td><td>{record.plies}</td><td>{seconds_text(record.wall_seconds)}</td><td>{replay}</td>",
        ]
        lines.append("<tr>" + "".join(cells) + "</tr>")
    return "\n".join([*lines, "</table></div></details>"])


def _folder_link(record: GameRecord, text: str) -> str:
    return link(f"{record.folder}/", text) if record.folder else escape(text)


def _replay_link(record: GameRecord, pages: Collection[int]) -> str:
    """A link to the page that shows the replay or, without one, to the file; empty if there is no replay."""
    if record.replay is None:
        return ""
    return link(f"{record.folder}/{REPLAY_PAGE if record.game in pages else record.replay}", "replay")


# -- plots ------------------------------------------------------------------------------------------------------


def _figures(summary: Summary, records: Sequence[GameRecord]) -> list[str]:
    points = progression_of(records, _test_of(summary))
    figures = [
        ("Elo by game, with 95 % interval", _elo_plot(points)),
        ("Log-likelihood ratio by game; at a dashed line the test decides", _llr_plot(summary, points)),
        ("Points: difference by game, with mean and 95 % interval", _points_plot(summary, records)),
        ("Result by start and side", _starts_plot(summary)),
        ("Think times", _histogram_plot(summary)),
        ("Think time by answer: median over the games", _think_time_plot(summary, records)),
    ]
    return [f"<figure><figcaption>{title}</figcaption>{plot}</figure>" for title, plot in figures if plot]


def _test_of(summary: Summary) -> Sprt | None:
    test = summary.sprt
    return None if test is None else Sprt(test.elo0, test.elo1, test.alpha, test.beta, test.model)


def _elo_plot(points: Sequence[ProgressionPoint]) -> str | None:
    if len(points) < 2:
        return None
    steps = [
        CurvePoint(
            each.games, each.elo.value, each.elo.low, each.elo.high, f"After {each.games} games: {elo_text(each.elo)}"
        )
        for each in points
    ]
    # without the first intervals, which are too wide for a useful scale
    late = steps[len(steps) // 4 :]
    shown = [end for step in late for end in (step.low, step.value, step.high) if abs(end) <= _WIDEST]
    return line_chart(steps, "games", "Elo", (min(shown, default=-_WIDEST), max(shown, default=_WIDEST)))


def _llr_plot(summary: Summary, points: Sequence[ProgressionPoint]) -> str | None:
    test = summary.sprt
    ratios = [(each.games, each.log_likelihood_ratio) for each in points if each.log_likelihood_ratio is not None]
    if test is None or len(ratios) < 2:
        return None
    steps = [CurvePoint(games, ratio, ratio, ratio, f"After {games} games: {ratio:+z.2f}") for games, ratio in ratios]
    heights = [test.lower, test.upper, *(ratio for _, ratio in ratios)]
    return line_chart(steps, "games", "LLR", (min(heights), max(heights)), (test.lower, test.upper))


def _points_plot(summary: Summary, records: Sequence[GameRecord]) -> str | None:
    dots = []
    for record in records:
        own, other = record.points
        if record.verdict in PLAYED_OUT and own is not None and other is not None:
            kind = "draw" if record.winner is None else f"p{record.winner}"
            first = record.names[record.seats[0]]
            dots.append(Dot(record.game, own - other, kind, f"Game {record.game}: {own} : {other}, {first} first"))
    if not dots:
        return None
    mean = summary.point_difference
    band = None if mean is None else Band(mean.value, mean.low, mean.high)
    return scatter(dots, "game", f"{_shorten(summary.names[0], 18)} minus {_shorten(summary.names[1], 18)}", band)


def _starts_plot(summary: Summary) -> str | None:
    bars = []
    for each in summary.starts:
        full_side = f"{summary.names[0]} {'second' if each.seat else 'first'}"
        side = f"{_shorten(summary.names[0])} {'second' if each.seat else 'first'}"
        label = side if each.start is None else f"{_shorten(each.start)}, {side}"
        tooltip = f"{each.start or ''} {full_side}: won {each.wins}, drawn {each.draws}, lost {each.losses}"
        parts = (("p0", float(each.wins)), ("draw", float(each.draws)), ("p1", float(each.losses)))
        bars.append(Bar(label, parts, tooltip.strip()))
    return stacked_bars(bars, "games won, drawn and lost") if bars else None


def _shorten(text: str, columns: int = 10) -> str:
    return shortened(text, columns, "…")


def _histogram_plot(summary: Summary) -> str | None:
    histograms = [each.think_times.histogram for each in summary.programs]
    used = [index for index in range(len(HISTOGRAM_EDGES)) if any(each[index] for each in histograms)]
    if not used:
        return None
    span = range(used[0], used[-1] + 1)
    labels = [_edge_label(HISTOGRAM_EDGES[index]) for index in span]
    series = [(f"p{program}", [each[index] for index in span]) for program, each in enumerate(histograms)]
    return histogram(labels, series, "think time, up to", "answers")


def _edge_label(edge: float) -> str:
    return "more" if math.isinf(edge) else seconds_text(edge)


def _think_time_plot(summary: Summary, records: Sequence[GameRecord]) -> str | None:
    dots = []
    for program, name in enumerate(summary.names):
        games = [record.think_times[program] for record in records]
        for index in range(max(map(len, games), default=0)):
            middle = median(times[index] for times in games if len(times) > index)
            dots.append(Dot(index + 1, middle, f"p{program}", f"{name}, answer {index + 1}: {seconds_text(middle)}"))
    return scatter(dots, "answer", "seconds") if dots else None


PAGE: Final = "report.html"
REPORTS: Final = ("summary.json", "games.csv", "junit.xml", "summary.md", PAGE)
"""The names of the files, in the order in which they are written."""

_TAIL: Final = 4096  # bytes of a program's standard error in junit.xml


def render_summary(summary: Summary) -> str:
    """The text of summary.json."""
    return json.dumps(summary.to_json(), indent=2, ensure_ascii=False) + "\n"


def write_reports(
    folder: Path, summary: Summary, records: Sequence[GameRecord], faults_of: Collection[int] = BOTH
) -> tuple[Path, ...]:
    """Write all reports into the folder of a match and return their paths. Raises JournalError.

    Each file is replaced atomically. The records may come in any order. junit.xml reports the faults of the programs
    `faults_of`.
    """
    games = sorted(records, key=lambda record: record.game)
    texts = (
        render_summary(summary),
        render_csv(games, summary.season),
        render_junit(summary, games, _errors(folder, games), faults_of),
        render_markdown(summary),
        render_html(summary, games, games_with_page(folder, games)),
    )
    paths = tuple(folder / name for name in REPORTS)
    for path, text in zip(paths, texts, strict=True):
        write_text(path, text)
    return paths


def games_with_page(folder: Path, games: Iterable[GameRecord]) -> frozenset[int]:
    """The games of the match in `folder` whose replay has a page beside it."""
    return frozenset(game.game for game in games if game.folder and (folder / game.folder / REPLAY_PAGE).is_file())


def _errors(folder: Path, games: Iterable[GameRecord]) -> dict[int, str]:
    """The end of the standard error of the program at fault, or of both if neither is, by number of the game."""
    found = {}
    for game in games:
        if game.offender is None and game.is_counted:
            continue
        parts = []
        for program in (0, 1) if game.offender is None else (game.offender,):
            lines = read_tail(folder / game.folder / f"program{program + 1}.stderr.log", _TAIL)
            if any(lines):
                parts.append(f"{game.names[program]}:")
                parts += lines
        found[game.game] = "\n".join(parts).rstrip("\n")
    return found
