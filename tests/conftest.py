"""Settings for all tests: Hypothesis, signals, compiled modules, garbage collection.

Invariants: Hypothesis tries the same examples in every ordinary run. Programs that tests start have the default signal
handlers, however the tests were started.
"""

from __future__ import annotations

import ctypes
import gc
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import none

from spielleiter.server.garbage import keep_frozen
from tests.example_counts import FACTOR

EXTENDED = (
    "tests/bench/",
    "tests/benchmarks/",
    "tests/cli/test_bench.py",
    "tests/cli/test_help_league.py",
    "tests/cli/test_cli.py::test_a_command_whose_output_nobody_reads_ends_without_a_message[demo",
    "tests/cli/test_match_processes.py::test_a_package_of_the_official_builder_for_python_plays_as_it_comes",
    "tests/cli/test_match_processes.py::test_a_package_plays_a_match_and_resumes_it",
    "tests/cli/test_match_processes.py::test_a_scheduler_that_cannot_be_reached_is_named",
    "tests/cli/test_match_processes.py::test_a_tournament_keeps_its_workers_for_all_matches",
    "tests/cli/test_match_processes.py::test_an_interrupted_match_is_resumed[False]",
    "tests/cli/test_match_processes.py::test_the_second_signal_ends_the_games_at_once",
    "tests/cli/test_output.py::test_a_match_keeps_names_in_every_locale_and_can_be_printed_in_every_encoding[coerced]",
    "tests/cli/test_output.py::test_a_match_keeps_names_in_every_locale_and_can_be_printed_in_every_encoding[not",
    "tests/cli/test_replay.py::test_the_commands_of_the_document_work",
    "tests/cli/test_tournament.py::test_the_reports_link_to_the_pages_of_the_replays",
    "tests/cluster/test_dask_commands.py::test_a_match_outlives_its_scheduler",
    "tests/cluster/test_dask_commands.py::test_a_match_with_the_certificate",
    "tests/cluster/test_dask_commands.py::test_the_pairs_of_a_silent_worker_are_played_by_others",
    "tests/cluster/test_local_tls.py::test_a_match_is_played_while_somebody_tries_to_get_in",
    "tests/cluster/test_local_tls.py::test_nobody_else_can_run_code[without TLS]",
    "tests/cluster/test_two_machines.py::test_a_machine_that_becomes_ten_times_slower_plays_less_and_loses_nothing",
    "tests/cluster/test_two_machines.py::test_a_shipped_program_plays_elsewhere",
    "tests/cluster/test_two_machines.py::test_a_worker_is_killed_and_then_all_sites",
    "tests/cluster/test_two_machines.py::test_the_games_are_the_same_games_as_on_one_machine",
    "tests/cluster/test_two_machines.py::test_the_starter_is_interrupted",
    "tests/cluster/test_two_machines.py::test_the_starter_is_killed_and_the_match_resumed",
    "tests/contest/test_check.py::test_a_built_in_player_is_fit",
    "tests/contest/test_check.py::test_a_program_that_does_not_end_fails_every_step_in_which_a_game_ends",
    "tests/contest/test_check.py::test_built_in_strategies_are_fit_in_every_season[greedy",
    "tests/contest/test_check.py::test_built_in_strategies_are_fit_in_every_season[random",
    "tests/contest/test_check.py::test_waiting_for_the_end_of_the_stream_is_only_a_warning",
    "tests/contest/test_package_check.py::test_a_sandbox_that_fails_is_not_the_programs_fault",
    "tests/contest/test_package_check.py::test_a_script_that_passes_its_options_as_one_word_is_named",
    "tests/contest/test_package_check.py::test_a_sound_program_accepts_every_kind_of_form",
    "tests/contest/test_package_games.py::test_a_fault_is_named_by_its_own_code[ends too late-none",
    "tests/contest/test_package_games.py::test_a_fault_is_named_by_its_own_code[leaves a process-none",
    "tests/contest/test_package_games.py::test_a_fault_is_named_by_its_own_code[needs too much memory-none",
    "tests/contest/test_package_games.py::test_a_fault_is_named_by_its_own_code[starts too many processes-none",
    "tests/contest/test_package_games.py::test_a_sound_program_has_no_fault[none",
    "tests/game/blokus/test_oracle.py::test_all_games[games",
    "tests/game/blokus/test_oracle.py::test_all_games[special-2021",
    "tests/match/test_agreement.py::test_record_replay_and_the_servers_results_agree[blokus-2021-",
    "tests/match/test_error_rates.py",
    "tests/match/test_fair_play.py::test_an_opponent_that_hides_nothing_cannot_take_or_block_a_seat[flood-visibly]",
    "tests/match/test_fair_play.py::test_no_program_can_take_its_opponents_seat_by_a_plain_join[flood-elsewhere]",
    "tests/match/test_fair_play.py::test_no_program_can_take_its_opponents_seat_by_a_plain_join[join-by-mapped-address]",
    "tests/match/test_fair_play.py::test_no_program_can_take_its_opponents_seat_by_a_plain_join[join-from-name-spaces]",
    "tests/match/test_fair_play.py::test_no_program_can_take_its_opponents_seat_by_a_plain_join[join-in-memory]",
    "tests/match/test_fair_play.py::test_no_program_can_take_its_opponents_seat_by_a_plain_join[join-in-thread]",
    "tests/match/test_fair_play.py::test_no_program_can_take_its_opponents_seat_by_a_plain_join[join-visibly]",
    "tests/match/test_fair_play.py::test_no_program_can_take_its_opponents_seat_by_a_plain_join[join-while-passing]",
    "tests/match/test_fair_play.py::test_nobody_loses_for_a_connection_of_the_opponent_although_he_hides_his_own[flood",
    "tests/match/test_fair_play.py::test_nobody_loses_for_a_connection_of_the_opponent_although_he_hides_his_own[join-",
    "tests/match/test_fair_play.py::test_what_a_program_tries_is_told_everywhere_in_plain_words[swc_2021",
    "tests/match/test_program_variables.py::test_a_program_gets_what_is_passed_on_or_set_and_a_home_of_its_own[cluster",
    "tests/match/test_program_variables.py::test_a_program_gets_what_is_passed_on_or_set_and_a_home_of_its_own[lend",
    "tests/match/test_program_variables.py::test_a_program_gets_what_is_passed_on_or_set_and_a_home_of_its_own[match",
    "tests/match/test_program_variables.py::test_a_program_gets_what_is_passed_on_or_set_and_a_home_of_its_own[tournament",
    "tests/official/test_official.py::test_recorded_conversations[blokus-2021-",
    "tests/programs/packages/test_inspection.py::test_hostile_contents_take_limited_time_and_memory[tens of seconds]",
    "tests/programs/sandbox/test_games.py::test_a_game_is_played_to_its_end_by_two_programs_in_sandboxes[docker",
    "tests/programs/sandbox/test_games.py::test_a_game_is_played_to_its_end_by_two_programs_in_sandboxes[none",
    "tests/programs/sandbox/test_games.py::test_nothing_is_left_if_the_match_is_killed[15-none",
    "tests/programs/sandbox/test_games.py::test_nothing_is_left_if_the_match_is_killed[2-none",
    "tests/programs/sandbox/test_games.py::test_nothing_is_left_if_the_match_is_killed[9-none",
    "tests/release/test_build.py",
    "tests/server/net/test_session_fuzz.py::test_every_packet_of_every_season_as_the_first_one[False-blokus-2021-",
    "tests/server/net/test_session_fuzz.py::test_every_packet_of_every_season_as_the_first_one[True-blokus-2021-",
    "tests/test_action.py",
    "tests/test_adding_a_game.py",
    "tests/test_ci.py",
    "tests/test_docker.py",
    "tests/test_examples.py",
    "tests/test_foreign_modules.py",
    "tests/test_fuzz.py::test_a_short_run_finds_nothing_or_says_what_to_install",
    "tests/test_packaging.py",
    "tests/test_without_posix.py",
    "tests/viewer/browser/test_after_game.py::test_a_seat_whose_server_is_started_again_shows_one_truth",
    "tests/viewer/browser/test_list.py::test_a_match_tells_half_points_and_a_wide_table_scrolls_on_a_phone",
    "tests/viewer/browser/test_list.py::test_a_move_is_seen_and_if_wanted_heard_except_with_reduced_motion",
    "tests/viewer/browser/test_live.py::test_a_page_too_many_says_why_it_is_refused_and_tries_again",
    "tests/viewer/browser/test_live.py::test_the_moves_that_cost_most_are_estimated_in_a_room_and_in_a_replay",
    "tests/viewer/browser/test_replay.py::test_a_better_move",
    "tests/viewer/browser/test_replay.py::test_a_game_of_this_server",
    "tests/viewer/browser/test_replay.py::test_a_game_without_a_drawing_module_is_a_table",
    "tests/viewer/browser/test_replay.py::test_a_replay_plays_at_the_chosen_speed",
    "tests/viewer/browser/test_replay.py::test_an_official_replay_is_dropped_and_seen_ply_by_ply",
    "tests/viewer/browser/test_replay.py::test_the_report_of_a_tournament",
    "tests/viewer/browser/test_seat.py::test_a_person_plays_a_whole_game",
    "tests/viewer/browser/test_seat.py::test_a_person_waits_for_a_program_and_passes",
    "tests/viewer/browser/test_seat.py::test_moves_that_are_shown_are_not_drawn_again_by_a_late_event",
    "tests/viewer/test_replay_files.py::test_every_recording_opens_as_a_replay[blokus-2021-whole_game_join",
    "tests/viewer/test_replay_files.py::test_every_recording_opens_as_a_replay[blokus-2027-whole_game_join",
    "tests/viewer/test_replay_files.py::test_every_recording_opens_as_a_replay[hase-und-igel-2018-whole_game_join",
)
"""What `make test` leaves to `make test-rest`, beside tests with the mark: what takes about five seconds or more.

They are the measurements, the builds, the longest attacks and searches, and further variants (another season, sandbox
or command) of what another test shows. Continuous integration runs them on one version of Python.
"""

LONGEST_ID = 90
"""The characters of a value that are shown in the name of a test."""
GZIP = b"\x1f\x8b"

LONGEST_REPORT = 20_000
"""The characters of a failure, and of each output captured with it, that are shown.

Where the variable CI is set, pytest shows whole values, and those of a test of a match may be a hundred megabytes.
"""

settings.register_profile(
    "project",
    derandomize=FACTOR == 1,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("project")

# Servers that tests start as processes need no pages, except in the tests of the pages, which use the option `--viewer`
# or remove the variable. Loading the pages costs processor time at every start.
os.environ["SPIELLEITER_VIEWER"] = "off"

# They keep no games in the folder of whoever runs the tests.
os.environ["SPIELLEITER_RECENT_GAMES"] = "0"

# A shell without job control starts background commands with SIGINT ignored, and child processes inherit that. A signal
# that has a handler here is reset to its default in the programs that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
# `nohup` ignores SIGHUP. A handler that does nothing resets it in those programs as well.
if hasattr(signal, "SIGHUP") and threading.current_thread() is threading.main_thread():
    before = signal.getsignal(signal.SIGHUP)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda _number, _frame: None)


def pytest_configure(config: pytest.Config) -> None:
    """Give the workers a folder for compiled modules if Python may not write any next to the sources.

    Otherwise each of the several hundred processes that tests start would compile the whole project. Without workers
    only a few tests run, and the folder would not pay off.
    """
    if not sys.dont_write_bytecode or sys.pycache_prefix or not config.getoption("numprocesses", None):
        return
    folder = tempfile.mkdtemp(prefix="spielleiter-tests-")
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = folder


@pytest.hookimpl(optionalhook=True)  # the tests run without pytest-xdist as well
def pytest_xdist_auto_num_workers() -> int | None:
    """Return the number of workers of ``--numprocesses auto``: one more than processors, since some tests only wait.

    None, which lets pytest-xdist decide, if its variable is set.
    """
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    if sys.platform == "linux":
        usable = len(os.sched_getaffinity(0))
    else:
        usable = os.cpu_count() or 1
    return usable + 1


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name compressed and long values after their argument: times and paths in them differ between the workers."""
    if (isinstance(val, bytes | str) and len(val) > LONGEST_ID) or (isinstance(val, bytes) and val.startswith(GZIP)):
        return argname
    if isinstance(val, str) and (sys.executable in val or str(os.getpid()) in val):
        return argname
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that `make test` leaves out; a program in a container plays one game in `make test`."""
    for item in items:
        is_container = item.nodeid.startswith("tests/programs/sandbox/") and item.nodeid.endswith("podman]")
        if item.nodeid.startswith(EXTENDED) or (is_container and "test_a_game_is_played" not in item.nodeid):
            item.add_marker(pytest.mark.extended)


def pytest_collection() -> None:
    gc.disable()  # nothing of what is collected is garbage; looking for some takes a fifth of the time


def pytest_collection_finish() -> None:
    """Exclude the tests themselves from garbage collection.

    Every server starts with a full collection, which would traverse all of them each time.
    """
    given(none())(lambda _: None)()  # on its first use, Hypothesis asks the collector for referrers
    keep_frozen()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Exclude after each file what stays of it as well, such as the modules that were imported."""
    try:
        return (yield)
    finally:
        if nextitem is not None and nextitem.path != item.path:
            keep_frozen()


def pytest_runtest_setup() -> None:
    """Let other processes of this user look into this one: a command called by an earlier test may have hidden it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE in <linux/prctl.h>


def bounded(text: str) -> str:
    """Return the text without its middle if it is longer than LONGEST_REPORT: what failed is at its end."""
    if len(text) <= LONGEST_REPORT:
        return text
    first = LONGEST_REPORT // 4
    left_out = len(text) - LONGEST_REPORT
    return f"{text[:first]}\n... {left_out:,} characters are left out here ...\n{text[first + left_out :]}"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Bound what is shown of a test that fails."""
    report = yield
    report.sections = [(name, bounded(content)) for name, content in report.sections]
    if report.failed and len(text := str(report.longrepr)) > LONGEST_REPORT:
        report.longrepr = bounded(text)
    return report


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Do not trace the tests with the mark `no_cover`.

    In the processes of pytest-xdist, pytest-cov starts two measurements and stops only the second one for such a test.
    """
    if item.get_closest_marker("no_cover") is None:
        return (yield)
    trace = sys.gettrace()
    sys.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(trace)
