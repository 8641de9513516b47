"""Playing the games of a match until all are played or something ends it, and its result."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import trio
import trio.testing

import spielleiter.match.runner
from spielleiter.common.errors import MachineError
from spielleiter.common.process import stop_signals
from spielleiter.match import (
    Conditions,
    EndReason,
    Entrant,
    GameRecord,
    JournalError,
    KeepPolicy,
    MatchSetup,
    ProgramTimeouts,
    SetupError,
    load_match,
    play_match,
    prepare_match,
    read_journal,
    run_match,
    summarise,
)
from spielleiter.match.plan import PlannedGame
from spielleiter.match.records import open_journal
from spielleiter.match.runner import (
    GAMES_PER_CORE,
    MACHINE_FAILURES,
    Cores,
    allocate_cores,
    fair_concurrency,
    play_games,
)
from spielleiter.match.stopping import play_to_the_end
from spielleiter.match.verdict import Verdict
from spielleiter.programs.this_platform import PLATFORM
from tests.match.players import LIGHT
from tests.match.sample_records import absence, fault, game
from tests.timeouts import HANG_TIMEOUT

SETUP = MatchSetup((Entrant("new", "new"), Entrant("old", "old")), "chess", games=10, seed=1, run_id="run")
ALL = list(range(1, 11))
Act: TypeAlias = Callable[[PlannedGame], Awaitable[GameRecord]]


def invented(record_of: Callable[[int], GameRecord]) -> Act:
    async def act(planned: PlannedGame) -> GameRecord:
        await trio.testing.wait_all_tasks_blocked()
        return record_of(planned.game)

    return act


class RunnerHarness:
    """Plays matches whose games are invented by `act`, and remembers what a listener is notified of."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.act: Act = invented(game)
        self.cores: list[tuple[Cores, Cores]] = []
        self.at_a_time = self.most_at_a_time = self.stops = 0
        self.started: list[int] = []
        self.finished: list[int] = []
        monkeypatch.setattr(spielleiter.match.runner, "play_game", self._play_game)

    async def _play_game(
        self, _setup: MatchSetup, planned: PlannedGame, folder: Path, cores: tuple[Cores, Cores], *_others: object
    ) -> GameRecord:
        assert folder == self.folder
        self.cores.append(cores)
        self.at_a_time += 1
        self.most_at_a_time = max(self.most_at_a_time, self.at_a_time)
        try:
            return await self.act(planned)
        finally:
            self.at_a_time -= 1

    def game_started(self, planned: PlannedGame) -> None:
        self.started.append(planned.game)

    def game_finished(self, record: GameRecord) -> None:
        assert record.game in self.journal  # before anybody is notified
        self.finished.append(record.game)

    def stopping(self) -> None:
        self.stops += 1

    async def play(
        self,
        conditions: Conditions | None = None,
        is_decided: Callable[[Sequence[GameRecord]], bool] = play_to_the_end,
    ) -> EndReason:
        with open_journal(self.folder) as journal, trio.fail_after(HANG_TIMEOUT):
            return await play_games(SETUP, self.folder, journal, self, conditions or Conditions(), is_decided)

    @property
    def journal(self) -> list[int]:
        return [record.game for record in read_journal(self.folder)]


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunnerHarness:
    return RunnerHarness(tmp_path, monkeypatch)


@pytest.mark.parametrize("concurrency", [1, 3, 20])
async def test_every_game_is_played_and_kept(concurrency: int, harness: RunnerHarness) -> None:
    with open_journal(harness.folder) as journal:
        for number in (2, 5):  # these are not played again
            journal.extend([game(number)])
    assert await harness.play(Conditions(concurrency)) is EndReason.COMPLETED
    assert sorted(harness.finished) == harness.started == [1, 3, 4, 6, 7, 8, 9, 10]
    assert harness.journal == ALL
    assert harness.most_at_a_time == min(concurrency, 8)
    assert set(harness.cores) == {(None, None)}
    assert await harness.play() is EndReason.COMPLETED
    assert len(harness.started) == 8


async def test_a_decision_ends_the_match_and_cuts_off_running_games(harness: RunnerHarness) -> None:
    async def first_alone(planned: PlannedGame) -> GameRecord:
        if planned.game > 1:
            await trio.sleep_forever()
        return game(planned.game)

    harness.act = first_alone
    for _ in range(2):
        assert await harness.play(Conditions(4), lambda records: len(records) == 1) is EndReason.DECIDED
        assert harness.journal == harness.finished == [1]
        assert harness.at_a_time == 0


def third_crashes(number: int) -> GameRecord:
    return fault(number, 0, Verdict.CRASH) if number == 3 else game(number)


def second_alone_is_played(number: int) -> GameRecord:
    return game(number) if number == 2 else game(number, None, verdict=Verdict.SERVER_FAILED, is_counted=False)


@pytest.mark.parametrize(
    ("record_of", "conditions", "end", "played"),
    [
        (third_crashes, {}, EndReason.COMPLETED, 10),
        (third_crashes, {"is_fail_fast": True}, EndReason.FAULT, 3),
        (second_alone_is_played, {}, EndReason.MACHINE_FAILURE, 2 + MACHINE_FAILURES),
        (lambda number: absence(number, 0), {}, EndReason.UNFIT, 2),
        (lambda number: absence(number, 1), {}, EndReason.UNFIT, 2),
        (lambda number: absence(number, 1), {"keeps_playing": True}, EndReason.COMPLETED, 10),
    ],
)
async def test_faults_and_failures_end_the_match(
    record_of: Callable[[int], GameRecord],
    conditions: dict[str, Any],
    end: EndReason,
    played: int,
    harness: RunnerHarness,
) -> None:
    harness.act = invented(record_of)
    assert await harness.play(Conditions(**conditions)) is end
    assert harness.journal == ALL[:played]


@pytest.mark.parametrize("error", [MachineError("no space left"), ZeroDivisionError()])
async def test_a_machine_error_is_raised_without_a_group_and_others_unchanged(
    error: Exception, harness: RunnerHarness
) -> None:
    async def fail(_planned: PlannedGame) -> GameRecord:
        raise error

    harness.act = fail
    is_known = isinstance(error, MachineError)
    with pytest.RaisesGroup(type(error), flatten_subgroups=True, allow_unwrapped=True) as raised:
        await harness.play(Conditions(3 if is_known else 1))
    assert not (is_known and isinstance(raised.value, ExceptionGroup))


@pytest.mark.parametrize("number", stop_signals())
async def test_the_first_signal_lets_running_games_finish(number: signal.Signals, harness: RunnerHarness) -> None:
    async def interrupt_third(planned: PlannedGame) -> GameRecord:
        if planned.game == 3:
            os.kill(os.getpid(), number)
            while not harness.stops:  # noqa: ASYNC110 - trio delivers the signal from another thread
                await trio.sleep(0.001)
        return game(planned.game)

    harness.act = interrupt_third
    assert await harness.play() is EndReason.INTERRUPTED
    assert harness.journal == [1, 2, 3]
    assert harness.stops == 1


async def test_the_second_signal_cuts_off_running_games(harness: RunnerHarness) -> None:
    async def never_end(planned: PlannedGame) -> GameRecord:
        os.kill(os.getpid(), signal.SIGINT)
        while not harness.stops:  # noqa: ASYNC110 - as above
            await trio.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)
        await trio.sleep_forever()
        raise AssertionError(planned)

    harness.act = never_end
    assert await harness.play() is EndReason.INTERRUPTED
    assert harness.journal == []
    assert harness.at_a_time == 0
    harness.act = invented(game)
    assert await harness.play() is EndReason.COMPLETED
    assert harness.journal == ALL


# -- processor cores --------------------------------------------------------------------------------------------------


@pytest.fixture
def five_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PLATFORM, "usable_cores", lambda: [0, 2, 4, 6, 8])


@pytest.mark.usefixtures("five_cores")
@pytest.mark.skipif(not PLATFORM.can_bind_cores, reason="this system binds no process to cores")
async def test_games_and_programs_have_cores_of_their_own(
    harness: RunnerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await harness.play(Conditions(2, is_pinned=True)) is EndReason.COMPLETED
    assert set(harness.cores) == {((0,), (2,)), ((4,), (6,))}
    assert allocate_cores(Conditions(2, cores_per_game=2)) == [((0, 2), (0, 2)), ((4, 6), (4, 6))]
    assert allocate_cores(Conditions(1, is_pinned=True, cores_per_game=4)) == [((0, 2), (4, 6))]
    assert allocate_cores(Conditions(1, is_pinned=True), [1, 3]) == [((1,), (3,))]
    assert len(allocate_cores(Conditions(9, cores_per_game=1))) == 5
    refused = [
        (
            Conditions(1, is_pinned=True, cores_per_game=3),
            "3 cores for each game cannot be divided between two programs",
        ),
        (Conditions(1, cores_per_game=6), "each game needs 6 cores, there are 5"),
        (Conditions(3, is_pinned=True), "3 games at a time with a core for each program need 6 cores, there are 5"),
    ]
    for conditions, problem in refused:
        with pytest.raises(SetupError, match=problem):
            await harness.play(conditions)
    monkeypatch.setattr(PLATFORM, "can_bind_cores", False)
    with pytest.raises(SetupError, match=f"{PLATFORM.name} cannot bind programs to processor cores"):
        allocate_cores(Conditions(1, cores_per_game=1))


@pytest.mark.usefixtures("five_cores")
def test_concurrency_is_limited_by_the_number_of_cores() -> None:
    most = GAMES_PER_CORE * 5
    assert fair_concurrency(most) == (most, None)
    lowered, why = fair_concurrency(most + 1)
    assert lowered == most
    assert str(why).startswith(f"{most + 1} games at a time are too many for 5 processor cores")
    assert fair_concurrency(2, 2) == (2, None)
    assert fair_concurrency(3, 2) == (2, "5 processor cores, 2 for each game: 2 games at a time, not 3")


# -- whole matches ----------------------------------------------------------------------------------------------------

ENDLESS = ProgramTimeouts(start=HANG_TIMEOUT, exit=HANG_TIMEOUT, game=HANG_TIMEOUT)


def prepare(
    book: Path | None = None,
    first: str | Entrant = "builtin:greedy",
    second: str | Entrant = "builtin:first",
    games: int = 2,
) -> MatchSetup:
    """A match with limits that no program reaches, however busy this machine is."""
    return prepare_match(
        first,
        second,
        games=games,
        seed=1,
        book=book,
        soft_timeout=HANG_TIMEOUT,
        hard_timeout=HANG_TIMEOUT,
        timeouts=ENDLESS,
    )


@pytest.mark.slow
@pytest.mark.usefixtures("players")
def test_a_script_plays_a_match_of_two_commands(tmp_path: Path, late_book: Path) -> None:
    finished: list[GameRecord] = []
    setup = prepare(late_book, Entrant("new", f"{LIGHT} greedy"), Entrant("old", f"{LIGHT} first"))
    result = play_match(setup, tmp_path / "result", on_game_finished=finished.append)
    assert (result.end, result.is_complete, result.faults) == (EndReason.COMPLETED, True, (0, 0))
    assert finished == list(result.records) == list(read_journal(tmp_path / "result"))
    assert [record.verdict for record in finished] == ["regular", "regular"]
    assert result.elo is not None
    assert (result.summary.results.games, result.better) == (2, None)
    assert "too few pairs to tell" in result.headline
    assert result.report.read_text().count("new") > 3
    assert json.loads((result.folder / "summary.json").read_text())["counted"] == 2


@pytest.mark.slow
def test_an_interrupted_match_is_continued_and_extended_outside_of_the_main_thread(
    tmp_path: Path, late_book: Path
) -> None:
    class StopError(Exception):
        pass

    def stop(_record: GameRecord) -> None:
        raise StopError

    with pytest.raises(StopError):
        play_match(prepare(late_book), tmp_path, on_game_finished=stop)
    assert [record.game for record in read_journal(tmp_path)] == [1]
    assert json.loads((tmp_path / "summary.json").read_text())["played"] == 1
    continued: list[int] = []
    result = play_match(load_match(tmp_path), tmp_path, on_game_finished=lambda record: continued.append(record.game))
    assert continued == [2]
    assert [record.game for record in result.records] == [1, 2]
    assert summarise(result.records).results == result.summary.results
    with pytest.raises(SetupError, match="only more"):
        load_match(tmp_path, games=1)
    extended: list[int] = []

    def extend() -> None:
        extended.extend(record.game for record in play_match(load_match(tmp_path, games=4), str(tmp_path)).records)

    thread = threading.Thread(target=extend)
    thread.start()
    thread.join(HANG_TIMEOUT)
    assert extended == [1, 2, 3, 4]
    assert load_match(tmp_path).games == 4
    with pytest.raises(JournalError, match="holds another match"):
        play_match(prepare(), tmp_path)


@pytest.mark.slow
async def test_a_program_that_runs_trio_plays_matches_side_by_side(tmp_path: Path, late_book: Path) -> None:
    """None of them handles signals, and conditions apply to each."""
    ends: list[EndReason] = []

    async def play(folder: Path) -> None:
        conditions = Conditions(concurrency=2, keep=KeepPolicy.NONE)
        result = await run_match(prepare(late_book), folder, conditions=conditions)
        assert not (folder / "games" / "0001").exists()
        ends.append(result.end)

    with trio.fail_after(HANG_TIMEOUT):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(play, tmp_path / "one")
            nursery.start_soon(play, tmp_path / "two")
    assert ends == [EndReason.COMPLETED] * 2


@pytest.mark.slow
async def test_a_cancelled_match_leaves_reports_and_can_be_continued(tmp_path: Path, late_book: Path) -> None:
    with trio.CancelScope() as scope:
        await run_match(prepare(late_book, games=4), tmp_path, on_game_finished=lambda _record: scope.cancel())
    assert scope.cancelled_caught
    assert json.loads((tmp_path / "summary.json").read_text())["played"] == 1
    with trio.fail_after(HANG_TIMEOUT):
        result = await run_match(load_match(tmp_path), tmp_path)
    assert len(result.records) == 4


def test_conditions_that_cannot_be_met_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    conditions = Conditions(concurrency=1, is_pinned=True, cores_per_game=3)
    with pytest.raises(SetupError):
        play_match(prepare(), tmp_path / "out", conditions=conditions)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_program_that_never_starts_has_lost_and_is_no_exception_and_no_draw(tmp_path: Path) -> None:
    result = play_match(prepare(first=Entrant("broken", "false"), games=10), tmp_path)
    assert (result.end, result.is_complete, result.better) == (EndReason.UNFIT, False, None)
    tally = result.summary.results
    assert (tally.wins, tally.draws, tally.losses) == (0, 0, 2)
    assert [(record.verdict, record.winner, record.is_draw) for record in result.records] == [
        ("does not start", 1, False)
    ] * 2
    assert result.faults == (2, 0)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a running program cannot be deleted there")
@pytest.mark.parametrize(
    ("folder", "how"),
    [
        ("bots", 'rm "$0"'),
        ("it's a bot", 'rm "$0"'),  # no command line without the file
        ("bots", 'chmod a-x "$0"'),
        ("bots", 'echo "#!/no/such/interpreter" > "$0"'),
    ],
)
def test_a_program_that_makes_its_file_unusable_loses_the_later_games(tmp_path: Path, folder: str, how: str) -> None:
    bot = tmp_path / folder / "bot.sh"
    bot.parent.mkdir()
    bot.write_text(f"#!/bin/sh\n{how}\nexit 1\n")
    bot.chmod(0o755)
    setup = prepare(first=Entrant("vanishing", str(bot)))
    result = play_match(setup, tmp_path / "match", conditions=Conditions(keeps_playing=True))
    assert [(record.verdict, record.offender) for record in result.records] == [("does not start", 0)] * 2
    assert [(record.winner, record.is_counted) for record in result.records] == [(1, True)] * 2
