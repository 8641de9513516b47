"""[reports.tournament]
The reports of a tournament: table.md and report.html for people, table.json and tournament.json for programs.

Invariants: all reports are pure functions of the tournament's progress, whether it has ended or not, and agree with
each other. The names of programs are escaped for the format of the report. Links lead into the folders of the matches.

"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from types import MappingProxyType
from typing import Any, Final

from spielleiter.common.text import count_text
from spielleiter.match.game_folder import REPLAY_PAGE
from spielleiter.match.pairings import Outcome, Reason, absent_programs, knockout_standings, score_of, swiss_standings
from spielleiter.match.ratings import RatedProgram, rate_programs
from spielleiter.match.records import GameRecord
from spielleiter.match.reports.match_reports import games_with_page
from spielleiter.match.reports.plots import bracket_plot, ratings_plot
from spielleiter.match.reports.rendering import (
    escape_html,
    escape_markdown,
    link,
    page,
    platform_gaps_list,
    table,
    write_text,
)
from spielleiter.match.reports.texts import NO_VALUE, elo_text, evidence_text, ratio_text
from spielleiter.match.statistics import Sprt, better_program_by_evidence, count_pairs, estimate_elo, log_evidence
from spielleiter.match.summary import count_attempts
from spielleiter.match.tournament_file import Kind
from spielleiter.match.tournament_progress import PlayedEncounter, ScheduledMatch, TournamentProgress
from spielleiter.match.verdict import Attempt, Verdict
from spielleiter.programs.platforms import PLATFORM

SCHEMA: Final = "spielleiter-tournament-1"

ENOUGH_GAMES: Final = 30
"""With fewer counted games of a program, points come before ratings."""

TOURNAMENT_REPORTS: Final = ("table.md", "table.json", "tournament.json", "report.html")
"""The names of the files."""

_TEXTS: Final = frozenset(
    {"program", "against", "round", "match", "winner", "by", "reached", "SPRT", "significance", "it", "why"}
)
_RATINGS: Final = "Ratings"
_KINDS: Final = {
    Kind.ROUND_ROBIN: "round robin",
    Kind.GAUNTLET: "gauntlet",
    Kind.KNOCK_OUT: "knock-out",
    Kind.SWISS: "Swiss system",
}


@dataclass(frozen=True, slots=True)
class Linked:
    """A cell with a link to a file in the tournament's folder, in reports that can have links."""

    text: str
    path: str


@dataclass(frozen=True, slots=True)
class Section:
    """A table and its title."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str | int | Linked, ...], ...]

    @property
    def texts(self) -> frozenset[int]:
        """The indices of columns with words; all other columns are aligned like numbers."""
        return frozenset(index for index, name in enumerate(self.head) if name in _TEXTS)


def title_of(progress: TournamentProgress) -> str:
    """For example ``swc_2027_blokus (blokus-2027): knock-out of 5 programs, 4 games a match, seed 0``."""
    tournament = progress.tournament
    options = tournament.kind_options
    kind = _KINDS[tournament.kind]
    if tournament.kind is Kind.SWISS:
        kind += f", {count_text(options.rounds_of(len(tournament.entrants)), 'round')},"
    if tournament.kind is Kind.GAUNTLET and options.tested > 1:
        kind += f" of {options.tested} tested programs among"
    else:
        kind += " of"
    return (
        f"{tournament.season}: {kind} {len(tournament.entrants)} programs, "
        f"{count_text(tournament.games, 'game')} a match, seed {tournament.seed}"
    )


# -- tables of all reports --------------------------------------------------------------------------------


def _names(progress: TournamentProgress) -> list[str]:
    return [entrant.name for entrant in progress.tournament.entrants]


def ratings_of(progress: TournamentProgress) -> tuple[RatedProgram, ...]:
    """The ratings after the finished games, best first."""
    names, anchor = _names(progress), progress.tournament.anchor
    return rate_programs(names, progress.games_by_pairing, None if anchor is None else names.index(anchor))


def sections(progress: TournamentProgress, ratings: Sequence[RatedProgram], *, is_short: bool) -> list[Section]:
    """The tables, the most important one first; `is_short` omits the matches of a round robin without a test."""
    tournament = progress.tournament
    has_test = tournament.sprt is not None or tournament.significance is not None
    is_short_of_games = any(_why_fewer(progress, each) for each in progress.played if each.matches)
    has_matches = not is_short or tournament.kind is not Kind.ROUND_ROBIN or has_test or is_short_of_games
    # from few games, an interval is as wide as the field, and pupils compare what the contest would count
    points, rated = _points(progress, ratings), _ratings(ratings, tournament.anchor)
    are_few = any(line.results.games < ENOUGH_GAMES for line in ratings)
    found = [
        *([_standings(progress)] if progress.tournament.kind.has_rounds else []),
        *([points, rated] if are_few else [rated, points]),
        _head_to_head(ratings),
        *([_matches(progress)] if has_matches else []),
        _attempts(progress),
        _left_out(progress),
    ]
    return [section for section in found if section.rows]


def _standings(progress: TournamentProgress) -> Section:
    names = _names(progress)
    seeds = {program: seed for seed, program in enumerate(progress.seeding, 1)}
    if progress.tournament.kind is Kind.SWISS:
        return Section(
            "Standings",
            ("", "program", "points", "Buchholz", "won", "drawn", "lost", "bye", "share", "seeded"),
            tuple(
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
                for place, line in enumerate(swiss_standings(progress.seeding, progress.rounds, progress.outcomes), 1)
            ),
        )
    return Section(
        "Standings",
        ("", "program", "reached", "seeded"),
        tuple(
            (place.text, names[place.program], place.until, seeds[place.program])
            for place in knockout_standings(progress.seeding, progress.rounds, progress.outcomes)
        ),
    )


def _ratings(ratings: Sequence[RatedProgram], anchor: str | None) -> Section:
    return Section(
        _RATINGS if anchor is None else f"{_RATINGS}: difference from {anchor}",
        ("", "program", "rating", "95 %", "games", "won", "drawn", "lost", "faults"),
        tuple(
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
        ),
    )


def _lines_by_points(
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


def _points(progress: TournamentProgress, ratings: Sequence[RatedProgram]) -> Section:
    return Section(
        "Points",
        ("", "program", "points", "of", "won", "drawn", "lost", "points in a game, mean"),
        tuple(
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
            for rank, (points, mean, line) in enumerate(_lines_by_points(progress, ratings), 1)
        ),
    )


def _head_to_head(ratings: Sequence[RatedProgram]) -> Section:
    """The results of each program against each opponent: won, drawn, lost."""
    rows = []
    for line in ratings:
        met = dict(line.opponents)
        cells = (met.get(other.name) for other in ratings)
        rows.append(
            (line.name, *(f"+{tally.wins} ={tally.draws} -{tally.losses}" if tally else NO_VALUE for tally in cells))
        )
    return Section("Head to head", ("against", *(line.name for line in ratings)), tuple(rows))


def _matches(progress: TournamentProgress) -> Section:
    """All matches with their scores; further columns depend on the kind of tournament and its tests."""
    tournament, names = progress.tournament, _names(progress)
    has_rounds, test = tournament.kind.has_rounds, None if tournament.sprt is None else Sprt.parse(tournament.sprt)
    played = {each.encounter.number: each for each in progress.played}
    head = ("round",) * has_rounds + ("match", "games", "score", "Elo, 95 %")
    head += ("winner", "by") * has_rounds + ("SPRT",) * (test is not None)
    head += ("significance",) * (tournament.significance is not None)
    rows: list[tuple[str | int | Linked, ...]] = []
    for each in progress.rounds:
        for encounter in each.encounters:
            match = played.get(encounter.number)
            first, second = (names[index] for index in encounter.pairing)
            row: tuple[str | int | Linked, ...] = (each.title,) * has_rounds
            if match is None or not match.matches:
                rows.append((*row, f"{first} – {second}", *(NO_VALUE for _ in head[len(row) + 1 :])))
                continue
            pairs = count_pairs(match.matches[0][1])
            row += (Linked(f"{first} – {second}", f"{match.matches[0][0].folder}/report.html"),)
            row += (_games(progress, match), _score(match))
            row += (elo_text(estimate_elo(pairs)),)
            if has_rounds:
                row += _decided(match.outcome, names)
            if test is not None:
                decision = test.decide(pairs)
                state = "undecided" if decision is None else f"{decision.value} accepted"
                row += (f"{ratio_text(test.log_likelihood_ratio(pairs), test.lower, test.upper)}: {state}",)
            if (risk := tournament.significance) is not None:
                better = better_program_by_evidence(pairs, risk)
                row += (evidence_text(log_evidence(pairs), risk, (first, second), better),)
            rows.append(row)
        rows += [(each.title, names[program], "bye", *(NO_VALUE for _ in head[3:])) for program in each.byes]
    return Section("Matches", head, tuple(rows))


def _games(progress: TournamentProgress, match: PlayedEncounter) -> str:
    """For example ``20``, or ``12 of 20: 8 overloaded machine``; without the games of play-offs."""
    counted = sum(record.is_counted for record in match.matches[0][1])
    why = _why_fewer(progress, match)
    return f"{counted} of {progress.tournament.games}: {why}" if why else str(counted)


def _why_fewer(progress: TournamentProgress, match: PlayedEncounter) -> str:
    """Why fewer games of an encounter count than the tournament has for each; empty if that is not so."""
    tournament, records = progress.tournament, match.matches[0][1]
    if sum(record.is_counted for record in records) >= tournament.games:
        return ""
    void = Counter(record.verdict for record in records if not record.is_counted)
    reasons = [f"{count} {verdict}" for verdict, count in sorted(void.items())]
    if len(records) < tournament.games:
        absent = () if tournament.keeps_playing else absent_programs(records)
        names = [_names(progress)[match.encounter.pairing[program]] for program in absent]
        if names:
            reasons.append(f"{' and '.join(names)} cannot play")
        else:
            reasons.append("not over yet" if match.outcome is None else "decided by the test")
    return ", ".join(reasons)


def _attempts(progress: TournamentProgress) -> Section:
    """What programs tried although it is not allowed; it was refused."""
    rows: list[tuple[str, str, int]] = [
        (name, attempt, count) for name, tried in _tried(progress).items() for attempt, count in sorted(tried.items())
    ]
    if foreign := _foreign_connections(progress):
        rows.append(("(not known which)", Attempt.PORT, foreign))
    return Section("What was tried and refused", ("program", "it", "times"), tuple(rows))


def _tried(progress: TournamentProgress) -> dict[str, Counter[str]]:
    """What each program tried although it is not allowed, and how often; programs that tried nothing are left out."""
    names, total = _names(progress), dict[str, Counter[str]]()
    for played in progress.played:
        for _, records in played.matches:
            for program, index in enumerate(played.encounter.pairing):
                if tried := count_attempts(records, program):
                    total.setdefault(names[index], Counter()).update(tried)
    return dict(sorted(total.items()))


def _foreign_connections(progress: TournamentProgress) -> int:
    """The refused connections to the ports of programs that no program was seen to have made."""
    matches = [records for played in progress.played for _, records in played.matches]
    return sum(record.foreign_connections for records in matches for record in records)


def _left_out(progress: TournamentProgress) -> Section:
    """Matches in the folder that were begun with other programs."""
    rows = [
        (Linked(" – ".join(each.names), f"{each.folder}/report.html"), each.games, each.reason)
        for each in progress.left_out
    ]
    return Section("Not counted", ("match", "games", "why"), tuple(rows))


def _score(match: PlayedEncounter) -> str:
    """For example ``2.5 : 1.5``, followed by the score of each play-off in parentheses."""
    scores = ["{:g} : {:g}".format(*score_of(records)) for _, records in match.matches]
    return scores[0] + "".join(f" ({score})" for score in scores[1:])


def _decided(outcome: Outcome | None, names: Sequence[str]) -> tuple[str, str]:
    if outcome is None:
        return "still open", NO_VALUE
    if outcome.winner is None:
        return NO_VALUE, "neither can play" if outcome.reason is Reason.ABSENCE else outcome.reason.value
    return names[outcome.winner], outcome.reason.value


# -- the files ------------------------------------------------------------------------------------------------------


def write_tournament(folder: Path, progress: TournamentProgress) -> None:
    """Write all reports into the tournament's folder; each file is replaced atomically. Raises JournalError."""
    pages = {
        match.folder: games_with_page(folder / match.folder, records) for match, records in _records_by_match(progress)
    }
    texts = (
        render_table(progress),
        render_ratings(progress),
        render_tournament(progress),
        render_report(progress, PLATFORM.gaps, pages),
    )
    for name, text in zip(TOURNAMENT_REPORTS, texts, strict=True):
        write_text(folder / name, text)


def render_table(progress: TournamentProgress) -> str:
    """The text of table.md, in GitHub's Markdown."""
    lines = [title_of(progress), ""]
    for section in sections(progress, ratings_of(progress), is_short=True):
        sides = ("---" if index in section.texts else "--:" for index in range(len(section.head)))
        lines += [f"## {escape_markdown(section.title)}", "", _row(section.head), f"|{'|'.join(sides)}|"]
        lines += [_row(_plain(cell) for cell in row) for row in section.rows]
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(escape_markdown(cell) for cell in cells) + " |"


def _plain(cell: str | int | Linked) -> str:
    return cell.text if isinstance(cell, Linked) else str(cell)


def render_report(
    progress: TournamentProgress,
    platform_gaps: Sequence[str] = (),
    pages: Mapping[str, Collection[int]] = MappingProxyType({}),
) -> str:
    """Return the text of report.html.

    `platform_gaps` are what the operating system cannot do. `pages` are the games whose replay has a page beside it, by
    the folder of the match.
    """
    title, ratings = title_of(progress), ratings_of(progress)
    body = [f"<h1>{escape_html(title)}</h1>"]
    for section in sections(progress, ratings, is_short=False):
        body.append(table(section.title, section.head, (tuple(_linked(row)) for row in section.rows), section.texts))
        if section.title == "Standings" and progress.tournament.kind is Kind.KNOCK_OUT:
            body.append(_figure("Bracket", bracket_plot(progress)))
        if section.title.startswith(_RATINGS):
            body.append(_figure("Rating in Elo, with 95 % interval", ratings_plot(ratings, progress.tournament.anchor)))
    return page(title, [*body, *_replays(progress, pages), platform_gaps_list(platform_gaps)])


def _replays(progress: TournamentProgress, pages: Mapping[str, Collection[int]]) -> list[str]:
    """Links to the pages of replays, one line for each match that has some."""
    lines = []
    for match, records in _records_by_match(progress):
        shown = [record for record in records if record.game in pages.get(match.folder, ())]
        links = ", ".join(_page_link(match, record) for record in sorted(shown, key=lambda record: record.game))
        if links:
            lines.append(f"<li>{escape_html(progress.title_of(match))}: {links}</li>")
    return ["<details><summary>Replays</summary><ul>", *lines, "</ul></details>"] if lines else []


def _records_by_match(progress: TournamentProgress) -> Iterator[tuple[ScheduledMatch, Sequence[GameRecord]]]:
    for played in progress.played:
        yield from played.matches


def _page_link(match: ScheduledMatch, record: GameRecord) -> str:
    """A link to a replay, such as ``game 3`` or ``game 4 (illegal move)``."""
    fault = "" if record.verdict == Verdict.REGULAR else f" ({record.verdict})"
    return link(f"{match.folder}/{record.folder}/{REPLAY_PAGE}", f"game {record.game}{fault}")


def _linked(row: Iterable[str | int | Linked]) -> Iterator[str | int]:
    for cell in row:
        yield link(cell.path, cell.text) if isinstance(cell, Linked) else cell


def _figure(caption: str, plot: str) -> str:
    return f"<figure><figcaption>{caption}</figcaption>{plot}</figure>"


def render_ratings(progress: TournamentProgress) -> str:
    """The text of table.json."""
    tried = _tried(progress)
    return _json([{**line.to_json(), "attempts": tried.get(line.name, {})} for line in ratings_of(progress)])


def render_tournament(progress: TournamentProgress) -> str:
    """The text of tournament.json."""
    tournament, names, played = (
        progress.tournament,
        _names(progress),
        {each.encounter.number: each for each in progress.played},
    )
    return _json({
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
            for points, _, line in _lines_by_points(progress, ratings_of(progress))
        ],
        "attempts": _tried(progress),
        "foreign_connections": _foreign_connections(progress),
        "rounds": [
            {
                "number": each.number,
                "title": each.title,
                "byes": [names[program] for program in each.byes],
                "matches": [
                    _match_json(names, encounter.pairing, played.get(encounter.number)) for encounter in each.encounters
                ],
            }
            for each in progress.rounds
        ],
        "left_out": [
            {"programs": list(each.names), "folder": each.folder, "games": each.games, "reason": each.reason}
            for each in progress.left_out
        ],
    })  # fmt: skip


def _standings_json(progress: TournamentProgress) -> list[dict[str, Any]] | None:
    names = _names(progress)
    if progress.tournament.kind is Kind.SWISS:
        return [
            {
                "name": names[line.program],
                "first": place,
                "last": place,
                "points": line.points,
                "buchholz": line.buchholz,
                "share": line.share,
            }
            for place, line in enumerate(swiss_standings(progress.seeding, progress.rounds, progress.outcomes), 1)
        ]
    if progress.tournament.kind is Kind.KNOCK_OUT:
        return [
            {"name": names[place.program], "first": place.first, "last": place.last, "until": place.until}
            for place in knockout_standings(progress.seeding, progress.rounds, progress.outcomes)
        ]
    return None


def _match_json(names: Sequence[str], pairing: tuple[int, int], match: PlayedEncounter | None) -> dict[str, Any]:
    outcome = None if match is None else match.outcome
    return {
        "programs": [names[index] for index in pairing],
        "folders": [] if match is None else [match.folder for match, _ in match.matches],
        "score": None if outcome is None else list(outcome.score),
        "winner": None if outcome is None or outcome.winner is None else names[outcome.winner],
        "reason": None if outcome is None else outcome.reason.value,
    }


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
