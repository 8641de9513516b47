"""The folders of a tournament's matches, found again by what was played in them.

Invariants: a match is identified by its two programs (name, settings and content, in any order) and by its seed, which
differs for each meeting and play-off. So the programs in the file of a tournament may change between two resumes: a
match that was played is never played again, and one that no longer belongs to the tournament stays in its folder.
"""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass
from pathlib import Path

from spielleiter.match.records.journal import JOURNAL, SETUP, load_setup, read_journal
from spielleiter.match.setup import Entrant, MatchSetup
from spielleiter.match.tournaments.progress import LeftOut, ScheduledMatch, TournamentProgress
from spielleiter.match.tournaments.tournament import MATCHES


@dataclass(frozen=True, slots=True)
class Place:
    """Where a match is played, or was begun."""

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
            place = path.parent
            self._found[f"{MATCHES}/{place.name}"] = MatchSetup.from_json(load_setup(place))

    def place_of(self, progress: TournamentProgress, match: ScheduledMatch, run_id: str) -> Place:
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
                    return Place(
                        dataclasses.replace(match, folder=name, is_swapped=is_swapped),
                        dataclasses.replace(setup, games=max(setup.games, wanted.games)),
                        is_new=False,
                    )
        names = (
            progress.tournament.folder_of(number, match.encounter.pairing, match.play_off)
            for number in itertools.count(match.encounter.number)
        )
        name = next(name for name in names if not (self._folder / name).exists())
        return Place(dataclasses.replace(match, folder=name), wanted, is_new=True)

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
