"""The runner of a match: concurrency, cores, signals, and games that end the match."""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest
import trio
import trio.testing

import spielleiter.match.runner
from spielleiter.common.errors import MachineError, SetupError
from spielleiter.common.process import stop_signals
from spielleiter.match.plan import Entrant, MatchSetup, PlannedGame
from spielleiter.match.records import GameRecord, open_journal
from spielleiter.match.runner import (
    GAMES_PER_CORE,
    MACHINE_FAILURES,
    Conditions,
    Cores,
    EndReason,
    allocate_cores,
    count_cores,
    fair_concurrency,
    play_games,
)
from spielleiter.match.stopping import play_to_the_end
from spielleiter.match.verdict import Verdict
from spielleiter.programs.platforms import PLATFORM
from tests.match.sample_records import fault, game
from tests.timeouts import HANG_TIMEOUT

SETUP = MatchSetup((Entrant("new", "new"), Entrant("old", "old")), "chess", games=10, seed=1, run_id="run")

Act: TypeAlias = Callable[[PlannedGame], Awaitable[GameRecord]]


class RecordingListener:
    """A listener that remembers what it was notified of."""

    def __init__(self) -> None:
        self.started: list[int] = []
        self.finished: list[int] = []
        self.stops = 0

    def game_started(self, planned: PlannedGame) -> None:
        self.started.append(planned.game)

    def game_finished(self, record: GameRecord) -> None:
        self.finished.append(record.game)

    def stopping(self) -> None:
        self.stops += 1


class RunnerHarness:
    """Plays matches whose games are invented by `act`."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.listener = RecordingListener()
        self.act: Act = self.won
        self.cores: list[tuple[Cores, Cores]] = []
        self.at_a_time = 0
        self.most_at_a_time = 0
        monkeypatch.setattr(spielleiter.match.runner, "play_game", self._play_game)

    async def won(self, planned: PlannedGame) -> GameRecord:
        await trio.lowlevel.checkpoint()
        return game(planned.game)

    async def _play_game(
        self,
        _setup: MatchSetup,
        planned: PlannedGame,
        folder: Path,
        cores: tuple[Cores, Cores],
        _match_server: object,
        _keep: object,
        _persistent_programs: object,
    ) -> GameRecord:
        assert folder == self.folder
        self.cores.append(cores)
        self.at_a_time += 1
        self.most_at_a_time = max(self.most_at_a_time, self.at_a_time)
        try:
            return await self.act(planned)
        finally:
            self.at_a_time -= 1

    async def play(
        self,
        conditions: Conditions | None = None,
        is_decided: Callable[[Sequence[GameRecord]], bool] = play_to_the_end,
    ) -> EndReason:
        with open_journal(self.folder) as journal, trio.fail_after(HANG_TIMEOUT):
            return await play_games(SETUP, self.folder, journal, self.listener, conditions or Conditions(), is_decided)

    @property
    def journal(self) -> list[int]:
        with open_journal(self.folder) as journal:
            return list(journal.records)


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunnerHarness:
    return RunnerHarness(tmp_path, monkeypatch)


ALL = list(range(1, 11))


async def test_every_game_is_played_and_kept(harness: RunnerHarness) -> None:
    assert await harness.play() is EndReason.COMPLETED
    assert harness.journal == harness.listener.started == harness.listener.finished == ALL
    assert harness.most_at_a_time == 1


async def test_a_game_is_in_the_journal_before_the_listener_is_notified(
    harness: RunnerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check_journal(record: GameRecord) -> None:
        assert (harness.folder / "games.jsonl").read_text().count("\n") == record.game

    monkeypatch.setattr(harness.listener, "game_finished", check_journal)
    assert await harness.play() is EndReason.COMPLETED


@pytest.mark.parametrize("concurrency", [1, 3, 10, 20])
async def test_games_are_played_concurrently(concurrency: int, harness: RunnerHarness) -> None:
    async def rest(planned: PlannedGame) -> GameRecord:
        await trio.testing.wait_all_tasks_blocked()
        return game(planned.game)

    harness.act = rest
    assert await harness.play(Conditions(concurrency)) is EndReason.COMPLETED
    assert sorted(harness.journal) == ALL
    assert harness.most_at_a_time == min(concurrency, 10)


async def test_games_in_the_journal_are_not_played_again(harness: RunnerHarness) -> None:
    with open_journal(harness.folder) as journal:
        for number in (2, 5):
            journal.append(game(number))
    assert await harness.play() is EndReason.COMPLETED
    assert harness.listener.started == [1, 3, 4, 6, 7, 8, 9, 10]
    assert await harness.play() is EndReason.COMPLETED
    assert sorted(harness.journal) == ALL


async def test_a_decision_ends_the_match_and_cuts_off_running_games(harness: RunnerHarness) -> None:
    async def first_alone(planned: PlannedGame) -> GameRecord:
        if planned.game > 1:
            await trio.sleep_forever()
        return game(planned.game)

    harness.act = first_alone
    assert await harness.play(Conditions(4), lambda records: len(records) == 1) is EndReason.DECIDED
    assert harness.journal == [1]
    assert harness.at_a_time == 0
    assert await harness.play(is_decided=lambda records: len(records) == 1) is EndReason.DECIDED
    assert harness.listener.finished == [1]


@pytest.mark.parametrize(
    ("is_fail_fast", "end", "played"), [(True, EndReason.FAULT, 3), (False, EndReason.COMPLETED, 10)]
)
async def test_with_fail_fast_the_first_fault_ends_the_match(
    is_fail_fast: bool, end: EndReason, played: int, harness: RunnerHarness
) -> None:
    async def third_crashes(planned: PlannedGame) -> GameRecord:
        await trio.lowlevel.checkpoint()
        return fault(planned.game, 0, Verdict.CRASH) if planned.game == 3 else game(planned.game)

    harness.act = third_crashes
    assert await harness.play(Conditions(is_fail_fast=is_fail_fast)) is end
    assert len(harness.journal) == played


async def test_repeated_machine_failures_end_the_match(harness: RunnerHarness) -> None:
    async def fail_except_second(planned: PlannedGame) -> GameRecord:
        await trio.lowlevel.checkpoint()
        if planned.game == 2:
            return game(2)
        return game(planned.game, None, verdict=Verdict.SERVER_FAILED, is_counted=False)

    harness.act = fail_except_second
    assert await harness.play() is EndReason.MACHINE_FAILURE
    assert harness.journal == ALL[: 2 + MACHINE_FAILURES]


async def test_a_machine_error_is_raised_without_a_group(harness: RunnerHarness) -> None:
    async def fail(_planned: PlannedGame) -> GameRecord:
        await trio.lowlevel.checkpoint()
        raise MachineError("no space left")

    harness.act = fail
    with pytest.raises(MachineError, match="no space left"):
        await harness.play(Conditions(3))


async def test_an_unexpected_error_is_raised_unchanged(harness: RunnerHarness) -> None:
    async def fail(_planned: PlannedGame) -> GameRecord:
        raise ZeroDivisionError

    harness.act = fail
    with pytest.RaisesGroup(ZeroDivisionError, flatten_subgroups=True, allow_unwrapped=True):
        await harness.play()


@pytest.mark.parametrize("number", stop_signals())
async def test_the_first_signal_lets_running_games_finish(number: signal.Signals, harness: RunnerHarness) -> None:
    async def interrupt_third(planned: PlannedGame) -> GameRecord:
        if planned.game == 3:
            os.kill(os.getpid(), number)
            await trio.testing.wait_all_tasks_blocked()
            while not harness.listener.stops:  # noqa: ASYNC110 - trio delivers the signal from another thread
                await trio.sleep(0.001)
        return game(planned.game)

    harness.act = interrupt_third
    assert await harness.play() is EndReason.INTERRUPTED
    assert harness.journal == [1, 2, 3]
    assert harness.listener.stops == 1


async def test_the_second_signal_cuts_off_running_games(harness: RunnerHarness) -> None:
    async def never_end(planned: PlannedGame) -> GameRecord:
        os.kill(os.getpid(), signal.SIGINT)
        while not harness.listener.stops:  # noqa: ASYNC110 - as above
            await trio.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)
        await trio.sleep_forever()
        raise AssertionError(planned)

    harness.act = never_end
    assert await harness.play() is EndReason.INTERRUPTED
    assert harness.journal == []
    assert harness.at_a_time == 0
    harness.act = harness.won
    assert await harness.play() is EndReason.COMPLETED
    assert harness.journal == ALL


async def test_pinned_programs_have_cores_of_their_own(harness: RunnerHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spielleiter.match.runner, "usable_cores", lambda: [0, 2, 4, 6, 8])

    async def rest(planned: PlannedGame) -> GameRecord:
        await trio.testing.wait_all_tasks_blocked()
        return game(planned.game)

    harness.act = rest
    assert await harness.play(Conditions(2, is_pinned=True)) is EndReason.COMPLETED
    assert set(harness.cores) == {((0,), (2,)), ((4,), (6,))}


@pytest.mark.skipif(not PLATFORM.can_bind_cores, reason="this system binds no process to cores")
def test_games_have_cores_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spielleiter.match.runner, "usable_cores", lambda: [0, 2, 4, 6, 8])
    assert allocate_cores(Conditions(2, cores_per_game=2)) == [((0, 2), (0, 2)), ((4, 6), (4, 6))]
    assert allocate_cores(Conditions(1, is_pinned=True, cores_per_game=4)) == [((0, 2), (4, 6))]
    assert len(allocate_cores(Conditions(9, cores_per_game=1))) == 5
    with pytest.raises(SetupError, match="3 cores for each game cannot be divided between two programs"):
        allocate_cores(Conditions(1, is_pinned=True, cores_per_game=3))
    with pytest.raises(SetupError, match="each game needs 6 cores, there are 5"):
        allocate_cores(Conditions(1, cores_per_game=6))
    monkeypatch.setattr(PLATFORM, "can_bind_cores", False)
    with pytest.raises(SetupError, match=f"{PLATFORM.name} cannot bind programs to processor cores"):
        allocate_cores(Conditions(1, cores_per_game=1))


def test_concurrency_is_limited_by_the_cores_per_game(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spielleiter.match.runner, "usable_cores", lambda: [0, 2, 4, 6, 8])
    assert fair_concurrency(2, 2) == (2, None)
    assert fair_concurrency(3, 2) == (2, "5 processor cores, 2 for each game: 2 games at a time, not 3")


async def test_too_few_cores_for_pinned_programs_are_refused(
    harness: RunnerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spielleiter.match.runner, "usable_cores", lambda: [0, 1, 2])
    with pytest.raises(SetupError, match="2 games at a time with a core for each program need 4 cores, there are 3"):
        await harness.play(Conditions(2, is_pinned=True))
    assert await harness.play(Conditions(1, is_pinned=True)) is EndReason.COMPLETED


async def test_unpinned_programs_run_anywhere(harness: RunnerHarness) -> None:
    await harness.play(Conditions(2))
    assert set(harness.cores) == {(None, None)}


def test_cores_are_counted() -> None:
    assert 1 <= count_cores() <= (os.cpu_count() or 1)


@pytest.mark.parametrize("missing", [0, 1])
async def test_a_program_that_cannot_play_ends_the_match(missing: int, harness: RunnerHarness) -> None:
    async def never_starts(planned: PlannedGame) -> GameRecord:
        await trio.lowlevel.checkpoint()
        return fault(planned.game, missing, Verdict.NO_START, plies=0, causes=("", ""), think_times=((), ()))

    harness.act = never_starts
    assert await harness.play() is EndReason.UNFIT
    assert harness.journal == [1, 2]
    assert await harness.play(Conditions(keeps_playing=True)) is EndReason.COMPLETED
    assert harness.journal == list(range(1, 11))


def test_concurrency_is_limited_by_the_number_of_cores() -> None:
    most = GAMES_PER_CORE * count_cores()
    assert fair_concurrency(most) == (most, None)
    lowered, why = fair_concurrency(most + 1)
    assert lowered == most
    assert why is not None
    assert why.startswith(f"{most + 1} games at a time are too many for")
