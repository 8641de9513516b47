"""The report of a package's check as a page for a browser.

Invariants: the page is a single file without a script, and fetches nothing. Whatever a package contains stays text. A
state is always written as a word, never shown by its colour alone. Links lead into the folder of the check.
"""

from __future__ import annotations

from typing import Final

from spielleiter.common.text import count_text
from spielleiter.contest.package_faults import logs_of
from spielleiter.contest.package_report import ConditionResult, PackageReport, PlayedGame, State
from spielleiter.match.reports.rendering import Markup, link, page, table
from spielleiter.match.reports.rendering import escape_html as escape
from spielleiter.programs.packages.faults import Finding, Level

_CLASSES: Final = {
    State.GREEN: "green",
    State.YELLOW: "yellow",
    State.RED: "red",
    State.UNDECIDED: "grey",
    State.NOT_CHECKED: "grey",
}
_VERDICTS: Final = {
    "fit": "This program is fit for the contest, as far as that can be checked here.",
    "not fit": "This program is not fit for the contest yet. Fix what is red below, and check again.",
    "undecided": "This machine was too busy to decide. Check again when it has less to do.",
}


def render_page(report: PackageReport, folder: str = "") -> str:
    """Return the text of the page. `folder` is that of the check, relative to the page; empty: there are no links."""
    rows = [_row(result, folder) for result in report.results]
    body = [
        f"<h1>{escape(report.package)}: {report.verdict}</h1>",
        f"<p>{_VERDICTS[report.verdict]}</p>",
        f"<p>{escape(_facts(report))}</p>",
        table("Conditions of the contest", ("Condition", "State", "Result"), rows, {0, 1, 2}),
        *_sandbox(report),
        *_games(report, folder),
    ]
    return page(f"{report.package}: {report.verdict}", body)


def _facts(report: PackageReport) -> str:
    main = f"Main file {report.main}, " if report.main else ""
    return f"{main}{report.season}, checked in {report.seconds:.0f} s."


def _row(result: ConditionResult, folder: str) -> tuple[str, Markup, Markup]:
    badge = Markup(f'<span class="state {_CLASSES[result.state]}">{result.state.value}</span>')
    items = "".join(
        f"<li>{escape(each.text)} <code>{escape(each.code)}</code>{_logs(each, folder)}</li>"
        for each in result.findings
        if each.level is not Level.GREEN
    )
    findings = f"<ul>{items}</ul>" if items else ""
    demand = f'<p class="demand">{escape(result.condition.demand)}</p>'
    return result.condition.title, badge, Markup(f"{escape(result.text)}{findings}{demand}")


def _logs(finding: Finding, folder: str) -> str:
    logs = logs_of(finding)
    return f" ({link(f'{folder}/{logs}', 'logs')})" if folder and logs else ""


def _sandbox(report: PackageReport) -> list[str]:
    if report.sandbox is None:
        return []
    lines = [
        "<h2>How it was run</h2>",
        f"<p>Sandbox: {escape(report.sandbox.name)}.</p>",
        _list("Kept as in the contest:", report.sandbox.kept),
        _list("Could not be kept here:", report.sandbox.gaps),
    ]
    if report.speed is not None:
        lines.append(f"<p>Speed: {escape(report.speed.text)}.</p>")
    return lines


def _list(title: str, items: tuple[str, ...]) -> str:
    if not items:
        return ""
    return f"<p>{title}</p><ul>" + "".join(f"<li>{escape(each)}</li>" for each in items) + "</ul>"


def _games(report: PackageReport, folder: str) -> list[str]:
    if not report.games:
        return []
    rows = [_game_row(game, folder) for game in report.games]
    head = ("Game", "Result", "Points", "Moves", "Slowest move", "Files")
    return [table(count_text(len(rows), "game"), head, rows, {0, 1, 5})]


def _game_row(game: PlayedGame, folder: str) -> tuple[str | int, ...]:
    result = f"{game.verdict}: {game.reason}" if game.reason else game.verdict
    points = ":".join("–" if each is None else str(each) for each in game.points)
    files = Markup("")
    if folder and game.folder:
        place = f"{folder}/{game.folder}"
        replay = f", {link(f'{place}/{game.replay}', 'replay')}" if game.replay else ""
        files = Markup(f"{link(place, 'logs')}{replay}")
    return game.title, result, points, game.moves, f"{game.slowest:.3f} s", files
