"""The director: decides what is checked and played next, and records what happened.

It reads what is wanted from the database, which the pages change, and orders checks and pairs of games from other
processes. Nothing is only in its memory: after a crash, it goes on with what is open in the database.

Invariants: a game is recorded before anybody is told of it. A pair is played by one attempt at a time. No upload runs
without a sandbox unless the teacher has said so. A full disk loses no finished game: its record is tried again until it
is written.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from datetime import datetime
from pathlib import Path
from typing import Concatenate, Final, NamedTuple, ParamSpec, Protocol, TypeAlias, TypeVar

import msgspec
import trio
from sqlalchemy import Connection

from spielleiter.common.errors import MatchError
from spielleiter.league import games, log, rating_history, stages, teams, versions
from spielleiter.league import helpers as stored_helpers
from spielleiter.league.arena_client import ArenaClient, NotPlayedError
from spielleiter.league.arena_messages import ArenaReady, GamePlayed
from spielleiter.league.check_messages import Checked, StartCheck
from spielleiter.league.checks import (
    FULL_TIMEOUT,
    SHORT_TIMEOUT,
    NotCheckedError,
    check_upload,
    find_needs,
    unpack_upload,
)
from spielleiter.league.database import Database
from spielleiter.league.errors import LeagueDiskError, LeagueFileError
from spielleiter.league.fault_texts import german_reason
from spielleiter.league.gate_client import ConnectedHelper, RemoteProgram
from spielleiter.league.gate_messages import AllowedHelper
from spielleiter.league.model import Fault, FullCheck, Pair, PairingResult, PlayedGame, RatingOfDay, Version
from spielleiter.league.pairing import Candidate, next_pairing
from spielleiter.league.program_files import MissingPackageError, Needs, ProgramFiles, Unpack, parameters_of
from spielleiter.league.settings import LeagueSettings, load_settings
from spielleiter.league.standings import Standings, compute_standings
from spielleiter.match.plan import SEED_BITS, Entrant, ProgramTimeouts
from spielleiter.match.records import GameRecord
from spielleiter.match.verdict import LEFTOVER_VERDICTS, Verdict
from spielleiter.programs.sandbox.sandbox import NONE, SandboxSettings
from spielleiter.server.config import Config
from spielleiter.viewer.game_details import verdict_words
from spielleiter.viewer.web.answers import Versions

P = ParamSpec("P")
T = TypeVar("T")

FIRST_PAUSE: Final = 2.0
"""Seconds until a pair or a check that the machine has failed is tried again; each further time twice as long."""
LONGEST_PAUSE: Final = 300.0
DISK_PAUSE: Final = 5.0
"""Seconds until a change is tried again that the disk has refused."""
TABLE_PAUSE: Final = 2.0
"""Seconds between two computations of the table."""
_TABLE_REST: Final = 10.0  # times as long as a computation takes
ROUTINE_INTERVAL: Final = 30.0
"""Seconds between two looks at the dates, and two entries in the history of ratings."""
SHORT_ATTEMPTS: Final = 3
"""How often a short check is begun before the version is refused because of it."""
CHECKS_AT_ONCE: Final = 2
"""How many short checks run at a time: a program that never joins delays no other upload."""
CHECKS_PLACES: Final = 2
"""The places that a short check takes: it plays, too, and somebody waits for it."""
VERSIONS_SHARE: Final = 0.25
"""The share of all places that one version may take; two in any case."""
CALM_PAIRS: Final = 20
"""After this many pairs without an overload, one more is played at a time."""

_UPLOAD_SECONDS: Final = 15.0
"""Seconds for a short check, for the estimate of the queue before one was measured."""


class QueuedCheck(msgspec.Struct, frozen=True):
    """A version that waits for its short check, or is being checked."""

    version_id: int
    seconds: float
    """The time until it is decided, an estimate."""
    doing: str = ""
    """What is being done with it; empty: it waits."""


class SandboxState(msgspec.Struct, frozen=True):
    """How uploads are confined on this machine."""

    kind: str
    """One of `programs.sandbox.sandbox.KINDS`."""
    gaps: tuple[str, ...]

    @property
    def is_strong(self) -> bool:
        """Whether an upload cannot reach the files of others."""
        return self.kind != NONE


Check: TypeAlias = Callable[[StartCheck, Callable[[str], object]], Awaitable[Checked]]
"""Checks an upload, as `checks.check_upload` does."""


class Arena(Protocol):
    """What plays the pairs; see `arena_client.ArenaClient`."""

    @property
    def ready(self) -> ArenaReady | None: ...
    async def run(self) -> None: ...
    async def play(
        self,
        pair: int,
        seed: int,
        numbers: Sequence[int],
        entrants: tuple[Entrant, Entrant],
        timeouts: ProgramTimeouts,
        on_game: Callable[[GamePlayed], Awaitable[object]],
    ) -> None: ...


class Gate(Protocol):
    """The way to the PCs that help; see `gate_client.GateClient`."""

    async def run(self) -> None: ...
    def allow(self, helpers: Sequence[AllowedHelper]) -> None: ...
    def helpers(self) -> Sequence[ConnectedHelper]: ...
    def run_problem(self, helper_id: int, program: RemoteProgram) -> str: ...
    def lease(self, helper_id: int, programs: Sequence[RemoteProgram | None]) -> AbstractAsyncContextManager[Lease]: ...


class Lease(Protocol):
    """A pair whose programs run on a PC; see `gate_client.Lease`."""

    @property
    def entrants(self) -> Sequence[Entrant | None]: ...
    async def settle(self) -> None: ...


class _Place(NamedTuple):
    """A PC on which a pair is played, and its programs: None for an anchor."""

    helper: ConnectedHelper
    programs: tuple[RemoteProgram | None, RemoteProgram | None]


class Director:
    """Runs the league in `database` while `run` runs. `folder` is that of the league, for copies of packages.

    `arena` plays the pairs; its `on_change` has to call `note_arena`. `now` is the time in seconds since 1970, `chance`
    what is drawn. `check` checks an upload, `unpack` unpacks one, `needs` tells what it needs on another machine, and
    `report_bug` is called with unexpected exceptions. `gate` is the way to other machines, None if there is none; its
    `on_change` has to call `note_helpers`.
    """

    def __init__(
        self,
        database: Database,
        arena: Arena,
        folder: Path,
        *,
        now: Callable[[], float] = time.time,
        chance: random.Random | None = None,
        gate: Gate | None = None,
        check: Check = check_upload,
        unpack: Unpack = unpack_upload,
        needs: Needs = find_needs,
        report_bug: Callable[[BaseException], object] = lambda _error: None,
    ) -> None:
        self.standings = Standings()
        """The present table; computed anew some seconds after a game at the latest."""
        self.queue: tuple[QueuedCheck, ...] = ()
        """The uploads that are checked next, in their order."""
        self.problem = ""
        """Why nothing goes on, for the teacher, in the words of the errors; empty if all is well."""
        self.changed = Versions()
        """Counts what pages show."""
        self._database = database
        self._arena = arena
        self._files = ProgramFiles(database, folder, unpack=unpack, needs=needs)
        self._now = now
        self._chance = chance or random.Random()
        self._check = check
        self._report_bug = report_bug
        self._gate = gate
        self._allowed: list[AllowedHelper] = []
        self._remote: dict[int, RemoteProgram | None] = {}
        """By version: what a PC has to run; None if what it needs cannot be found, so that no PC runs it."""
        self._playing: dict[int, Pair] = {}
        self._away: dict[int, int] = {}
        """By pair that is being played on another machine: the id of that PC."""
        self._retry: dict[int, tuple[float, float]] = {}
        """By pair or version that the machine has failed: when it is tried again, and the pause after that."""
        self._woken = trio.Event()
        self._is_table_old = True
        self._table_wanted = trio.Event()
        self._most_pairs = 0
        self._calm_pairs = 0
        self._checking: dict[int, Version] = {}
        """The versions whose short checks are running, in the order in which they began."""
        self._waiting: list[Version] = []
        self._check_seconds = _UPLOAD_SECONDS
        self._doing: dict[int, str] = {}
        self._attempts: Counter[int] = Counter()

    # -- for the pages ----------------------------------------------------------------------------------------------

    @property
    def playing(self) -> int:
        """The number of pairs that are being played."""
        return len(self._playing)

    @property
    def sandbox(self) -> SandboxState | None:
        """How uploads are confined; None while that is not known."""
        ready = self._arena.ready
        return None if ready is None else SandboxState(ready.sandbox, ready.gaps)

    def wake(self) -> None:
        """Look again at what there is to do; to be called after every change of the database by others."""
        self._woken.set()
        self._woken = trio.Event()
        self._want_table()
        self.changed.publish()

    def note_arena(self, reason: str) -> None:
        """Note that the arena can play, or that it has ended for this reason."""
        if not reason and self._arena.ready is not None:
            self._most_pairs = self._most_pairs or self._arena.ready.most_pairs
        self.problem = f"arena: {reason}" if reason else ""
        self.wake()

    def note_helpers(self) -> None:
        """Note that PCs came or went, or can do something else than before."""
        self._woken.set()
        self._woken = trio.Event()
        self.changed.publish()

    # -- running ----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Run the league until cancelled; running games and checks are cut off then, and begin anew the next time."""
        await self._change(versions.restart_checks)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._arena.run)
            if self._gate is not None:
                nursery.start_soon(self._gate.run)
                nursery.start_soon(self._find_needs)
            nursery.start_soon(self._keep_table)
            nursery.start_soon(self._routine)
            nursery.start_soon(self._check_uploads)
            nursery.start_soon(self._check_fully)
            await self._play_pairs(nursery)

    async def _read(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        return await self._until_possible(lambda: self._database.read(function, *args, **options))

    async def _change(self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        return await self._until_possible(lambda: self._database.write(function, *args, **options))

    async def _until_possible(self, access: Callable[[], Awaitable[T]]) -> T:
        """Return the result of `access`, tried again while the disk is full or fails, or another process locks it."""
        while True:
            try:
                result = await access()
            except (LeagueDiskError, LeagueFileError) as error:
                self._tell_problem(str(error))
                await trio.sleep(DISK_PAUSE)
            else:
                if self.problem.startswith("disk: "):
                    self._tell_problem("")
                return result

    def _tell_problem(self, text: str) -> None:
        self.problem = f"disk: {text}" if text else ""
        self.changed.publish()

    async def _wait(self, woken: trio.Event, seconds: float = ROUTINE_INTERVAL) -> None:
        with trio.move_on_after(seconds):
            await woken.wait()

    def _may_run_uploads(self, settings: LeagueSettings) -> bool:
        sandbox = self.sandbox
        return sandbox is not None and (sandbox.is_strong or settings.runs_without_sandbox)

    # -- the table --------------------------------------------------------------------------------------------------

    def _want_table(self) -> None:
        self._is_table_old = True
        self._table_wanted.set()

    async def _keep_table(self) -> None:
        while True:
            await self._table_wanted.wait()
            self._table_wanted = trio.Event()
            began = trio.current_time()
            await self.refresh_table()
            # a large league on a slow machine: games need the processor more
            await trio.sleep(max(TABLE_PAUSE, _TABLE_REST * (trio.current_time() - began)))

    async def refresh_table(self) -> None:
        """Compute the table from the database, if anything has changed since the last time."""
        if not self._is_table_old:
            return
        self._is_table_old = False
        found, results, earlier = await self._read(_read_table, _day(self._now()))
        self.standings = await trio.to_thread.run_sync(compute_standings, found, results, earlier, self.standings)
        self.changed.publish()

    async def _routine(self) -> None:
        """Keep the dates, and write the ratings of the day."""
        while True:
            settings = await self._read(load_settings)
            if await self._change(stages.keep_dates, self._now()):
                self.wake()
            day = _day(self._now())
            rows = [
                RatingOfDay(row.version_id, day, row.rating, row.low, row.high, row.games)
                for row in self.standings.rows
                if row.team_id is not None and row.games
            ]
            await self._change(rating_history.save_ratings, rows)
            if settings.kept_replays is not None:
                await self._change(games.drop_old_recordings, settings.kept_replays)
            for helper in () if self._gate is None else self._gate.helpers():
                platform = msgspec.to_builtins(helper.machine)
                await self._change(stored_helpers.note_seen, helper.id, platform, self._now())
            await trio.sleep(ROUTINE_INTERVAL)

    # -- checks -----------------------------------------------------------------------------------------------------

    async def _check_uploads(self) -> None:
        """Carry out the short checks, CHECKS_AT_ONCE at a time."""
        async with trio.open_nursery() as nursery:
            while True:
                woken = self._woken
                settings = await self._read(load_settings)
                self._waiting = await self._read(versions.waiting_versions)
                self._show_queue()
                version = next((each for each in self._waiting if self._is_due(-each.id)), None)
                if version is None or len(self._checking) == CHECKS_AT_ONCE or not self._may_run_uploads(settings):
                    await self._wait(woken)
                elif await self._change(versions.begin_check, version.id):
                    self._checking[version.id] = version
                    nursery.start_soon(self._check_shortly, version, settings)

    def _show_queue(self) -> None:
        order = [*self._checking, *(each.id for each in self._waiting if each.id not in self._checking)]
        self.queue = tuple(
            QueuedCheck(each, self._check_seconds * (1 + place // CHECKS_AT_ONCE), self._doing.get(each, ""))
            for place, each in enumerate(order)
        )
        self.changed.publish()

    async def _check_shortly(self, version: Version, settings: LeagueSettings) -> None:
        """Carry out a short check, which is in `_checking` until its verdict is recorded."""
        try:
            await self._decide(version, settings)
        finally:
            del self._checking[version.id]
            self._doing.pop(version.id, None)
            self.wake()

    async def _decide(self, version: Version, settings: LeagueSettings) -> None:
        began = trio.current_time()

        def tell(text: str) -> None:
            self._doing[version.id] = text
            self._show_queue()

        tell("starting")
        try:
            with trio.fail_after(SHORT_TIMEOUT):
                checked = await self._check(await self._start_of("short", version, settings), tell)
        except MissingPackageError:  # it was removed meanwhile
            return
        except (NotCheckedError, trio.TooSlowError, OSError) as error:
            self._attempts[version.id] += 1
            if _is_machines_fault(error) or self._attempts[version.id] < SHORT_ATTEMPTS:
                self._tell_failure(f"check of {version.label}: {str(error) or 'it was not done in time'}")
                self._postpone(-version.id)
                await self._change(versions.restart_check, version.id)
                return
            fault: Fault | None = _NO_RESULT
        else:
            fault = checked.fault
            self._check_seconds += 0.3 * (trio.current_time() - began - self._check_seconds)
        self._attempts.pop(version.id, None)
        self._retry.pop(-version.id, None)
        await self._change(versions.finish_check, version.id, fault, self._now())

    async def _check_fully(self) -> None:
        """Carry out the full checks, one after the other, while no upload waits."""
        while True:
            woken = self._woken
            settings = await self._read(load_settings)
            waiting = await self._read(versions.versions_to_check_fully)
            version = next((each for each in waiting if self._is_due(-each.id)), None)
            if version is None or self.queue or not self._may_run_uploads(settings):
                await self._wait(woken)
                continue
            await self._change(versions.begin_full_check, version.id)
            try:
                with trio.fail_after(FULL_TIMEOUT):
                    checked = await self._check(await self._start_of("full", version, settings), lambda _text: None)
            except MissingPackageError:
                continue
            except (NotCheckedError, trio.TooSlowError, OSError) as error:
                self._tell_failure(f"full check of {version.label}: {str(error) or 'it was not done in time'}")
                self._postpone(-version.id)
                await self._change(versions.restart_full_check, version.id)
                continue
            outcome: FullCheck
            if checked.fault is not None:
                outcome = "failed"
            else:
                outcome = "warned" if checked.warnings or checked.is_undecided else "passed"
            report = {"report": checked.report, "warnings": msgspec.to_builtins(checked.warnings)}
            await self._change(versions.finish_full_check, version.id, outcome, report, checked.fault, self._now())
            self.wake()

    async def _start_of(self, kind: str, version: Version, settings: LeagueSettings) -> StartCheck:
        path = await self._files.zip_of(version)
        soft, hard = Config().soft_timeout, Config().hard_timeout
        return StartCheck(
            "full" if kind == "full" else "short",
            os.fspath(path),
            version.main,
            parameters_of(version),
            settings.game_type,
            settings.edition,
            settings.soft_timeout or soft or 2.0,
            settings.hard_timeout or hard or 10.0,
        )

    # -- pauses after failures of the machine -------------------------------------------------------------------------

    def _is_due(self, key: int) -> bool:
        return key not in self._retry or self._retry[key][0] <= trio.current_time()

    def _postpone(self, key: int) -> None:
        """Let a pair, or a version with its negative id, wait longer each time."""
        _, pause = self._retry.get(key, (0.0, FIRST_PAUSE))
        self._retry[key] = trio.current_time() + pause, min(2 * pause, LONGEST_PAUSE)

    def _tell_failure(self, text: str) -> None:
        self.problem = text
        self.changed.publish()

    # -- games ------------------------------------------------------------------------------------------------------

    async def _play_pairs(self, nursery: trio.Nursery) -> None:
        while True:
            woken = self._woken
            settings = await self._read(load_settings)
            if self._gate is not None:
                await self._allow_helpers(self._gate, settings)
            while await self._start_pair(nursery, settings):
                self.changed.publish()
            await self._wait(woken, FIRST_PAUSE)

    async def _start_pair(self, nursery: trio.Nursery, settings: LeagueSettings) -> bool:
        """Start the next pair, if there is one and a place for it."""
        places = self._places(settings)
        left = places - len(self._playing) + len(self._away)
        has_place = left > 0
        if settings.is_paused or settings.stage == "over" or self._arena.ready is None:
            return False
        free = sorted(
            (helper for helper in self._helpers() if self._free_places(helper) > 0), key=self._free_places, reverse=True
        )
        if not has_place and not free:
            return False
        if not self.standings.rows:
            await self.refresh_table()
        able = {version.id: version for version in await self._read(versions.playing_versions)}
        willing = {team.id for team in await self._read(teams.list_teams) if team.allows_helpers} if free else set()
        opened = await self._read(games.list_pairs, state="open")
        # a pair that has to wait for this machine keeps no other one from a PC that is free
        for pair in await self._waiting_pairs(opened, able, settings):
            place = self._place_elsewhere((able[pair.first], able[pair.second]), free, willing)
            if place is not None or has_place:
                self._begin(pair, place, nursery, settings)
                return True
        if settings.stage == "final":
            return False
        # the last place is kept for the version that is being checked, which others would make wait for a whole pair
        is_kept = left == 1 and places > 2 and bool(self._checking)
        if has_place and await self._open_pair(able.values(), opened, settings, only_new=is_kept):
            return True  # it is started the next time
        for helper in free:
            runnable = [each for each in able.values() if self._can_run(helper, each, willing)]
            if await self._open_pair(runnable, opened, settings):
                return True
        return False

    def _begin(self, pair: Pair, place: _Place | None, nursery: trio.Nursery, settings: LeagueSettings) -> None:
        self._playing[pair.id] = pair
        if place is not None:
            self._away[pair.id] = place.helper.id
        nursery.start_soon(self._play, pair, place, settings)

    def _places(self, settings: LeagueSettings) -> int:
        """How many pairs may be played at a time now on this machine."""
        if not self._may_run_uploads(settings):
            return 0
        most = self._most_pairs if settings.most_games_at_once is None else settings.most_games_at_once
        return max(1, min(most, self._most_pairs) - CHECKS_PLACES * len(self._checking))

    async def _waiting_pairs(
        self, opened: Sequence[Pair], able: Mapping[int, Version], settings: LeagueSettings
    ) -> list[Pair]:
        """Return those of the `opened` pairs that may be played now, the most urgent one first.

        If there are none in a final, the next ones of it are opened.
        """

        def waiting_of(opened: Sequence[Pair]) -> list[Pair]:
            waiting = [
                pair
                for pair in opened
                if pair.id not in self._playing and {pair.first, pair.second} <= able.keys() and self._is_due(pair.id)
            ]
            return sorted(waiting, key=lambda pair: (_URGENCY.index(pair.purpose), pair.id))

        found = waiting_of(opened)
        is_missing = not found and settings.stage == "final"
        if is_missing and await self._change(stages.continue_final, self._now(), self._chance):
            return waiting_of(await self._read(games.list_pairs, state="open"))
        return found

    async def _open_pair(
        self,
        playing: Iterable[Version],
        opened: Sequence[Pair],
        settings: LeagueSettings,
        *,
        only_new: bool = False,
    ) -> Pair | None:
        """Open a pair of these versions beside those that are `opened`.

        With `only_new`, it is one of a version that has not played yet.
        """
        # instead of a pair that the machine has failed, no other one is opened again and again
        failed = {version for pair in opened if pair.id in self._retry for version in (pair.first, pair.second)}
        playing = [version for version in playing if version.id not in failed]
        busy = Counter(version for pair in self._playing.values() for version in (pair.first, pair.second))
        meetings = Counter(self.standings.meetings)
        meetings.update((min(pair.first, pair.second), max(pair.first, pair.second)) for pair in self._playing.values())
        most = self._most_of_version(settings)
        candidates, anchors = [], []
        for version in playing:
            estimate = self.standings.ratings.get(version.id)
            if estimate is None:
                continue
            if version.team_id is None:
                anchors.append(Candidate(version.id, None, estimate.value, 0.0, busy[version.id]))
            elif busy[version.id] < most:
                deviation = (estimate.high - estimate.low) / 4
                candidates.append(Candidate(version.id, version.team_id, estimate.value, deviation, busy[version.id]))
        have_played = {version for pair, count in meetings.items() if count for version in pair}
        new = next(
            (version for version in playing if version.team_id is not None and version.id not in have_played), None
        )
        if new is not None and anchors:
            # the lowest level, which is the quickest; the table, which follows soon, may not know the version yet
            anchors = [min(anchors, key=lambda anchor: anchor.rating)]
            candidates = [Candidate(new.id, new.team_id, anchors[0].rating)]
        elif only_new:
            return None
        found = next_pairing([*anchors, *candidates], meetings, self._chance)
        if found is None:
            return None
        pair = await self._change(
            games.open_pair,
            *found,
            purpose="league",
            stage=settings.stage,
            seed=self._chance.getrandbits(SEED_BITS),
            now=self._now(),
        )
        assert isinstance(pair, Pair)
        return pair

    def _most_of_version(self, settings: LeagueSettings) -> int:
        """How many pairs a version may play at a time, so that a slow one does not take all places."""
        places = self._places(settings) + sum(helper.places for helper in self._helpers())
        return max(2, int(VERSIONS_SHARE * places))

    async def _play(self, pair: Pair, place: _Place | None, settings: LeagueSettings) -> None:
        """Play what is missing of a pair, here or on another machine, and record each game."""
        try:
            first, second = [await self._read(versions.get_version, each) for each in (pair.first, pair.second)]
            numbers = await self._read(games.missing_games, pair.id)
            async with AsyncExitStack() as stack:
                lease: Lease | None = None
                remote: Sequence[Entrant | None] = (None, None)
                if place is not None and self._gate is not None:
                    lease = await stack.enter_async_context(self._gate.lease(place.helper.id, place.programs))
                    remote = lease.entrants
                entrants = (
                    await self._entrant_of(first, settings, remote[0]),
                    await self._entrant_of(second, settings, remote[1]),
                )
                machine = "" if place is None else place.helper.name

                async def record(played: GamePlayed) -> None:
                    if lease is not None:
                        await lease.settle()
                    await self._record(pair, played, (first, second), settings, machine)

                if numbers:
                    await self._arena.play(pair.id, pair.seed, numbers, entrants, ProgramTimeouts(), record)
        except NotPlayedError as error:
            self._calm_pairs = 0
            if error.is_overloaded:
                self._most_pairs = max(1, self._most_pairs - 1)
            self._tell_failure(str(error))
            self._postpone(pair.id)
        except (MissingPackageError, NotCheckedError, MatchError, OSError) as error:
            self._tell_failure(str(error))
            self._postpone(pair.id)
        except Exception as error:  # a bug, which must not end the other games
            self._report_bug(error)
            self._tell_failure(f"{type(error).__name__}: {error}")
            self._postpone(pair.id)
        else:
            self.problem = ""
            self._retry.pop(pair.id, None)
            self._calm_pairs += 1
            ready = self._arena.ready
            if self._calm_pairs >= CALM_PAIRS and ready is not None and self._most_pairs < ready.most_pairs:
                self._calm_pairs = 0
                self._most_pairs += 1
        finally:
            del self._playing[pair.id]
            self._away.pop(pair.id, None)
            self.wake()

    async def _entrant_of(self, version: Version, settings: LeagueSettings, remote: Entrant | None) -> Entrant:
        """What the arena starts for a version: `remote` if the program runs on another machine."""
        if remote is not None:
            return dataclasses.replace(
                remote,
                name=version.team_name,
                soft_timeout=settings.soft_timeout,
                hard_timeout=settings.hard_timeout,
            )
        command, folder, sandbox = version.builtin, "", None
        if command is None:
            program = await self._files.program_of(version)
            command, folder = program.command, program.folder
            sandbox = SandboxSettings(python_version=program.python_version)
        return Entrant(
            version.team_name,
            command,
            cwd=folder,
            soft_timeout=settings.soft_timeout,
            hard_timeout=settings.hard_timeout,
            sandbox=sandbox,
        )

    # -- other machines ---------------------------------------------------------------------------------------------

    def _helpers(self) -> Sequence[ConnectedHelper]:
        return () if self._gate is None else self._gate.helpers()

    def _free_places(self, helper: ConnectedHelper) -> int:
        """How many further pairs a PC can be given; a pair that was just started may not be known there yet."""
        given = sum(each == helper.id for each in self._away.values())
        return helper.most - max(helper.playing, given)

    async def _allow_helpers(self, gate: Gate, settings: LeagueSettings) -> None:
        """Tell the gate which PCs may help; one whose code was revoked is cut off."""
        allowed = [
            AllowedHelper(each.id, each.name, code_hash, each.runs_without_sandbox)
            for each, code_hash in await self._read(stored_helpers.allowed_helpers)
            if settings.uses_helpers
        ]
        if allowed != self._allowed:
            self._allowed = allowed
            gate.allow(allowed)

    async def _find_needs(self) -> None:
        """Find out what the programs need on PCs, which takes long for some; no PC gets one before that is known."""
        while True:
            woken, has_failed = self._woken, False
            for version in await self._read(versions.playing_versions) if self._helpers() else ():
                if version.team_id is None or version.id in self._remote:
                    continue
                try:
                    self._remote[version.id] = await self._remote_program(version)
                except MissingPackageError:  # it was removed meanwhile
                    continue
                except (NotCheckedError, OSError) as error:
                    if _is_machines_fault(error):
                        has_failed = True
                        self._tell_failure(f"{version.label}: {error}")
                    else:
                        self._remote[version.id] = None
                self.note_helpers()
            if has_failed:
                await trio.sleep(ROUTINE_INTERVAL)
            else:
                await self._wait(woken)

    async def _remote_program(self, version: Version) -> RemoteProgram:
        """Return what a PC has to run. Raises MissingPackageError, NotCheckedError and OSError."""
        path = await self._files.zip_of(version)
        needs = await self._files.needs_of(version)
        return RemoteProgram(version.team_name, path.stem, path, version.main, parameters_of(version), needs)

    def _place_elsewhere(
        self, sides: tuple[Version, Version], free: Sequence[ConnectedHelper], willing: Collection[int]
    ) -> _Place | None:
        """Return one of the PCs that can play a pair."""
        for helper in free:
            if all(self._can_run(helper, each, willing) for each in sides):
                return _Place(helper, (self._remote.get(sides[0].id), self._remote.get(sides[1].id)))
        return None

    def _can_run(self, helper: ConnectedHelper, version: Version, willing: Collection[int]) -> bool:
        """Whether a PC can run a version, as far as is known; `willing` are the teams that allow it.

        An anchor is played here.
        """
        if version.team_id is None:
            return True
        program = self._remote.get(version.id)
        if program is None or version.team_id not in willing:
            return False
        assert self._gate is not None
        return not self._gate.run_problem(helper.id, program)

    # -- results ----------------------------------------------------------------------------------------------------

    async def _record(
        self, pair: Pair, played: GamePlayed, sides: tuple[Version, Version], settings: LeagueSettings, machine: str
    ) -> None:
        record = GameRecord.from_json(played.record)
        if record.verdict == Verdict.OVERLOAD and not machine:
            self._calm_pairs = 0
            self._most_pairs = max(1, self._most_pairs - 1)
        game = msgspec.structs.replace(
            played_game(pair.id, played.number, record, played),
            machine1="" if sides[0].team_id is None else machine,
            machine2="" if sides[1].team_id is None else machine,
        )
        await self._change(games.record_game, game, self._now())
        self._want_table()
        self.changed.publish()
        if record.offender is not None:
            version = sides[record.offender]
            if version.team_id is not None and pair.purpose != "final":  # who fails there loses
                await self._change(pause_if_faulty, version.id, settings, game, self._now())


_URGENCY: Final = ("check", "challenge", "repeat", "final", "league")
"""The purposes of pairs, the one first that is played first."""
_NO_RESULT: Final = Fault(
    "no-result",
    "Die Prüfung kam mehrmals zu keinem Ergebnis, weil sie zu lange dauerte oder abbrach. Lass weg, was dein Programm "
    "nicht braucht, lass es schneller starten, und lade es noch einmal hoch.",
    "The check had no result several times, because it took too long or broke off. Leave out what your program does "
    "not need, let it start faster, and upload it again.",
)


def open_arena_client(settings: LeagueSettings, folder: Path, on_change: Callable[[str], object]) -> ArenaClient:
    """Return the arena of the league in `folder`, which is not running yet."""
    digest = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()
    return ArenaClient(settings.game_type, settings.edition, f"league-{digest[:16]}", on_change)


def played_game(pair_id: int, number: int, record: GameRecord, played: GamePlayed) -> PlayedGame:
    """Return a finished game as the database keeps it; the reason is a sentence in both languages."""
    name = None if record.offender is None else record.names[record.offender]
    english = verdict_words(record.verdict, name, record.reason)["en"]
    german = verdict_words(record.verdict, name, german_reason(record.reason))["de"]
    return PlayedGame(
        pair_id=pair_id,
        number=number,
        winner=record.winner,
        is_counted=record.is_counted,
        verdict=record.verdict,
        offender=record.offender,
        reason_de=german,
        reason_en=english,
        points1=record.points[0],
        points2=record.points[1],
        plies=record.plies,
        seconds=record.wall_seconds,
        replay=played.replay,
        details=played.record,
        stderr1=played.errors[0],
        stderr2=played.errors[1],
    )


def pause_if_faulty(db: Connection, version_id: int, settings: LeagueSettings, game: PlayedGame, now: float) -> bool:
    """Pause a version that has lost its last games by its own faults; return whether it was paused.

    `game` is the last of them. Faults after the end of a game, which cost nothing, do not count.
    """
    limit = settings.faults_until_pause
    faults = games.recent_faults(db, version_id, limit)
    if limit < 1 or len(faults) < limit or any(each is None or each in LEFTOVER_VERDICTS for each in faults):
        return False
    if settings.language == "de":
        reason = f"{limit} Spiele nacheinander durch eigene Fehler verloren, zuletzt: {game.reason_de}"
    else:
        reason = f"lost {limit} games in a row by its own faults, the last one: {game.reason_en}"
    versions.pause_version(db, version_id, reason, now, by=log.LEAGUE)
    return True


def _read_table(db: Connection, day: str) -> tuple[list[Version], list[PairingResult], dict[int, float]]:
    return (
        versions.list_versions(db),
        games.pairing_results(db),
        rating_history.ratings_before(db, day),
    )


def _is_machines_fault(error: Exception) -> bool:
    """Whether a program could not be examined because of this machine, and not because of its package."""
    return error.is_machines_fault if isinstance(error, NotCheckedError) else isinstance(error, OSError)


def _day(now: float) -> str:
    return datetime.fromtimestamp(now).astimezone().date().isoformat()
