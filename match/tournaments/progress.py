"""The progress of a tournament: which match is played next, and what the finished ones came to.

Invariants: everything follows from the description and the records of the matches, so that a resumed tournament pairs
exactly as an uninterrupted one. A match whose records show that it is over is not played again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from spielleiter.match.records.game_record import GameRecord
from spielleiter.match.setup import MatchSetup
from spielleiter.match.stopping import stop_rule
from spielleiter.match.tournaments.encounters import (
    Encounter,
    Outcome,
    Pairing,
    Reason,
    Results,
    Round,
    Rounds,
    absent_programs,
    outcome_of,
)
from spielleiter.match.tournaments.knockout import knock_out
from spielleiter.match.tournaments.swiss import swiss
from spielleiter.match.tournaments.tournament import Kind, Tournament
from spielleiter.server.text.counting import count_text


@dataclass(frozen=True, slots=True)
class ScheduledMatch:
    """A match to be played: an encounter, or the pair of games that is to decide it."""

    encounter: Encounter
    folder: str
    """Relative to the tournament's."""
    meeting: int = 0
    """How often the two have met before."""
    play_off: int = 0
    """From 1; 0: the match itself."""


@dataclass(slots=True)
class PlayedEncounter:
    """An encounter and its matches so far, each with its records in the order of finishing."""

    encounter: Encounter
    matches: list[tuple[ScheduledMatch, Sequence[GameRecord]]] = field(default_factory=list)
    outcome: Outcome | None = None
    """None: not decided yet."""


class TournamentProgress:
    """One tournament from its first match to its last.

    Iterate over `matches` and `finish` each one before the next is asked for.
    """

    def __init__(self, described: Tournament) -> None:
        self.tournament = described
        count = len(described.entrants)
        options = described.kind_options
        self.seeding: Sequence[int] = (
            options.seeded(count, described.seed) if described.kind.has_rounds else range(count)
        )
        self.rounds: list[Round] = []
        self.played: list[PlayedEncounter] = []

    @property
    def outcomes(self) -> dict[int, Outcome]:
        """By number of the encounter, as far as they are decided."""
        return {each.encounter.number: each.outcome for each in self.played if each.outcome is not None}

    @property
    def games_by_pairing(self) -> Mapping[Pairing, Sequence[GameRecord]]:
        """All games of each pairing; of several matches, no two pairs of games have the same number."""
        found: dict[Pairing, list[GameRecord]] = {}
        for played in self.played:
            for _, records in played.matches:
                games = found.setdefault(played.encounter.pairing, [])
                last = max((record.pair for record in games), default=0)
                games += [
                    dataclasses.replace(record, pair=record.pair + last) if last else record for record in records
                ]
        return found

    def schedule(self) -> Iterator[ScheduledMatch]:
        """What is to be played, one after the other."""
        rounds = self._pairings()
        results: Results | None = None
        while True:
            try:
                following = next(rounds) if results is None else rounds.send(results)
            except StopIteration:
                return
            self.rounds.append(following)
            decided = {}
            for encounter in following.encounters:
                yield from self._matches_of(encounter)
                outcome = self.played[-1].outcome
                assert outcome is not None
                decided[encounter] = outcome
            results = decided

    def _matches_of(self, encounter: Encounter) -> Iterator[ScheduledMatch]:
        played = PlayedEncounter(encounter)
        meeting = sum(each.encounter.pairing == encounter.pairing for each in self.played)
        self.played.append(played)
        described = self.tournament
        is_knock_out = described.kind is Kind.KNOCK_OUT
        ranks = {program: rank for rank, program in enumerate(self.seeding)} if is_knock_out else None
        most = described.kind_options.play_offs if is_knock_out else 0
        for play_off in range(1 + most):
            folder = described.folder_of(encounter.number, encounter.pairing, play_off)
            yield ScheduledMatch(encounter, folder, meeting, play_off)
            outcome = outcome_of(encounter, [records for _, records in played.matches], ranks)
            is_even = outcome.reason in {Reason.POINTS, Reason.SEEDING}
            # where neither can play, neither will be able to in a play-off
            if play_off == most or not is_even or absent_programs(played.matches[-1][1]):
                played.outcome = outcome
                return

    def finish(self, match: ScheduledMatch, records: Sequence[GameRecord]) -> None:
        """Take the records of the match that was asked for last, in the order of finishing."""
        self.played[-1].matches.append((match, records))

    def setup_of(self, match: ScheduledMatch, run_id: str) -> MatchSetup:
        """The match of a match. Raises SetupError."""
        return self.tournament.match_of(match.encounter.pairing, run_id, match.meeting, match.play_off)

    def title_of(self, match: ScheduledMatch) -> str:
        """``swc_2027_blokus (blokus-2027), final: new against old, 20 games``."""
        encounter, described = match.encounter, self.tournament
        first, second = (described.entrants[index].name for index in encounter.pairing)
        title = next(each.title for each in self.rounds if each.number == encounter.round)
        what = "".join(f", {part}" for part in (title, match.play_off and f"play-off {match.play_off}") if part)
        games = count_text(2 if match.play_off else described.games, "game")
        return f"{described.season}{what}: {first} against {second}, {games}"

    def _pairings(self) -> Rounds:
        described = self.tournament
        options = described.kind_options
        if described.kind is Kind.KNOCK_OUT:
            return knock_out(self.seeding, has_third_place=options.third_place)
        if described.kind is Kind.SWISS:
            return swiss(self.seeding, options.rounds_of(len(described.entrants)))
        return _all_at_once(described.pairings())


def _all_at_once(pairings: Sequence[Pairing]) -> Rounds:
    encounters = (Encounter(number, 1, pairing) for number, pairing in enumerate(pairings, 1))
    yield Round(1, "", tuple(encounters))


def is_over(setup: MatchSetup, records: Sequence[GameRecord]) -> bool:
    """Whether a match with these records, in the order of finishing, has ended rather than been interrupted."""
    if len(records) >= setup.games or absent_programs(records):
        return True
    is_decided = stop_rule(setup)
    return any(is_decided(records[:count]) for count in range(1, len(records) + 1))
