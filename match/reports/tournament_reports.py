"""The reports of a tournament: table.md and report.html for people, table.json and tournament.json for programs.

All reports are pure functions of the tournament's progress, whether it has ended or not, and agree with each other.
Links lead into the folders of the matches.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from types import MappingProxyType
from typing import Any, Final, TypedDict, cast

from spielleiter.common.text import count_text
from spielleiter.match.game_folder import REPLAY_PAGE
from spielleiter.match.pairings import (
    Encounter,
    Reason,
    ScheduledMatch,
    absent_programs,
    knock_out_standings,
    score_of,
    swiss_standings,
)
from spielleiter.match.ratings import RatedProgram, rate_programs
from spielleiter.match.records import GameRecord
from spielleiter.match.reports.match_reports import games_with_page
from spielleiter.match.reports.plots import bracket_plot, ratings_plot
from spielleiter.match.reports.rendering import LinkedText, ReportTable, render, write_text
from spielleiter.match.reports.texts import NO_VALUE, e_value_text, elo_text, ratio_text
from spielleiter.match.statistics import Sprt, better_program_by_e_value, count_pairs, estimate_elo, log_e_value
from spielleiter.match.summary import count_attempts
from spielleiter.match.tournament import TournamentKind
from spielleiter.match.tournament_progress import TournamentProgress
from spielleiter.match.verdict import Attempt, Verdict
from spielleiter.programs.this_platform import PLATFORM

SCHEMA: Final = "spielleiter-tournament-1"

ENOUGH_GAMES: Final = 30
"""With fewer counted games of a program, points come before ratings."""

TOURNAMENT_REPORTS: Final = ("table.md", "table.json", "tournament.json", "report.html")
"""The names of the files."""

_TEXTS: Final = frozenset(
    {"program", "against", "round", "match", "winner", "by", "reached", "SPRT", "significance", "it", "why"}
)
"""The heads of columns with words; all other columns are aligned like numbers."""
_KIND_TEXTS: Final = {
    TournamentKind.ROUND_ROBIN: "round robin",
    TournamentKind.GAUNTLET: "gauntlet",
    TournamentKind.KNOCK_OUT: "knock-out",
    TournamentKind.SWISS: "Swiss system",
}


def write_tournament(folder: Path, progress: TournamentProgress) -> None:
    """Write all reports into the tournament's folder; each file is replaced atomically. Raises JournalError."""
    pages = {match.folder: games_with_page(folder / match.folder, records) for match, records in _all_matches(progress)}
    texts = (
        render_table_md(progress),
        render_table_json(progress),
        render_tournament_json(progress),
        render_report_html(progress, PLATFORM.gaps, pages),
    )
    for name, text in zip(TOURNAMENT_REPORTS, texts, strict=True):
        write_text(folder / name, text)


def title_of(progress: TournamentProgress) -> str:
    """For example ``swc_2027_blokus (blokus-2027): knock-out of 5 programs, 4 games a match, seed 0``."""
    tournament = progress.tournament
    kind = _KIND_TEXTS[tournament.kind]
    if tournament.kind is TournamentKind.SWISS:
        kind += f", {count_text(tournament.number_of_rounds, 'round')},"
    if tournament.kind is TournamentKind.GAUNTLET and tournament.tested > 1:
        kind += f" of {tournament.tested} tested programs among"
    else:
        kind += " of"
    return (
        f"{tournament.season}: {kind} {len(tournament.entrants)} programs, "
        f"{count_text(tournament.games, 'game')} a match, seed {tournament.seed}"
    )


def _names(progress: TournamentProgress) -> list[str]:
    return [entrant.name for entrant in progress.tournament.entrants]


def _all_matches(progress: TournamentProgress) -> list[tuple[ScheduledMatch, Sequence[GameRecord]]]:
    return [match for encounter in progress.encounters for match in encounter.matches]


# -- the numbers ----------------------------------------------------------------------------------------------------


def ratings_of(progress: TournamentProgress) -> tuple[RatedProgram, ...]:
    """The ratings after the finished games, best first."""
    names, anchor = _names(progress), progress.tournament.anchor
    return rate_programs(names, progress.games_by_pairing, None if anchor is None else names.index(anchor))


def _ranked_by_points(
    progress: TournamentProgress, ratings: Sequence[RatedProgram]
) -> list[tuple[int, float | None, RatedProgram]]:
    """The programs with a counted game, by match points as the contest counts them: 2 for a win, 1 for a draw.

    Equal points are ordered by the mean of the points that the rules of the game give, which is None if there are none.
    """
    names, given = _names(progress), defaultdict[str, list[int]](list)
    for pairing, records in progress.games_by_pairing.items():
        for record in records:
            for index, points in zip(pairing, record.points, strict=True):
                if record.is_counted and points is not None:
                    given[names[index]].append(points)
    lines = [
        (2 * line.results.wins + line.results.draws, fmean(given[line.name]) if given[line.name] else None, line)
        for line in ratings
        if line.results.games
    ]
    return sorted(lines, key=lambda line: (line[0], line[1] or 0.0), reverse=True)


def _tried(progress: TournamentProgress) -> dict[str, Counter[str]]:
    """What each program tried although it is not allowed, and how often; programs that tried nothing are left out."""
    names, total = _names(progress), dict[str, Counter[str]]()
    for encounter in progress.encounters:
        for _, records in encounter.matches:
            for program, index in enumerate(encounter.pairing):
                if tried := count_attempts(records, program):
                    total.setdefault(names[index], Counter()).update(tried)
    return dict(sorted(total.items()))


def _foreign_connections(progress: TournamentProgress) -> int:
    """The refused connections to the ports of programs that no program was seen to have made."""
    return sum(record.foreign_connections for _, records in _all_matches(progress) for record in records)


def _why_fewer(progress: TournamentProgress, encounter: Encounter) -> str:
    """Why fewer games of an encounter count than the tournament has for each; empty if that is not so."""
    tournament, records = progress.tournament, encounter.matches[0][1]
    if sum(record.is_counted for record in records) >= tournament.games:
        return ""
    void = Counter(record.verdict for record in records if not record.is_counted)
    reasons = [f"{count} {verdict}" for verdict, count in sorted(void.items())]
    if len(records) < tournament.games:
        absent = () if tournament.keeps_playing else absent_programs(records)
        names = [_names(progress)[encounter.pairing[program]] for program in absent]
        if names:
            reasons.append(f"{' and '.join(names)} cannot play")
        else:
            reasons.append("not over yet" if encounter.reason is None else "decided by the test")
    return ", ".join(reasons)


# -- the tables of table.md and report.html -------------------------------------------------------------------------


def _tables(progress: TournamentProgress, ratings: Sequence[RatedProgram], *, is_short: bool) -> list[ReportTable]:
    """The tables, the most important one first; `is_short` omits the matches of a round robin without a test."""
    tournament = progress.tournament
    points, rated = _points(progress, ratings), _ratings(ratings, tournament.anchor)
    # from few games, an interval is as wide as the field, and pupils compare what the contest would count
    are_few = any(line.results.games < ENOUGH_GAMES for line in ratings)
    has_test = tournament.sprt is not None or tournament.significance is not None
    is_short_of_games = any(_why_fewer(progress, each) for each in progress.encounters if each.matches)
    has_matches = not is_short or tournament.kind is not TournamentKind.ROUND_ROBIN or has_test or is_short_of_games
    head_to_head = []  # the results of each program against each opponent: won, drawn, lost
    for line in ratings:
        met = dict(line.opponents)
        tallies = [met.get(other.name) for other in ratings]
        cells = [f"+{tally.wins} ={tally.draws} -{tally.losses}" if tally else NO_VALUE for tally in tallies]
        head_to_head.append((line.name, *cells))
    attempts = [
        (name, attempt, count) for name, tried in _tried(progress).items() for attempt, count in sorted(tried.items())
    ]
    if foreign := _foreign_connections(progress):
        attempts.append(("(not known which)", Attempt.PORT, foreign))
    tables = [
        *([_standings(progress)] if tournament.kind.has_rounds else []),
        *([points, rated] if are_few else [rated, points]),
        _table("Head to head", ("against", *(line.name for line in ratings)), head_to_head),
        *([_matches(progress)] if has_matches else []),
        _table("What was tried and refused", ("program", "it", "times"), attempts),
        _table(
            "Not counted",
            ("match", "games", "why"),
            [
                (LinkedText(" – ".join(each.names), f"{each.folder}/report.html"), each.games, each.reason)
                for each in progress.left_out
            ],
        ),
    ]
    return [table for table in tables if table.rows]


def _table(title: str, head: Sequence[str], rows: Sequence[tuple[str | int | LinkedText, ...]]) -> ReportTable:
    texts = frozenset(index for index, name in enumerate(head) if name in _TEXTS)
    return ReportTable(title, tuple(head), tuple(rows), texts)


def _standings(progress: TournamentProgress) -> ReportTable:
    names = _names(progress)
    seeds = {program: seed for seed, program in enumerate(progress.seeding, 1)}
    if progress.tournament.kind is TournamentKind.SWISS:
        return _table(
            "Standings",
            ("", "program", "points", "Buchholz", "won", "drawn", "lost", "bye", "share", "seeded"),
            [
                (
                    place,
                    names[line.program],
                    f"{line.points:g}",
                    f"{line.buchholz:g}",
                    line.wins,
                    line.draws,
                    line.losses,
                    line.byes,
                    f"{100 * line.share:.1f} %",
                    seeds[line.program],
                )
                for place, line in enumerate(swiss_standings(progress.seeding, progress.rounds), 1)
            ],
        )
    return _table(
        "Standings",
        ("", "program", "reached", "seeded"),
        [
            (placing.text, names[placing.program], placing.until, seeds[placing.program])
            for placing in knock_out_standings(progress.seeding, progress.rounds)
        ],
    )


def _ratings(ratings: Sequence[RatedProgram], anchor: str | None) -> ReportTable:
    return _table(
        "Ratings" if anchor is None else f"Ratings: difference from {anchor}",
        ("", "program", "rating", "95 %", "games", "won", "drawn", "lost", "faults"),
        [
            (
                rank,
                line.name,
                f"{line.rating.value:+z.0f}",
                f"[{line.rating.low:+z.0f}, {line.rating.high:+z.0f}]",
                line.results.games,
                line.results.wins,
                line.results.draws,
                line.results.losses,
                line.faults,
            )
            for rank, line in enumerate(ratings, 1)
        ],
    )


def _points(progress: TournamentProgress, ratings: Sequence[RatedProgram]) -> ReportTable:
    return _table(
        "Points",
        ("", "program", "points", "of", "won", "drawn", "lost", "points in a game, mean"),
        [
            (
                rank,
                line.name,
                points,
                2 * line.results.games,
                line.results.wins,
                line.results.draws,
                line.results.losses,
                NO_VALUE if mean is None else f"{mean:.1f}",
            )
            for rank, (points, mean, line) in enumerate(_ranked_by_points(progress, ratings), 1)
        ],
    )


def _matches(progress: TournamentProgress) -> ReportTable:
    """All matches with their scores; further columns depend on the kind of tournament and its tests."""
    tournament, names = progress.tournament, _names(progress)
    has_rounds, test = tournament.kind.has_rounds, None if tournament.sprt is None else Sprt.parse(tournament.sprt)
    head = ("round",) * has_rounds + ("match", "games", "score", "Elo, 95 %")
    head += ("winner", "by") * has_rounds + ("SPRT",) * (test is not None)
    head += ("significance",) * (tournament.significance is not None)
    rows: list[tuple[str | int | LinkedText, ...]] = []
    for each in progress.rounds:
        for encounter in each.encounters:
            first, second = (names[index] for index in encounter.pairing)
            row: list[str | int | LinkedText] = [each.title] * has_rounds
            if not encounter.matches:
                rows.append((*row, f"{first} – {second}", *(NO_VALUE for _ in head[len(row) + 1 :])))
                continue
            scheduled, records = encounter.matches[0]
            pairs = count_pairs(records)
            counted, why = sum(record.is_counted for record in records), _why_fewer(progress, encounter)
            score, *play_offs = ("{:g} : {:g}".format(*score_of(records)) for _, records in encounter.matches)
            row += [
                LinkedText(f"{first} – {second}", f"{scheduled.folder}/report.html"),
                f"{counted} of {tournament.games}: {why}" if why else str(counted),
                score + "".join(f" ({each})" for each in play_offs),
                elo_text(estimate_elo(pairs)),
            ]
            if has_rounds:
                if encounter.reason is None:
                    row += "still open", NO_VALUE
                elif encounter.winner is not None:
                    row += names[encounter.winner], encounter.reason.value
                else:
                    is_absence = encounter.reason is Reason.ABSENCE
                    row += NO_VALUE, "neither can play" if is_absence else encounter.reason.value
            if test is not None:
                decision = test.decide(pairs)
                state = "undecided" if decision is None else f"{decision.value} accepted"
                row.append(f"{ratio_text(test.log_likelihood_ratio(pairs), test.lower, test.upper)}: {state}")
            if (risk := tournament.significance) is not None:
                better = better_program_by_e_value(pairs, risk)
                row.append(e_value_text(log_e_value(pairs), risk, (first, second), better))
            rows.append(tuple(row))
        rows += [(each.title, names[program], "bye", *(NO_VALUE for _ in head[3:])) for program in each.byes]
    return _table("Matches", head, rows)


# -- the files ------------------------------------------------------------------------------------------------------


def render_table_md(progress: TournamentProgress) -> str:
    """The text of table.md, in GitHub's Markdown."""
    tables = _tables(progress, ratings_of(progress), is_short=True)
    text = render("match/reports/templates/table.md.j2", title=title_of(progress), tables=tables)
    return text.rstrip("\n") + "\n"


def render_report_html(
    progress: TournamentProgress,
    platform_gaps: Sequence[str] = (),
    pages: Mapping[str, Collection[int]] = MappingProxyType({}),
) -> str:
    """The text of report.html.

    `platform_gaps` are what the operating system cannot do. `pages` are the games whose replay has a page beside it, by
    the folder of the match.
    """
    ratings, anchor = ratings_of(progress), progress.tournament.anchor
    tables: list[tuple[ReportTable, str, str | None]] = []
    for table in _tables(progress, ratings, is_short=False):
        if table.title == "Standings" and progress.tournament.kind is TournamentKind.KNOCK_OUT:
            tables.append((table, "Bracket", bracket_plot(progress)))
        elif table.title.startswith("Ratings"):
            tables.append((table, "Rating in Elo, with 95 % interval", ratings_plot(ratings, anchor)))
        else:
            tables.append((table, "", None))
    replays = []
    for match, records in _all_matches(progress):
        games = [
            LinkedText(
                f"game {record.game}" + ("" if record.verdict == Verdict.REGULAR else f" ({record.verdict})"),
                f"{match.folder}/{record.folder}/{REPLAY_PAGE}",
            )
            for record in sorted(records, key=lambda record: record.game)
            if record.game in pages.get(match.folder, ())
        ]
        if games:
            replays.append((progress.title_of(match), games))
    return render(
        "match/reports/templates/tournament.html.j2",
        page_title=title_of(progress),
        tables=tables,
        replays=replays,
        gaps=platform_gaps,
    )


# -- the files for programs -------------------------------------------------------------------------------------------


class RatingEntry(TypedDict):
    """A program in `table.json`, which is a list of them, the best rating first."""

    name: str
    rating: dict[str, float]
    """`value`, and its 95 % interval from `low` to `high`."""
    games: int
    """The games that count."""
    wins: int
    draws: int
    losses: int
    faults: int
    """Games in which it was at fault."""
    opponents: dict[str, dict[str, int]]
    """By name of the opponent: `wins`, `draws` and `losses` against it."""
    attempts: Mapping[str, int]
    """What it tried although it is not allowed, in words, and how often."""


class StandingEntry(TypedDict, total=False):
    """A program in the standings. `until` is there in a knock-out, `points` and what follows in a Swiss tournament."""

    name: str
    first: int
    """The best of its places, from 1."""
    last: int
    """The worst of them; it shares them with programs that came as far."""
    until: str
    """The title of the round it lost in, `third place`, `champion`, or `still in`."""
    points: float
    """For its encounters and byes: 1 for a win, ½ for a draw."""
    buchholz: float
    """The sum of its opponents' points."""
    share: float
    """Its share of the points in all of its games."""


class PointsEntry(TypedDict):
    """A program in the table of points."""

    name: str
    points: int
    """2 for a won game, 1 for a drawn one."""
    games: int
    wins: int
    draws: int
    losses: int


class EncounterEntry(TypedDict):
    """Two programs that meet in a round."""

    programs: list[str]
    """Two names."""
    folders: list[str]
    """Those of the match and its play-offs."""
    score: list[float] | None
    """That of the match, without play-offs; None while it is open."""
    winner: str | None
    """The name; None: drawn, or still open."""
    reason: str | None
    """What decided it: `score`, `play-off`, `points`, `seeding`, `the other cannot play`, or `drawn`; None: open."""


class RoundEntry(TypedDict):
    """A round."""

    number: int
    title: str
    byes: list[str]
    """The names of the programs that do not play."""
    matches: list[EncounterEntry]


class LeftOutEntry(TypedDict):
    """A match in the folder that does not count."""

    programs: list[str]
    """Two names."""
    folder: str
    games: int
    """Finished games."""
    reason: str


class TournamentFile(TypedDict):
    """The content of `tournament.json`."""

    schema: str
    """`spielleiter-tournament-1`; another number means that keys have changed their meaning."""
    season: str
    """GameType and edition."""
    kind: str
    seed: int
    anchor: str | None
    """The program whose rating is 0."""
    programs: list[str]
    """The names in the order of the tournament's file."""
    seeding: list[str]
    """The names, the one seeded highest first; in a round robin or a gauntlet in the order of the file."""
    standings: list[StandingEntry] | None
    """The best first; None in a round robin or a gauntlet."""
    table: list[PointsEntry]
    """The programs with a counted game, most points first."""
    attempts: Mapping[str, Mapping[str, int]]
    """By name: what a program tried although it is not allowed, in words, and how often."""
    foreign_connections: int
    """Connections to the programs' ports that were refused, since no program was seen to have made them."""
    rounds: list[RoundEntry]
    left_out: list[LeftOutEntry]


def render_table_json(progress: TournamentProgress) -> str:
    """The text of table.json."""
    tried = _tried(progress)
    entries = [
        cast("RatingEntry", {**line.to_json(), "attempts": tried.get(line.name, {})}) for line in ratings_of(progress)
    ]
    return _json(entries)


def render_tournament_json(progress: TournamentProgress) -> str:
    """The text of tournament.json."""
    tournament, names = progress.tournament, _names(progress)
    content: TournamentFile = {
        "schema": SCHEMA,
        "season": tournament.season,
        "kind": tournament.kind.value,
        "seed": tournament.seed,
        "anchor": tournament.anchor,
        "programs": names,
        "seeding": [names[program] for program in progress.seeding],
        "standings": _standings_json(progress),
        "table": [
            {
                "name": line.name,
                "points": points,
                "games": line.results.games,
                "wins": line.results.wins,
                "draws": line.results.draws,
                "losses": line.results.losses,
            }
            for points, _, line in _ranked_by_points(progress, ratings_of(progress))
        ],
        "attempts": _tried(progress),
        "foreign_connections": _foreign_connections(progress),
        "rounds": [
            {
                "number": each.number,
                "title": each.title,
                "byes": [names[program] for program in each.byes],
                "matches": [_encounter_json(names, encounter) for encounter in each.encounters],
            }
            for each in progress.rounds
        ],
        "left_out": [
            {"programs": list(each.names), "folder": each.folder, "games": each.games, "reason": each.reason}
            for each in progress.left_out
        ],
    }
    return _json(content)


def _standings_json(progress: TournamentProgress) -> list[StandingEntry] | None:
    names = _names(progress)
    if progress.tournament.kind is TournamentKind.SWISS:
        return [
            {
                "name": names[line.program],
                "first": place,
                "last": place,
                "points": line.points,
                "buchholz": line.buchholz,
                "share": line.share,
            }
            for place, line in enumerate(swiss_standings(progress.seeding, progress.rounds), 1)
        ]
    if progress.tournament.kind is TournamentKind.KNOCK_OUT:
        return [
            {"name": names[placing.program], "first": placing.first, "last": placing.last, "until": placing.until}
            for placing in knock_out_standings(progress.seeding, progress.rounds)
        ]
    return None


def _encounter_json(names: Sequence[str], encounter: Encounter) -> EncounterEntry:
    reason, winner = encounter.reason, encounter.winner
    return {
        "programs": [names[index] for index in encounter.pairing],
        "folders": [match.folder for match, _ in encounter.matches],
        "score": None if reason is None else list(encounter.score),
        "winner": None if winner is None else names[winner],
        "reason": None if reason is None else reason.value,
    }


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
