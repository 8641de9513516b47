"""The progress of a tournament: which match is played next, in which folder, and the outcomes of the finished ones.

Invariants: everything follows from the description of the tournament and the records of the matches, so a resumed
tournament is paired exactly like an uninterrupted one. A match is identified by its two programs (name, settings and
content, in any order) and by its seed, which differs for each meeting and play-off. So the programs in the file may
change between two resumes: a match that was played is never played again, and one that no longer belongs to the
tournament stays in its folder.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spielleiter.common.text import count_text
from spielleiter.match.pairings import (
    Encounter,
    Pairing,
    Reason,
    Round,
    ScheduledMatch,
    absent_programs,
    knock_out,
    outcome_of,
    score_of,
    swiss,
)
from spielleiter.match.plan import Entrant, MatchSetup
from spielleiter.match.records import JOURNAL, SETUP, GameRecord, load_setup, mirrored, read_journal
from spielleiter.match.stopping import stop_rule
from spielleiter.match.tournament import MATCHES, Tournament, TournamentKind


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A match in the folder of a tournament that does not count in it."""

    folder: str
    names: tuple[str, str]
    games: int
    """The number of finished games."""
    reason: str


class TournamentProgress:
    """One tournament from its first match to its last.

    To play it, iterate over `schedule()`, play each match, and `finish` it before the next iteration:

        progress = TournamentProgress(tournament)
        for match in progress.schedule():
            progress.finish(match, play(progress.setup_of(match, run_id)))
    """

    def __init__(self, tournament: Tournament) -> None:
        self.tournament = tournament
        self.seeding: Sequence[int] = (
            tournament.seeded() if tournament.kind.has_rounds else range(len(tournament.entrants))
        )
        self.rounds: list[Round] = []
        self.left_out: tuple[LeftOut, ...] = ()
        """Matches that were begun earlier and do not count."""

    @property
    def encounters(self) -> list[Encounter]:
        """The encounters of all rounds so far, in the order of playing; those that have not begun have no matches."""
        return [encounter for each in self.rounds for encounter in each.encounters]

    @property
    def games_by_pairing(self) -> Mapping[Pairing, Sequence[GameRecord]]:
        """All games of each pairing; the pairs of games of later matches are renumbered, so that numbers are unique."""
        found: dict[Pairing, list[GameRecord]] = {}
        for encounter in self.encounters:
            for _, records in encounter.matches:
                games = found.setdefault(encounter.pairing, [])
                last = max((record.pair for record in games), default=0)
                games += [
                    dataclasses.replace(record, pair=record.pair + last) if last else record for record in records
                ]
        return found

    def schedule(self) -> Iterator[ScheduledMatch]:
        """The matches in the order of playing; each one must be finished before the next is requested."""
        tournament = self.tournament
        if tournament.kind is TournamentKind.KNOCK_OUT:
            rounds = knock_out(self.seeding, has_third_place=tournament.third_place)
        elif tournament.kind is TournamentKind.SWISS:
            rounds = swiss(self.seeding, tournament.number_of_rounds)
        else:
            pairings = enumerate(tournament.pairings(), 1)
            rounds = iter([Round(1, "", tuple(Encounter(number, 1, pairing) for number, pairing in pairings))])
        for each in rounds:
            self.rounds.append(each)
            for encounter in each.encounters:
                yield from self._matches_of(encounter)

    def _matches_of(self, encounter: Encounter) -> Iterator[ScheduledMatch]:
        meeting = sum(each.pairing == encounter.pairing and bool(each.matches) for each in self.encounters)
        tournament = self.tournament
        is_knock_out = tournament.kind is TournamentKind.KNOCK_OUT
        ranks = {program: rank for rank, program in enumerate(self.seeding)} if is_knock_out else None
        most = tournament.play_offs if is_knock_out else 0
        for play_off in range(1 + most):
            folder = tournament.folder_of(encounter.number, encounter.pairing, play_off)
            yield ScheduledMatch(encounter, folder, meeting, play_off)
            winner, reason = outcome_of(encounter, ranks, keeps_playing=tournament.keeps_playing)
            is_even = reason in {Reason.POINTS, Reason.SEEDING}
            # if neither program can play, neither will be able to in a play-off
            if play_off == most or not is_even or absent_programs(encounter.matches[-1][1]):
                encounter.winner, encounter.reason = winner, reason
                encounter.score = score_of(encounter.matches[0][1])
                return

    def finish(self, match: ScheduledMatch, records: Sequence[GameRecord]) -> None:
        """Add the records in the folder of a match, in the order of finishing."""
        own = [mirrored(record) for record in records] if match.is_swapped else records
        match.encounter.matches.append((match, own))

    def setup_of(self, match: ScheduledMatch, run_id: str) -> MatchSetup:
        """The setup of a match; `run_id` identifies it in the environment of its processes. Raises SetupError."""
        return self.tournament.match_of(match.encounter.pairing, run_id, match.meeting, match.play_off)

    def title_of(self, match: ScheduledMatch) -> str:
        """The title of a match, for example ``swc_2027_blokus (blokus-2027), final: new against old, 20 games``."""
        encounter, tournament = match.encounter, self.tournament
        first, second = (tournament.entrants[index].name for index in encounter.pairing)
        title = next(each.title for each in self.rounds if each.number == encounter.round)
        what = "".join(f", {part}" for part in (title, match.play_off and f"play-off {match.play_off}") if part)
        games = count_text(2 if match.play_off else tournament.games, "game")
        return f"{tournament.season}{what}: {first} against {second}, {games}"


def is_over(setup: MatchSetup, records: Sequence[GameRecord], *, keeps_playing: bool = False) -> bool:
    """Whether a match with these records, in the order of finishing, is over (rather than interrupted).

    With `keeps_playing`, it goes on although a program cannot play.
    """
    if len(records) >= setup.games or (not keeps_playing and absent_programs(records)):
        return True
    is_decided = stop_rule(setup)
    return any(is_decided(records[:count]) for count in range(1, len(records) + 1))


@dataclass(frozen=True, slots=True)
class MatchFolder:
    """The folder in which a match is played, or was begun."""

    match: ScheduledMatch
    """The match with its folder, and whether its programs are in the other order there."""
    setup: MatchSetup
    """As in the folder, but with as many games as the tournament wants."""
    is_new: bool


class MatchFolders:
    """The matches in the folder of a tournament. Raises JournalError if one of them cannot be read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._found: dict[str, MatchSetup] = {}
        """By path relative to the folder of the tournament."""
        self._used: set[str] = set()
        for path in sorted((folder / MATCHES).glob(f"*/{SETUP}")):
            match_folder = path.parent
            self._found[f"{MATCHES}/{match_folder.name}"] = MatchSetup.from_json(load_setup(match_folder))

    def folder_of(self, progress: TournamentProgress, match: ScheduledMatch, run_id: str) -> MatchFolder:
        """The folder in which a match was begun, or a new one.

        `run_id` identifies the processes of a new match. Raises SetupError.
        """
        wanted = progress.setup_of(match, run_id)
        for name, setup in self._found.items():
            if name in self._used or setup.seed != wanted.seed:
                continue
            for is_swapped in (False, True):
                entrants = setup.entrants[::-1] if is_swapped else setup.entrants
                if all(map(Entrant.is_same, entrants, wanted.entrants)):
                    self._used.add(name)
                    return MatchFolder(
                        dataclasses.replace(match, folder=name, is_swapped=is_swapped),
                        dataclasses.replace(setup, games=max(setup.games, wanted.games)),
                        is_new=False,
                    )
        names = (
            progress.tournament.folder_of(number, match.encounter.pairing, match.play_off)
            for number in itertools.count(match.encounter.number)
        )
        name = next(name for name in names if not (self._folder / name).exists())
        return MatchFolder(dataclasses.replace(match, folder=name), wanted, is_new=True)

    def left_out(self, progress: TournamentProgress, *, is_over: bool) -> tuple[LeftOut, ...]:
        """The begun matches that do not belong to the tournament, with the reason.

        Unless the tournament `is_over`, the matches of two programs that take part may still be needed.
        """
        found = []
        for name, setup in self._found.items():
            if name in self._used:
                continue
            reasons = [reason for entrant in setup.entrants if (reason := _why_left_out(progress, entrant))]
            if reasons or is_over:
                games = len(read_journal(self._folder / name)) if (self._folder / name / JOURNAL).exists() else 0
                found.append(LeftOut(name, setup.names, games, reasons[0] if reasons else "this pairing is not played"))
        return tuple(found)


def _why_left_out(progress: TournamentProgress, entrant: Entrant) -> str:
    """Why an entrant does not take part; empty if it does."""
    others = [each for each in progress.tournament.playing if each.name == entrant.name]
    if not others:
        return f"{entrant.name} no longer takes part"
    if others[0].is_same(entrant):
        return ""
    has_changed = others[0].content and entrant.content and others[0].content != entrant.content
    return f"{entrant.name} has {'changed' if has_changed else 'other settings'} since"
