"""`spielleiter check`: is this program, or this package, fit for the contest?

A contest package (a ZIP) is checked by cli/check_package.py.

Invariants: the exit code is 0 if the program has passed every step that the contest requires, 3 if it has failed one, 2
for misuse, and 4 if this machine failed or was too busy to decide. A warning never changes the exit code.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from spielleiter.cli.commands import Misuse, print_line, run_until_stopped
from spielleiter.cli.ctrl_c import raise_on_ctrl_c
from spielleiter.cli.exit_codes import EXIT_FAULT, EXIT_MACHINE
from spielleiter.cli.numbers import Number
from spielleiter.cli.options import (
    chosen_edition,
    edition_options,
    folder_option,
    game_end_option,
    is_given,
    require_sensible_limits,
    timeout_options,
)
from spielleiter.cli.platform_gaps import print_platform_gaps
from spielleiter.cli.program_options import variable_options
from spielleiter.common.process import hide_this_process
from spielleiter.common.text import count_text
from spielleiter.contest.calibration import MAX_SPEED, MIN_SPEED
from spielleiter.programs.sandbox.settings import AUTO, KINDS
from spielleiter.server.setting import MAX_SECONDS

if TYPE_CHECKING:
    from spielleiter.contest.check import StepResult


_FOR_A_ZIP: Final = ("main", "image", "sandbox", "speed", "html", "json")
"""The options that only a package has."""
_FOR_A_COMMAND: Final = ("env", "pass_env")
"""The options that a package does not have, since nobody can set variables in the contest."""


@click.command(
    epilog=(
        "\b\n"  # click's mark for text that must not be wrapped
        "Examples:\n"
        "  spielleiter check ./player\n"
        "  spielleiter check player.zip --html report.html\n"
        "  spielleiter check player.zip --image python:3.12 -- --level 3\n"
    )
)
@click.argument("command", metavar="CMD")
@click.argument("parameters", metavar="[-- PARAMETER...]", nargs=-1)
@click.option("--main", metavar="FILE", help="For a ZIP: its main file, if there are several candidates.")
@click.option(
    "--sandbox",
    type=click.Choice(KINDS),
    default=AUTO,
    show_default=True,
    help="For a ZIP: how to confine the program to the conditions of the contest. auto takes the best that this "
    "machine has, with an --image docker or podman; none sets limits only.",
)
@click.option(
    "--image",
    metavar="IMAGE",
    help="For a ZIP: the container image to run it in, such as python:3.12, as chosen with the upload.",
)
@click.option(
    "--speed",
    type=Number(MIN_SPEED, MAX_SPEED),
    metavar="FACTOR",
    help="For a ZIP: how many times as fast as that of the contest a core of this machine is.  [default: measured]",
)
@variable_options
@edition_options
@timeout_options(
    {
        "soft": "Time limit for an answer.",
        "hard": "Time after which the check stops waiting for an answer.",
        "start": "Time for the program to take its seat.",
        "exit": "Time for the program to end by itself after the game.",
    },
    has_to_exit=True,
)
@click.option(
    "--pause",
    type=Number(0, MAX_SECONDS, min_open=True),
    default=3.0,
    show_default=True,
    metavar="SECONDS",
    help="Length of the pause in the step that pauses the game.",
)
@game_end_option
@click.option(
    "--junit", type=click.Path(path_type=Path), metavar="FILE", help="Also write the results to FILE as JUnit XML."
)
@click.option(
    "--html", type=click.Path(path_type=Path), metavar="FILE", help="For a ZIP: also write them to FILE as a page."
)
@click.option(
    "--json", type=click.Path(path_type=Path), metavar="FILE", help="For a ZIP: also write them to FILE as JSON."
)
@folder_option("--out", "Keep the program's output, the bytes on the wire and the replays in this folder.")
@click.pass_context
def check(
    context: click.Context,
    command: str,
    parameters: tuple[str, ...],
    main: str | None,
    sandbox: str,
    image: str | None,
    speed: float | None,
    env: Mapping[str, str] | None,
    pass_env: tuple[str, ...] | None,
    game: str | None,
    edition: str | None,
    soft_timeout: int,
    hard_timeout: int,
    start_timeout: float,
    exit_timeout: float,
    pause: float,
    game_end: str | None,
    junit: Path | None,
    html: Path | None,
    json: Path | None,
    out: Path | None,
) -> None:
    """Test whether a program copes with everything that happens in the contest.

    CMD is the ZIP that you hand in, or a command line as for `spielleiter match`.

    A command line is tested step by step. A warning does not make a program unfit: either a step failed that tests more
    than the official server does, or the program depends on something that the official server does not do, but loses
    no game by it. A step in which the program had to wait for a processor is tried up to three times.

    A ZIP is inspected, unpacked and run under the conditions of the contest: with its options in every order, in two
    games against builtin:random and six against builtin:greedy, on one core, with 1.5 GB of memory, without network and
    screen. Each condition is green, yellow (it may fail) or red (it fails). PARAMETERs are further ones for the
    program, as they can be given with the upload.

    The exit code is 0 if the program is fit, 3 if it is not, and 4 if this machine failed or was too busy to decide.
    """
    from spielleiter.common.errors import MatchError, SetupError, os_error_text
    from spielleiter.common.files import write_whole
    from spielleiter.contest.check import CheckSetup, Status, check_program, is_fit, is_undecided, render_junit
    from spielleiter.match.plan import ProgramTimeouts, season_text
    from spielleiter.programs.environment import added_variables, require_set
    from spielleiter.programs.program import Command
    from spielleiter.programs.startable import require_startable
    from spielleiter.programs.temporary_folders import temporary_folder
    from spielleiter.server.editions import game_option_problem

    require_sensible_limits(soft_timeout, hard_timeout)
    chosen = chosen_edition(game, edition)
    if game_end is not None and (problem := game_option_problem(chosen, "gameEnd", game_end)):
        raise Misuse(f"--game-end: {problem}")
    _require_writable(out, junit, html, json)
    hide_this_process()
    patience = ProgramTimeouts(start=start_timeout, exit=exit_timeout)
    try:
        parsed = Command.parse(command)
    except SetupError as error:
        raise Misuse(str(error)) from None
    if parsed.is_package:
        from spielleiter.cli.check_package import ReportFiles, check_package_in_terminal
        from spielleiter.contest.package_games import PackageCheckSetup
        from spielleiter.programs.sandbox.settings import SandboxSettings

        for name in _FOR_A_COMMAND:
            if is_given(context, name):
                option = f"--{name.replace('_', '-')}"
                raise Misuse(f"{option}: a package gets no variables in the contest; give its main file instead")
        package = PackageCheckSetup(
            Path(parsed.words[0]),
            chosen.game_type,
            chosen.name,
            main=main,
            parameters=(*parsed.parameters, *parameters),
            sandbox=SandboxSettings(sandbox, image),
            speed=speed,
            soft_timeout=soft_timeout / 1000,
            hard_timeout=hard_timeout / 1000,
            pause=pause,
            patience=patience,
            game_end=game_end,
        )
        check_package_in_terminal(package, ReportFiles(html, json, junit), out)
        return
    _refuse_options_of_packages(context, parameters)
    setup = CheckSetup(
        command,
        chosen.game_type,
        soft_timeout / 1000,
        hard_timeout / 1000,
        pause,
        patience,
        chosen.name,
        game_end,
        environment=added_variables(pass_env or (), env or {}),
    )
    season = season_text(chosen.game_type, chosen.name)
    try:
        require_set(pass_env or ())
        require_startable(parsed)
        print_platform_gaps()
        print_line(f"{season}: checking {command}")
        raise_on_ctrl_c()
        with temporary_folder() as temporary:
            folder = out or temporary
            results = run_until_stopped(lambda: check_program(setup, folder, partial(_tell, out)))
        if junit is not None:
            write_whole(junit, render_junit(command, results, season))
    except SetupError as error:
        raise Misuse(str(error)) from None
    except (MatchError, OSError) as error:
        text = os_error_text(error) if isinstance(error, OSError) else error
        print_line(f"spielleiter check: {text}", err=True)
        raise click.exceptions.Exit(EXIT_MACHINE) from None
    warnings = sum(result.status is Status.WARNING for result in results)
    steps = count_text(len(results), "step")
    if is_undecided(results):
        open_steps = sum(result.status in {Status.UNDECIDED, Status.NOT_TRIED} for result in results)
        print_line(
            f"undecided: this machine was too busy for {open_steps} of {steps}{_counted(warnings)}; "
            "try again when it has less to do"
        )
        raise click.exceptions.Exit(EXIT_MACHINE)
    if not is_fit(results):
        missed = [result for result in results if result.status not in {Status.PASSED, Status.WARNING}]
        first = next(result for result in missed if result.status is Status.FAILED)
        print_line(
            f"not fit: {len(missed)} of {steps} not passed, first {first.number}, {first.title}{_counted(warnings)}"
        )
        raise click.exceptions.Exit(EXIT_FAULT)
    if warnings:
        print_line(f"fit: {len(results) - warnings} of {steps} passed{_counted(warnings)}")
    else:
        print_line(f"fit: {'the only step' if len(results) == 1 else f'all {len(results)} steps'} passed")


def _refuse_options_of_packages(context: click.Context, parameters: tuple[str, ...]) -> None:
    """Raise Misuse if something was given that only a package has."""
    given = [f"--{name}" for name in _FOR_A_ZIP if is_given(context, name)]
    if given:
        raise Misuse(f"{given[0]} needs a ZIP, as in `spielleiter check player.zip {given[0]} ...`")
    if parameters:
        raise Misuse(f"{parameters[0]!r} is one word too many; put the whole command line in quotation marks")


def _require_writable(out: Path | None, *files: Path | None) -> None:
    """Raise Misuse if the results cannot be written, before anything is tested."""
    from spielleiter.common.errors import os_error_text
    from spielleiter.common.files import require_writable

    try:
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=out):
                pass
        for file in files:
            if file is not None:
                require_writable(file)
    except OSError as error:
        raise Misuse(os_error_text(error)) from None


def _counted(warnings: int) -> str:
    """The end of the last line, with the number of warnings."""
    return f", {count_text(warnings, 'warning')}" if warnings else ""


def _tell(out: Path | None, result: StepResult) -> None:
    from spielleiter.contest.check import Status

    head = f"{result.number:2}  {result.status.value:9}  {result.title}"
    if result.status is Status.PASSED:
        head += f": {result.came}"
    print_line(head)
    if result.status in {Status.FAILED, Status.WARNING, Status.UNDECIDED}:
        print_line(f"        expected: {result.expected}")
        print_line(f"        got:      {result.came}")
        for line in result.stderr.splitlines():
            print_line(f"        stderr:   {line}")
    if result.status is Status.WARNING:
        print_line(f"        remark:   {result.remark}")
    if out is not None and result.status not in {Status.PASSED, Status.NOT_TRIED}:
        print_line(f"        kept in:  {out / result.folder}")
