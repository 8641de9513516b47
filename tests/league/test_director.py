"""What the director decides, with an arena and checks whose outcomes are planted, on a virtual clock."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from spielleiter.league import challenges, games, stages, teams, versions
from spielleiter.league.arena_client import NotPlayedError
from spielleiter.league.arena_messages import ArenaReady, GamePlayed
from spielleiter.league.check_messages import Checked, FindNeeds, StartCheck, StartUnpacking, Unpacked
from spielleiter.league.checks import NotCheckedError
from spielleiter.league.database import Database
from spielleiter.league.director import ROUTINE_INTERVAL, SHORT_ATTEMPTS, Director, pause_if_faulty
from spielleiter.league.errors import LeagueDiskError, LeagueFileError
from spielleiter.league.gate_client import ConnectedHelper, PairLostError, RemoteProgram
from spielleiter.league.gate_messages import AllowedHelper
from spielleiter.league.helpers import add_helper, list_helpers, revoke_helper
from spielleiter.league.model import Fault, FinalKind, PlayedGame, Version
from spielleiter.league.package_needs import Machine, PackageNeeds, package_needs
from spielleiter.league.settings import Anchor, change_settings, load_settings
from spielleiter.match.plan import Entrant, ProgramTimeouts
from spielleiter.match.records import GameRecord
from spielleiter.match.verdict import Verdict
from spielleiter.programs.sandbox.sandbox import BUBBLEWRAP, NONE
from tests.contest.packages import make_package
from tests.idle_clock import jump_when_idle
from tests.league.leagues import NOON, League
from tests.match.sample_records import fault, game

pytestmark = pytest.mark.slow

Outcome = Callable[[int, int], GameRecord]
FAULT = Fault("crash", "Es stürzt ab.", "It crashes.")


class PlantedArena:
    """Plays pairs without programs: `outcome` gives the record of a game by its pair and number."""

    def __init__(self, sandbox: str = BUBBLEWRAP, most_pairs: int = 3) -> None:
        self.ready: ArenaReady | None = ArenaReady(0, sandbox, (), most_pairs)
        self.outcome: Outcome = lambda _pair, number: game(number, (number + 1) % 2)
        self.errors: list[Exception] = []
        """What is raised instead of playing, one after the other."""
        self.most = 1_000
        """The number of pairs after which it lets all others wait."""
        self.orders: list[tuple[int, tuple[int, ...], tuple[Entrant, Entrant]]] = []
        self.slow: set[int] = set()
        """The pairs that take a day."""
        self.at_once = self.most_at_once = 0
        self.is_idle = trio.Event()
        """Set once `most` pairs were played, and no other one."""

    async def run(self) -> None:
        await trio.sleep_forever()

    async def play(
        self,
        pair: int,
        _seed: int,
        numbers: Sequence[int],
        entrants: tuple[Entrant, Entrant],
        _timeouts: ProgramTimeouts,
        on_game: Callable[[GamePlayed], Awaitable[object]],
    ) -> None:
        if len(self.orders) >= self.most:
            await trio.sleep_forever()
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.orders.append((pair, tuple(numbers), entrants))
        try:
            await trio.sleep(86_400 if pair in self.slow else 1)
            for number in numbers:
                if self.errors:
                    raise self.errors.pop(0)
                record = self.outcome(pair, number)
                await on_game(GamePlayed(pair, number, record.to_json(), b"replay", (b"stderr", None)))
        finally:
            self.at_once -= 1
            if len(self.orders) >= self.most and not self.at_once:
                self.is_idle.set()


class PlantedChecks:
    """Checks uploads by planted results, of which the last one stays."""

    def __init__(self, *results: Checked | Exception) -> None:
        self.results = list(results) or [Checked(None)]
        self.starts: list[StartCheck] = []

    async def __call__(self, start: StartCheck, tell: Callable[[str], object]) -> Checked:
        self.starts.append(start)
        tell("game 1")
        await trio.sleep(1)
        if start.kind == "full":
            return Checked(None)
        result = self.results.pop(0) if len(self.results) > 1 else self.results[0]
        if isinstance(result, Exception):
            raise result
        return result


class FirstCheckHangs(PlantedChecks):
    """The first short check takes for ever."""

    async def __call__(self, start: StartCheck, tell: Callable[[str], object]) -> Checked:
        if start.kind == "short" and not any(each.kind == "short" for each in self.starts):
            self.starts.append(start)
            await trio.sleep_forever()
        return await super().__call__(start, tell)


class Planted:
    """A league with a director."""

    def __init__(self, league: League, folder: Path) -> None:
        self.league = league
        self.folder = folder
        self.arena = PlantedArena()
        self.checks = PlantedChecks()
        self.gate: PlantedGate | None = None
        self.bugs: list[BaseException] = []
        self.unpacked: list[StartUnpacking] = []
        self.failed_unpackings = 0
        self.unread: dict[str, list[NotCheckedError]] = {}
        """By SHA-256: why what the package needs is not found, one after the other."""
        self.package = make_package(folder / "player.zip").read_bytes()
        self._packages = 0

    def upload(self, team: int) -> Version:
        self._packages += 1
        return self.league.upload(team, content=self.package + bytes(self._packages))

    def add(self, *names: str) -> list[Version]:
        """Make teams, each with an accepted version."""
        found = []
        for name in names:
            version = self.upload(self.league.add_team(name))
            found.append(self.league(versions.finish_check, version.id, None, NOON))
        return found

    async def unpack(self, start: StartUnpacking) -> Unpacked:
        await trio.sleep(1)
        if self.failed_unpackings:
            self.failed_unpackings -= 1
            raise NotCheckedError("unpacking has taken more than 120 s", is_machines_fault=False)
        self.unpacked.append(start)
        return Unpacked(f"{start.folder}/start.sh", "")

    async def find_needs(self, start: FindNeeds) -> PackageNeeds:
        if failures := self.unread.get(Path(start.path).stem):
            await trio.sleep(10)
            raise failures.pop(0)
        await trio.sleep(1)
        return package_needs(Path(start.path), start.main)

    @asynccontextmanager
    async def directed(self, database: Database | None = None) -> AsyncIterator[Director]:
        director = Director(
            database or self.league.database,
            self.arena,
            self.folder,
            now=lambda: NOON + trio.current_time(),
            chance=random.Random(4),
            gate=self.gate,
            check=self.checks,
            unpack=self.unpack,
            needs=self.find_needs,
            report_bug=self.bugs.append,
        )
        with trio.fail_after(100_000):
            async with trio.open_nursery() as nursery:
                director.note_arena("")
                nursery.start_soon(director.run)
                nursery.start_soon(jump_when_idle)
                yield director
                nursery.cancel_scope.cancel()
        assert not self.bugs

    async def play(self, pairs: int) -> None:
        """Let the director play this many pairs."""
        self.arena.most, self.arena.is_idle = len(self.arena.orders) + pairs, trio.Event()
        async with self.directed():
            await self.arena.is_idle.wait()

    async def until(self, director: Director, is_reached: Callable[[], bool]) -> None:
        while not is_reached():
            with trio.move_on_after(60):
                await director.changed.newer_than(director.changed.newest, _ignore)


async def _ignore(_frame: bytes) -> None: ...


@pytest.fixture
def planted(league: League, tmp_path: Path) -> Planted:
    return Planted(league, tmp_path / "league")


# -- which pairs are played -------------------------------------------------------------------------------------------


async def test_pairs_are_played_at_once_and_recorded(planted: Planted, mock_clock: MockClock) -> None:
    planted.add("A", "B", "C", "D", "E")
    planted.league(versions.set_anchors, [Anchor("builtin:greedy", 0.0)], NOON)
    await planted.play(12)
    assert planted.arena.most_at_once == 3
    found = planted.league(games.list_games, limit=100)
    assert len(found) == 24
    assert {each.reason_de for each in found} == {"regulär zu Ende gespielt (the rules' end)"}
    recording = planted.league(games.get_recording, found[0].id)
    assert recording is not None
    assert (recording.replay, recording.stderr1, recording.stderr2) == (b"replay", b"stderr", None)
    entrants = [each for _, _, pair in planted.arena.orders for each in pair]
    uploads = [each for each in entrants if each.name != "greedy"]
    assert all(each.sandbox is not None and each.cwd for each in uploads)
    assert {each.command for each in entrants if each.name == "greedy"} == {"builtin:greedy"}


async def test_challenge_is_played_before_the_games_of_the_league(planted: Planted, mock_clock: MockClock) -> None:
    first, *_, last = planted.add("A", "B", "C", "D")
    assert first.team_id is not None
    assert last.team_id is not None
    challenge = planted.league(challenges.challenge_team, first.team_id, last.team_id, NOON, seed=1)
    planted.arena.ready = ArenaReady(0, BUBBLEWRAP, (), 1)
    await planted.play(3)
    assert planted.arena.orders[0][0] == challenge.pair_id


async def test_interrupted_pair_is_completed(planted: Planted, mock_clock: MockClock) -> None:
    first, second = planted.add("A", "B")
    pair = planted.league.open_pair(first, second)
    planted.league.play(pair, 1, 0)
    planted.arena.ready = ArenaReady(0, BUBBLEWRAP, (), 1)
    await planted.play(1)
    assert planted.arena.orders[0][:2] == (pair.id, (2,))


async def test_nothing_is_played_while_the_league_is_paused(planted: Planted, mock_clock: MockClock) -> None:
    planted.add("A", "B")
    planted.league(change_settings, is_paused=True)
    async with planted.directed() as director:
        await trio.sleep(20)
        assert not planted.arena.orders
        planted.league(change_settings, is_paused=False)
        director.wake()
        await planted.until(director, lambda: bool(planted.arena.orders))


async def test_paused_version_and_paused_team_do_not_play(planted: Planted, mock_clock: MockClock) -> None:
    found = planted.add("A", "B", "C", "D")
    planted.league(versions.pause_version, found[0].id, "it crashes", NOON)
    await planted.play(6)
    names = {entrant.name for _, _, pair in planted.arena.orders for entrant in pair}
    assert names == {"B", "C", "D"}


async def test_limit_of_the_teacher_holds(planted: Planted, mock_clock: MockClock) -> None:
    planted.add("A", "B", "C", "D")
    planted.league(change_settings, most_games_at_once=1)
    await planted.play(4)
    assert planted.arena.most_at_once == 1


async def test_new_version_meets_the_lowest_builtin_player_at_once(planted: Planted, mock_clock: MockClock) -> None:
    planted.add("A", "B", "C")
    anchors = [Anchor("builtin:greedy", 0.0), Anchor("builtin:level-3", 300.0)]
    planted.league(versions.set_anchors, anchors, NOON)
    planted.arena.ready = ArenaReady(0, BUBBLEWRAP, (), 1)
    await planted.play(10)
    planted.add("D")
    planted.arena.orders.clear()
    await planted.play(1)
    [(_, _, entrants)] = planted.arena.orders
    assert {each.name for each in entrants} == {"D", "greedy"}


async def test_place_is_kept_for_the_version_that_is_checked(planted: Planted, mock_clock: MockClock) -> None:
    planted.add("A", "B", "C", "D", "E", "F")
    planted.league(versions.set_anchors, [Anchor("builtin:greedy", 0.0)], NOON)
    planted.arena.ready = ArenaReady(0, BUBBLEWRAP, (), 6)
    await planted.play(6)  # so that all have played
    planted.arena.most, planted.arena.most_at_once = 1_000, 0
    planted.upload(planted.league.add_team("late"))
    planted.checks = FirstCheckHangs()
    async with planted.directed() as director:
        await planted.until(director, lambda: any(each.doing for each in director.queue))
        await trio.sleep(20)  # the pairs that were begun before are over
        planted.arena.most_at_once = 0
        await trio.sleep(20)
    assert planted.arena.most_at_once == 3  # two places for the check, one for the version afterwards


async def test_slow_version_does_not_take_all_places(planted: Planted, mock_clock: MockClock) -> None:
    planted.add("A")
    anchors = [Anchor(f"builtin:level-{number}", 100.0 * number) for number in range(1, 8)]
    planted.league(versions.set_anchors, anchors, NOON)
    planted.arena.ready = ArenaReady(0, BUBBLEWRAP, (), 6)
    await planted.play(6)
    assert planted.arena.most_at_once == 2


# -- what the machine fails -------------------------------------------------------------------------------------------


async def test_pair_that_the_machine_failed_is_played_again(planted: Planted, mock_clock: MockClock) -> None:
    planted.add("A", "B")
    planted.arena.errors = [NotPlayedError("the arena ended: killed"), NotPlayedError("no memory")]
    async with planted.directed() as director:
        await planted.until(director, lambda: bool(planted.arena.orders))
        failed = planted.arena.orders[0][0]
        await planted.until(director, lambda: planted.league(games.get_pair, failed).state == "done")
        await planted.until(director, lambda: director.problem == "")
    found = planted.league(games.list_games)
    assert len(found) == len({(each.pair_id, each.number) for each in found})


async def test_package_is_unpacked_once_and_again_after_a_failure(planted: Planted, mock_clock: MockClock) -> None:
    planted.add("A", "B", "C")
    planted.failed_unpackings = 2
    await planted.play(6)
    assert len(planted.unpacked) == 3
    assert planted.failed_unpackings == 0
    folders = {entrant.cwd for _, _, pair in planted.arena.orders for entrant in pair}
    assert folders == {start.folder for start in planted.unpacked}


async def test_pairs_that_the_machine_fails_again_and_again_do_not_pile_up(
    planted: Planted, mock_clock: MockClock
) -> None:
    planted.add("A", "B", "C", "D")
    planted.arena.errors = [NotPlayedError("no memory") for _ in range(1_000)]
    async with planted.directed():
        await trio.sleep(20)
    # a pair is opened only of two versions that no failed pair has
    assert len(planted.league(games.list_pairs)) <= 4


async def test_overload_lowers_the_number_of_pairs_at_once(planted: Planted, mock_clock: MockClock) -> None:
    planted.add("A", "B", "C", "D", "E", "F")
    planted.arena.errors = [NotPlayedError("busy", is_overloaded=True), NotPlayedError("busy", is_overloaded=True)]
    await planted.play(4)
    planted.arena.most_at_once = planted.arena.at_once
    async with planted.directed() as director:
        before = len(planted.arena.orders)
        planted.arena.errors = [NotPlayedError("busy", is_overloaded=True)] * 3
        planted.arena.most = 1_000
        await planted.until(director, lambda: len(planted.arena.orders) > before + 12)
        assert director.playing < 3


class FullDisk(Database):
    """The same database, on a disk that is full at some moments, and once locked by another process."""

    failures = 0
    locked_reads = 1

    async def read(self, function: Any, *args: Any, **options: Any) -> Any:
        if self.locked_reads and function is versions.playing_versions:
            self.locked_reads -= 1
            raise LeagueFileError("the database is locked")
        return await super().read(function, *args, **options)

    async def write(self, function: Any, *args: Any, **options: Any) -> Any:
        if self.failures and function is games.record_game:
            self.failures -= 1
            raise LeagueDiskError("the disk is full")
        return await super().write(function, *args, **options)


async def test_full_disk_loses_no_game(planted: Planted, mock_clock: MockClock) -> None:
    planted.add("A", "B")
    database = FullDisk(planted.league.database.path)
    database.failures = 3
    problems = set()
    try:
        async with planted.directed(database) as director:

            def is_recorded() -> bool:
                problems.add(director.problem)
                return any(pair.state == "done" for pair in planted.league(games.list_pairs))

            await planted.until(director, is_recorded)
    finally:
        database.close()
    assert any("the disk is full" in each for each in problems)
    assert database.failures == database.locked_reads == 0
    assert all(numbers == (1, 2) for _, numbers, _ in planted.arena.orders)  # nothing was played again


# -- sandbox ----------------------------------------------------------------------------------------------------------


async def test_without_a_sandbox_no_upload_runs_unless_the_teacher_says_so(
    planted: Planted, mock_clock: MockClock
) -> None:
    planted.add("A", "B")
    waiting = planted.upload(planted.league.add_team("C"))
    planted.arena = PlantedArena(NONE)
    async with planted.directed() as director:
        assert director.sandbox is not None
        assert not director.sandbox.is_strong
        await trio.sleep(20)
        assert not planted.arena.orders
        assert not planted.checks.starts
        planted.league(change_settings, runs_without_sandbox=True)
        director.wake()
        await planted.until(director, lambda: bool(planted.arena.orders))
        await planted.until(director, lambda: planted.league(versions.get_version, waiting.id).state == "accepted")


# -- programs that fail -----------------------------------------------------------------------------------------------


async def test_program_that_fails_again_and_again_is_paused_and_its_team_told_why(
    planted: Planted, mock_clock: MockClock
) -> None:
    first, second = planted.add("A", "B")
    planted.league(change_settings, faults_until_pause=3)

    def first_crashes(pair: int, number: int) -> GameRecord:
        side = 0 if planted.league(games.get_pair, pair).first == first.id else 1
        return fault(number, side, Verdict.CRASH, reason="ended with exit code 1")

    planted.arena.outcome = first_crashes
    async with planted.directed() as director:
        await planted.until(director, lambda: planted.league(versions.get_version, first.id).is_paused)
    reason = planted.league(versions.get_version, first.id).pause_reason
    assert reason.startswith("3 Spiele nacheinander durch eigene Fehler verloren")
    assert "beendet mit Exitcode 1" in reason
    assert not planted.league(versions.get_version, second.id).is_paused


async def test_faults_before_a_version_was_resumed_do_not_pause_it_again(planted: Planted) -> None:
    first, second = planted.add("A", "B")
    settings = planted.league(change_settings, faults_until_pause=3)

    def crash_twice_more() -> bool:
        """Let the first version crash in both games of a pair; return whether it is paused then."""
        pair = planted.league.open_pair(first, second)
        for number in (1, 2):
            played = PlayedGame(
                pair_id=pair.id, number=number, winner=1, is_counted=True, verdict=Verdict.CRASH, offender=0
            )
            planted.league(games.record_game, played, NOON)
            planted.league(pause_if_faulty, first.id, settings, played, NOON)
        return planted.league(versions.get_version, first.id).is_paused

    assert [crash_twice_more(), crash_twice_more()] == [False, True]
    planted.league(versions.resume_version, first.id, NOON)
    assert [crash_twice_more(), crash_twice_more()] == [False, True]


async def test_faults_after_the_end_of_a_game_pause_nobody(planted: Planted, mock_clock: MockClock) -> None:
    found = planted.add("A", "B")
    planted.league(change_settings, faults_until_pause=2)
    planted.arena.outcome = lambda _pair, number: game(number, 0, offender=0, verdict=Verdict.NEVER_ENDS)
    await planted.play(5)
    assert not any(planted.league(versions.get_version, each.id).is_paused for each in found)


# -- other machines ---------------------------------------------------------------------------------------------------


class PlantedLease:
    def __init__(self, gate: PlantedGate, programs: Sequence[RemoteProgram | None]) -> None:
        self._gate = gate
        self.entrants = [None if each is None else Entrant(each.name, "remote") for each in programs]

    async def settle(self) -> None:
        if self._gate.losses:
            raise self._gate.losses.pop(0)


class PlantedGate:
    """One PC that is connected, with one place."""

    def __init__(self) -> None:
        self.losses: list[PairLostError] = []
        """What `settle` raises, one after the other."""
        self.allowed: list[str] = []
        self.playing = 0
        self.unable: set[str] = set()
        """The teams whose programs the PC cannot run."""
        self._machine = Machine("pc-1", "linux", "x86_64", 2, 1.0, BUBBLEWRAP, "", {}, "1")

    async def run(self) -> None:
        await trio.sleep_forever()

    def allow(self, helpers: Sequence[AllowedHelper]) -> None:
        self.allowed = [each.name for each in helpers]

    def helpers(self) -> list[ConnectedHelper]:
        return [ConnectedHelper(1, "pc-1", self._machine, 1, self.playing, 0.0, "")] if self.allowed else []

    def run_problem(self, _helper_id: int, program: RemoteProgram) -> str:
        return "it cannot" if program.name in self.unable else ""

    @asynccontextmanager
    async def lease(self, _helper_id: int, programs: Sequence[RemoteProgram | None]) -> AsyncIterator[PlantedLease]:
        self.playing += 1
        try:
            yield PlantedLease(self, programs)
        finally:
            self.playing -= 1


@pytest.fixture
def gate(planted: Planted) -> PlantedGate:
    """A PC that helps, while this machine itself plays nothing: it has no sandbox."""
    gate = planted.gate = PlantedGate()
    planted.arena = PlantedArena(NONE)
    planted.league(add_helper, "pc-1", "hash", NOON)
    planted.league(change_settings, uses_helpers=True)
    return gate


def helped(planted: Planted, *names: str) -> list[Version]:
    found = planted.add(*names)
    for version in found:
        assert version.team_id is not None
        planted.league(teams.set_allows_helpers, version.team_id, True, NOON, by="team")
    return found


async def test_pair_is_played_on_another_machine(planted: Planted, mock_clock: MockClock, gate: PlantedGate) -> None:
    helped(planted, "A", "B")
    async with planted.directed() as director:
        await planted.until(director, lambda: len(planted.league(games.list_games)) >= 4)
    assert gate.allowed == ["pc-1"]
    assert {each.machine1 for each in planted.league(games.list_games)} == {"pc-1"}
    assert {each.command for _, _, pair in planted.arena.orders for each in pair} == {"remote"}
    assert planted.arena.most_at_once == 1


async def test_game_of_a_machine_that_was_lost_is_played_again_and_recorded_once(
    planted: Planted, mock_clock: MockClock, gate: PlantedGate
) -> None:
    helped(planted, "A", "B")
    gate.losses = [PairLostError("the plug was pulled"), PairLostError("again")]
    async with planted.directed() as director:
        await planted.until(director, lambda: any(pair.state == "done" for pair in planted.league(games.list_pairs)))
    found = planted.league(games.list_games)
    assert len(found) == len({(each.pair_id, each.number) for each in found})
    assert len(planted.arena.orders) >= 3


async def test_team_may_keep_its_programs_on_this_machine(
    planted: Planted, mock_clock: MockClock, gate: PlantedGate
) -> None:
    helped(planted, "A", "B")
    third = planted.add("C")[0]
    assert third.team_id is not None
    planted.league(teams.set_allows_helpers, third.team_id, False, NOON, by="team")
    gate.unable = {"B"}
    async with planted.directed():
        await trio.sleep(30)
    assert not planted.arena.orders


async def test_pc_plays_while_a_pair_waits_for_this_machine(
    planted: Planted, mock_clock: MockClock, gate: PlantedGate
) -> None:
    planted.arena = PlantedArena(most_pairs=1)
    *_, waiting, blocking = helped(planted, "A", "B", "C", "D")
    for version in (waiting, blocking):
        assert version.team_id is not None
        planted.league(teams.set_allows_helpers, version.team_id, False, NOON, by="team")
    slow = planted.league.open_pair(waiting, blocking)
    planted.league.open_pair(waiting, blocking)
    planted.arena.slow = {slow.id}
    async with planted.directed() as director:
        await planted.until(director, lambda: len(planted.league(games.list_games)) >= 6)
    assert {each.machine1 for each in planted.league(games.list_games)} == {"pc-1"}


@pytest.mark.parametrize("is_machines_fault", [False, True])
async def test_package_whose_needs_are_not_found_keeps_no_pc_from_others(
    planted: Planted, mock_clock: MockClock, gate: PlantedGate, is_machines_fault: bool
) -> None:
    hostile, other, _ = helped(planted, "A", "B", "C")
    assert hostile.sha256 is not None
    failures = planted.unread[hostile.sha256] = [
        NotCheckedError("no result", is_machines_fault=is_machines_fault) for _ in range(100)
    ]
    planted.league.open_pair(hostile, other)
    async with planted.directed():
        await trio.sleep(3 * ROUTINE_INTERVAL)
    found = planted.league(games.list_games, limit=1_000)
    assert len(found) > 20
    assert hostile.team_id not in {team for each in found for team in (each.team1, each.team2)}
    assert len(failures) < 99 if is_machines_fault else len(failures) == 99


async def test_revoked_machine_may_help_no_more(planted: Planted, mock_clock: MockClock, gate: PlantedGate) -> None:
    helped(planted, "A", "B")
    async with planted.directed() as director:
        await planted.until(director, lambda: bool(gate.allowed))
        [helper] = planted.league(list_helpers)
        planted.league(revoke_helper, helper.id, NOON)
        director.wake()
        await planted.until(director, lambda: not gate.allowed)


# -- checks -----------------------------------------------------------------------------------------------------------


async def test_upload_is_checked_then_plays_and_is_checked_fully(planted: Planted, mock_clock: MockClock) -> None:
    planted.add("A")
    version = planted.upload(planted.league.add_team("B"))
    async with planted.directed() as director:
        await planted.until(director, lambda: planted.league(versions.get_version, version.id).full_check == "passed")
        await planted.until(director, lambda: bool(planted.arena.orders))
    assert [start.kind for start in planted.checks.starts].count("short") == 1
    assert planted.league(versions.get_version, version.id).state == "accepted"


async def test_queue_tells_what_is_done_and_how_long_it_takes(planted: Planted, mock_clock: MockClock) -> None:
    waiting = [planted.upload(planted.league.add_team(name)) for name in "ABC"]
    async with planted.directed() as director:
        await planted.until(director, lambda: any(each.doing == "game 1" for each in director.queue))
        queue = director.queue
    assert [each.version_id for each in queue] == [version.id for version in waiting]
    assert queue[0].seconds <= queue[1].seconds < queue[2].seconds


async def test_check_that_takes_long_delays_no_other(planted: Planted, mock_clock: MockClock) -> None:
    ids = [planted.upload(planted.league.add_team(name)).id for name in ("A", "B")]
    planted.checks = FirstCheckHangs()
    async with planted.directed() as director:

        def states() -> list[str]:
            return sorted(planted.league(versions.get_version, each).state for each in ids)

        # two checks run at the same time, in any order
        await planted.until(director, lambda: states() == ["accepted", "checking"])


async def test_refused_upload_tells_its_fault(planted: Planted, mock_clock: MockClock) -> None:
    planted.checks = PlantedChecks(Checked(FAULT))
    version = planted.upload(planted.league.add_team("A"))
    async with planted.directed() as director:
        await planted.until(director, lambda: planted.league(versions.get_version, version.id).state == "refused")
    assert planted.league(versions.get_version, version.id).fault_de == FAULT.de


async def test_check_that_the_machine_failed_is_tried_until_it_succeeds(
    planted: Planted, mock_clock: MockClock
) -> None:
    failures = [NotCheckedError("no memory", is_machines_fault=True)] * SHORT_ATTEMPTS
    planted.checks = PlantedChecks(*failures, Checked(None))
    version = planted.upload(planted.league.add_team("A"))
    async with planted.directed() as director:
        await planted.until(director, lambda: planted.league(versions.get_version, version.id).state == "accepted")


async def test_upload_whose_check_never_ends_is_refused(planted: Planted, mock_clock: MockClock) -> None:
    planted.checks = PlantedChecks(NotCheckedError("it ended", is_machines_fault=False))
    version = planted.upload(planted.league.add_team("A"))
    async with planted.directed() as director:
        await planted.until(director, lambda: planted.league(versions.get_version, version.id).state == "refused")
    assert sum(start.kind == "short" for start in planted.checks.starts) == SHORT_ATTEMPTS
    assert "Prüfung" in planted.league(versions.get_version, version.id).fault_de


async def test_check_that_a_crash_has_interrupted_begins_anew(planted: Planted, mock_clock: MockClock) -> None:
    version = planted.upload(planted.league.add_team("A"))
    planted.league(versions.begin_check, version.id)
    async with planted.directed() as director:
        await planted.until(director, lambda: planted.league(versions.get_version, version.id).state == "accepted")


class FailingFullCheck(PlantedChecks):
    async def __call__(self, start: StartCheck, tell: Callable[[str], object]) -> Checked:
        if start.kind == "full":
            return Checked(FAULT, report={"format": 1})
        return await super().__call__(start, tell)


async def test_full_check_withdraws_a_version_and_the_older_one_plays(planted: Planted, mock_clock: MockClock) -> None:
    [old] = planted.add("A")
    planted.checks = FailingFullCheck()
    assert old.team_id is not None
    new = planted.upload(old.team_id)
    planted.league(versions.finish_full_check, old.id, "passed", None, None, NOON)
    async with planted.directed() as director:
        await planted.until(director, lambda: planted.league(versions.get_version, new.id).state == "withdrawn")
    assert planted.league(versions.get_version, old.id).is_active


# -- dates and the final ----------------------------------------------------------------------------------------------


async def test_league_freezes_at_its_date_and_plays_on(planted: Planted, mock_clock: MockClock) -> None:
    planted.add("A", "B")
    planted.league(change_settings, freeze_at=NOON + 60)
    async with planted.directed() as director:
        await planted.until(director, lambda: planted.league(load_settings).stage == "frozen")
        before = len(planted.arena.orders)
        await planted.until(director, lambda: len(planted.arena.orders) > before + 2)


@pytest.mark.parametrize("kind", ["round-robin", "swiss", "knock-out"])
async def test_final_is_played_to_its_end(planted: Planted, mock_clock: MockClock, kind: FinalKind) -> None:
    planted.add("A", "B", "C", "D")
    planted.league(stages.begin_final, kind, 1, NOON)
    planted.arena.outcome = lambda _pair, number: game(number, 0, offender=1)

    def champion() -> str | None:
        found = planted.league(stages.bracket)
        assert found is not None
        return found.champion

    async with planted.directed() as director:
        await planted.until(director, lambda: champion() is not None)
        await trio.sleep(20)
        played = len(planted.arena.orders)
        await trio.sleep(20)
        assert len(planted.arena.orders) == played
    assert not any(version.is_paused for version in planted.league(versions.active_versions))
    purposes = {planted.league(games.get_pair, pair).purpose for pair, _, _ in planted.arena.orders}
    assert purposes == {"final"}


async def test_nothing_is_played_when_the_league_is_over(planted: Planted, mock_clock: MockClock) -> None:
    planted.add("A", "B")
    planted.league(stages.end, NOON)
    async with planted.directed():
        await trio.sleep(20)
    assert not planted.arena.orders
