"""What `match` and `tournament` have in common: options that do not change the games, and what is done around them."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from spielleiter.cli.ctrl_c import EXIT_INTERRUPTED, raise_on_ctrl_c
from spielleiter.cli.options import Number, WholeNumber, together
from spielleiter.cli.output import print_line
from spielleiter.cli.running import EXIT_FAULT, EXIT_MACHINE, EXIT_UNFIT, Misuse, machine_failures
from spielleiter.common.process import hide_this_process
from spielleiter.server.setting import MAX_WHOLE_NUMBER

if TYPE_CHECKING:
    from spielleiter.cluster.venue import ClusterSettings
    from spielleiter.match.plan import Entrant, MatchSetup
    from spielleiter.match.records import GameRecord, Journal
    from spielleiter.match.runner import Conditions, EndReason
    from spielleiter.match.tournament import Tournament

MAX_CONCURRENCY: Final = 1024
"""The largest number of games at a time."""
CONDITION_NAMES: Final = ("keep", "keep_playing", "restart")
CLUSTER_NAMES: Final = ("cluster", "ship", "max_slowdown", "unencrypted")
PAGE_CHOICES: Final = ("auto", "all", "failed", "none")
"""The values of the option `--pages`."""
FEW_GAMES: Final = 20
"""The most games of a match or a tournament for which `auto` means all.

A page takes about a fifth of a second and 30 kB, which is several times what a game of quick programs costs.
"""
MANY_PAGES: Final = 20
"""The number of pages from which the command says what it is waiting for."""
FAULTS: Final = ("crash", "timeout", "illegal", "message", "exit", "any")
PROGRAMS_AT_FAULT: Final[Mapping[str, tuple[int, ...]]] = MappingProxyType({"both": (0, 1), "player1": (0,)})
"""The programs whose faults count, by the value of --faults-of."""

# -- processor cores, and how programs are started --------------------------------------------------------------------

core_options: Final = together(
    click.option(
        "--pin",
        is_flag=True,
        help="Bind each program to a processor core; with --cores-per-game, to half of the cores of its game.",
    ),
    click.option(
        "--cores-per-game",
        type=WholeNumber(1, MAX_CONCURRENCY),
        metavar="N",
        help="Give each game N processor cores of its own, which limits --concurrency.",
    ),
)
"""Decorates a command with the processor cores that programs run on: `pin` and `cores_per_game`."""

condition_options: Final = together(
    click.option(
        "--keep",
        type=click.Choice(["none", "failed", "all"]),
        default="all",
        show_default=True,
        help="Which folders of games to keep: all, none, or those of games in which something went wrong.",
    ),
    click.option(
        "--keep-playing",
        is_flag=True,
        default=False,
        help="Play all games, although a program has failed in all of its first games or was never there.",
    ),
    click.option(
        "--restart",
        type=click.Choice(["always", "never"]),
        default="always",
        show_default=True,
        help="always: start programs for every game; never: a program that can play several games in a row gets "
        "the next one on standard input.",
    ),
)
"""Decorates a command with CONDITION_NAMES, which may be different each time a match is resumed."""


def conditions_of(options: Mapping[str, Any], described: Tournament | None = None) -> dict[str, Any]:
    """The fields of `Conditions` that these options set.

    An option that was not given is None in `options`; its value is then taken from `described`.
    """
    from spielleiter.match.game_folder import KeepPolicy

    keep, restart, keeps_playing = options["keep"], options["restart"], bool(options["keep_playing"])
    if described is not None:
        keeps_playing = keeps_playing or described.keeps_playing
        keep = keep or described.keep.value
        restart = restart or ("always" if described.is_restarting else "never")
    return {"keep": KeepPolicy(keep), "is_restarting": restart == "always", "keeps_playing": keeps_playing}


# -- several machines -------------------------------------------------------------------------------------------------

cluster_options: Final = together(
    click.option(
        "--cluster",
        metavar="ADDRESS",
        help="Play the games on the workers of a Dask scheduler: tcp://HOST:PORT, tls://HOST:PORT, or local:N for "
        "N worker processes on this machine (docs/cluster.md). They play as many games at a time as they have "
        "cores, or as --concurrency says.",
    ),
    click.option(
        "--ship",
        type=click.Path(path_type=Path),
        multiple=True,
        metavar="PATH",
        help="With --cluster: send this file or folder to each machine; can be repeated. Without it, programs have "
        "to exist there.",
    ),
    click.option(
        "--max-slowdown",
        type=Number(1, MAX_WHOLE_NUMBER),
        metavar="FACTOR",
        help="With --cluster: use no machine whose cores are slower than those of the fastest one by more than FACTOR.",
    ),
    click.option(
        "--unencrypted",
        is_flag=True,
        help="With --cluster tcp://: use a scheduler on another machine without TLS, although everybody in its "
        "network can run programs on the workers.",
    ),
)
"""Decorates a command with CLUSTER_NAMES."""


def cluster_of(options: Mapping[str, Any]) -> ClusterSettings | None:
    """The cluster that the options describe; None without one. Raises SetupError and UsageError.

    Without one, nothing of Dask is loaded.
    """
    if options["cluster"] is None:
        for name in CLUSTER_NAMES[1:]:
            if options[name]:
                raise click.UsageError(f"--{name.replace('_', '-')} has no effect without --cluster")
        return None
    from spielleiter.cluster.dask_engine import ClusterAddress, require_distributed
    from spielleiter.cluster.venue import ClusterSettings
    from spielleiter.common.errors import SetupError

    address = ClusterAddress.parse(options["cluster"])
    require_distributed()
    for path in options["ship"]:
        if not path.exists():
            raise SetupError(f"--ship {path}: there is no such file or folder")
    return ClusterSettings(address, tuple(options["ship"]), options["max_slowdown"], options["unencrypted"])


@contextmanager
def on_cluster(
    settings: ClusterSettings | None, cwd: str, conditions: Conditions, *, has_concurrency: bool
) -> Iterator[Conditions]:
    """The conditions with the venue that `settings` describe, which is closed at the end; unchanged without one.

    `cwd` is the directory that the paths to be shipped start from. `has_concurrency` says whether the user has limited
    the number of concurrent games. Raises MatchError; SetupError if something cannot be shipped.
    """
    if settings is None:
        yield conditions
        return
    from spielleiter.cluster.venue import open_cluster

    concurrency = conditions.concurrency if has_concurrency else 0
    with open_cluster(settings, Path(cwd), lambda text: print_line(text, err=True)) as venue:
        yield dataclasses.replace(conditions, concurrency=concurrency, venue=venue)


# -- before and while games are played --------------------------------------------------------------------------------


def print_package_warnings(entrants: Iterable[Entrant], cwd: str) -> None:
    """Print the warnings about each contest package; `cwd` is the directory that relative paths start from.

    Raises SetupError, with all reasons, if a package cannot be started.
    """
    from spielleiter.match.preparation import inspect_program
    from spielleiter.programs.packages.faults import Level

    for entrant in {(each.command, each.main): each for each in entrants}.values():
        inspection = inspect_program(entrant, cwd)
        for finding in () if inspection is None else inspection.findings:
            if finding.level is Level.YELLOW:
                print_line(f"{entrant.command}: warning: {finding.text}", err=True)


def print_platform_gaps() -> None:
    """Print what this operating system cannot do for programs, a line for each thing; nothing on Linux."""
    from spielleiter.programs.this_platform import PLATFORM

    for gap in PLATFORM.gaps:
        print_line(gap, err=True)


def prepare_machine(wanted: Conditions) -> Conditions:
    """`wanted`, with concurrency limited to the number of games that can be judged fairly.

    Prints why it is lowered and what this system cannot do, and hides this process from programs.
    """
    from spielleiter.match.runner import fair_concurrency

    if wanted.venue is None:  # the machines of a cluster limit their own games
        concurrency, why = fair_concurrency(wanted.concurrency, wanted.cores_per_game)
        if why is not None:
            print_line(why, err=True)
        wanted = dataclasses.replace(wanted, concurrency=concurrency)
    print_platform_gaps()
    hide_this_process()
    return wanted


@contextmanager
def usable_journal(folder: Path) -> Iterator[Journal]:
    """Open the journal of the match in `folder`, like `open_journal`.

    Raises Misuse if it cannot be opened, since it is locked or cannot be written; no game has been played in that case.
    """
    from spielleiter.common.errors import JournalError
    from spielleiter.match.records import JOURNAL, open_journal

    with ExitStack() as stack:
        try:
            journal = stack.enter_context(open_journal(folder))
        except JournalError as error:
            raise Misuse(str(error)) from None
        try:
            yield journal
        finally:
            stack.close()
            if journal.was_restored:
                print_line(
                    f"{folder / JOURNAL} was changed by another program while the match was running; the records of "
                    "all games have been written again",
                    err=True,
                )


# -- the pages of replays ---------------------------------------------------------------------------------------------


pages_option: Final = click.option(
    "--pages",
    type=click.Choice(PAGE_CHOICES),
    default=PAGE_CHOICES[0],
    show_default=True,
    help="Which kept games get a page that shows the replay in a browser: all, none, those in which something went "
    f"wrong (failed), or auto, which means all for up to {FEW_GAMES} games and failed for more.",
)


def write_pages(
    matches: Mapping[Path, Collection[GameRecord]], choice: str = "auto", command: str = "match"
) -> list[Path]:
    """Make the missing pages of kept replays. Return the folders of the matches in which a game should have a page.

    - `matches`: the records of each match, by its folder.
    - `choice`: one of PAGE_CHOICES.
    - `command`: the command that makes missing pages later, with `--resume`.

    They are made after the games, so they cost no game time. Ctrl-C leaves out the pages that are missing. A page that
    cannot be made is no failure: one line says why, and the report links to the replay's file instead.
    """
    from spielleiter.common.errors import os_error_text
    from spielleiter.match.game_folder import REPLAY_PAGE
    from spielleiter.match.verdict import Verdict
    from spielleiter.viewer.page import write_match_pages

    if choice == "auto":
        choice = "all" if sum(map(len, matches.values())) <= FEW_GAMES else "failed"
    replays = {}  # by the folder of the match, the paths of its replays
    for folder, records in matches.items():
        chosen = [
            f"{record.folder}/{record.replay}"
            for record in sorted(records, key=lambda record: record.game)
            if record.folder and record.replay
            if choice == "all" or (choice == "failed" and record.verdict != Verdict.REGULAR)
        ]
        if chosen:
            replays[folder] = chosen
    missing = sum(
        not (folder / replay).with_name(REPLAY_PAGE).exists() for folder, names in replays.items() for replay in names
    )
    if missing >= MANY_PAGES:
        print_line(f"making the pages of {missing} replays; Ctrl-C leaves out the rest", err=True)
    try:
        for folder, names in replays.items():
            for _ in write_match_pages(folder, names):
                pass
    except KeyboardInterrupt:
        print_line(f"left out; `{command} --resume` makes the missing pages", err=True)
    except OSError as error:
        print_line(f"pages of the replays: {os_error_text(error)}", err=True)
    return list(replays)


# -- how it ends ------------------------------------------------------------------------------------------------------


def show_unfit(setup: MatchSetup, folder: Path, records: Sequence[GameRecord]) -> None:
    """Print which program cannot play, how it was started, and what it wrote."""
    from spielleiter.match.stopping import unfit_programs, why_unfit

    for program in unfit_programs(records):
        for line in why_unfit(records, program, setup.entrants[program].command, folder):
            print_line(line, err=True)


def fault_kinds(texts: Sequence[str]) -> frozenset[str]:
    """The verdicts that the values of --fail-on name. Raises UsageError for an unknown one."""
    from spielleiter.match.verdict import (
        BAD_MESSAGE_VERDICTS,
        CRASH_VERDICTS,
        ILLEGAL_VERDICTS,
        LEFTOVER_VERDICTS,
        TIMEOUT_VERDICTS,
    )

    columns = (CRASH_VERDICTS, TIMEOUT_VERDICTS, ILLEGAL_VERDICTS, BAD_MESSAGE_VERDICTS, LEFTOVER_VERDICTS)
    kinds = dict(zip(FAULTS, (*columns, frozenset[str]().union(*columns)), strict=True))
    wanted = [word.strip() for text in texts for word in text.split(",")]
    for word in wanted:
        if word not in kinds:
            raise click.UsageError(f"--fail-on {word!r}: expected {', '.join(FAULTS)}")
    return frozenset().union(*(kinds[word] for word in wanted))


def exit_code_of_games(
    end: EndReason,
    records: Sequence[GameRecord],
    fail_on: frozenset[str],
    faults_of: Collection[int | None] = (0, 1, None),
) -> int:
    """The exit code: the first that applies of interrupted, unfit, machine, fault, 0.

    What makes the figures worthless takes precedence over faults of programs. `fail_on` are verdicts, which count
    against the programs `faults_of`.
    """
    from spielleiter.match.runner import EndReason
    from spielleiter.match.verdict import Verdict

    if end is EndReason.INTERRUPTED:
        return EXIT_INTERRUPTED
    if end is EndReason.UNFIT:
        return EXIT_UNFIT
    if end is EndReason.MACHINE_FAILURE or any(record.verdict == Verdict.SERVER_FAILED for record in records):
        return EXIT_MACHINE
    if not any(record.is_counted for record in records):
        return EXIT_MACHINE  # there is no result
    is_faulty = any(record.verdict in fail_on and record.offender in faults_of for record in records)
    return EXIT_FAULT if is_faulty else 0


def _read_option(_context: click.Context, _parameter: click.Parameter, value: str | None) -> list[str] | None:
    try:
        return None if value is None else read_on_end(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r}: {error}") from None


on_end_option: Final = click.option(
    "--on-end",
    metavar="CMD",
    callback=_read_option,
    help="Run CMD FOLDER SUMMARY at the end; it does not change the exit code.",
)
"""Decorates a command with `on_end`, a list of words or None."""


def read_on_end(text: str) -> list[str]:
    """The words of a command. Raises ValueError with the reason if the command cannot be started."""
    from spielleiter.programs.command import split_command
    from spielleiter.programs.windows_command import windows_words

    try:
        words = [os.path.expanduser(word) for word in split_command(text)]  # noqa: PTH111 - Path.expanduser raises
    except ValueError as error:
        raise ValueError(str(error).lower()) from None
    if not words:
        raise ValueError("expected a command")
    started = windows_words(words, "") if sys.platform == "win32" else words
    if shutil.which(started[0]) is None:
        raise ValueError(f"there is no program {words[0]}, or it may not be executed")
    return words


def play_and_exit(command: str, play: Callable[[], int], on_end: list[str] | None, summary: Path) -> NoReturn:
    """Exit with the code that `play` returns, after the command of --on-end; `command` is `match` or `tournament`.

    What this machine fails at is one line, and the exit code EXIT_MACHINE. Raises SetupError.
    """
    raise_on_ctrl_c()
    try:
        with machine_failures(command):
            code = play()
    except click.exceptions.Exit as failed:
        code = failed.exit_code
    run_on_end(on_end, summary, code)
    raise click.exceptions.Exit(code)


def run_on_end(words: list[str] | None, summary: Path, exit_code: int) -> None:
    """Run the command, if there is one, and print a line if it fails.

    `summary` is the file with the answer; it is in the folder of the match or tournament.
    No shell interprets the command. Its output goes to standard error, since standard output has only the answer.
    """
    if words is None:
        return
    from spielleiter.programs.windows_command import command_line, windows_words

    paths = [str(summary.parent.absolute()), str(summary.absolute())]
    variables = {"MATCH_FOLDER": paths[0], "MATCH_SUMMARY": paths[1], "MATCH_EXIT_CODE": str(exit_code)}
    sys.stderr.flush()
    try:
        code = subprocess.run(  # noqa: S603 - the user wants this command to be run
            command_line(windows_words([*words, *paths], "")) if sys.platform == "win32" else [*words, *paths],
            stdin=subprocess.DEVNULL,
            stdout=2,  # the descriptor of standard error
            env={**os.environ, **variables},
            check=False,
        ).returncode
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        print_line(f"--on-end {words[0]}: cannot be started ({reason or error})", err=True)
        return
    if code:
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        print_line(f"--on-end {words[0]}: {how}", err=True)
