"""The report of a package's check as a page for a browser; its template is contest/templates/package.html.j2."""

from __future__ import annotations

from typing import Final

from spielleiter.common.text import count_text
from spielleiter.contest.package_faults import logs_of
from spielleiter.contest.package_report import PackageReport, State
from spielleiter.match.reports.rendering import render
from spielleiter.programs.packages.faults import Level

_COLOURS: Final = {
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
    main = f"Main file {report.main}, " if report.main else ""
    findings = [
        [
            (each, f"{folder}/{logs_of(each)}" if folder and logs_of(each) else "")
            for each in result.findings
            if each.level is not Level.GREEN
        ]
        for result in report.results
    ]
    games = [
        (
            game,
            ":".join("–" if each is None else str(each) for each in game.points),
            f"{game.slowest:.3f}",
            f"{folder}/{game.folder}" if folder and game.folder else "",
        )
        for game in report.games
    ]
    return render(
        "contest/templates/package.html.j2",
        page_title=f"{report.package}: {report.verdict}",
        report=report,
        verdict=_VERDICTS[report.verdict],
        facts=f"{main}{report.season}, checked in {report.seconds:.0f} s.",
        results=list(zip(report.results, findings, strict=True)),
        colours=_COLOURS,
        games=games,
        caption=count_text(len(games), "game"),
    )
