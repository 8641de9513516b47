"""Checking a contest package: the static findings first, then everything that the contest does with the program.

Invariants: nothing is started if a static finding is red. If the program cannot even take its seat in the test of the
upload, nothing else is tried. Every condition is reported once, in the order of the report, as soon as it is known. No
process and no unpacked file is left at the end; logs and replays are below the folder of the check.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import re
import secrets
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import trio

from spielleiter.common.errors import MachineError
from spielleiter.common.text import count_text
from spielleiter.contest.calibration import Speed, measure_speed
from spielleiter.contest.check import ATTEMPTS, CheckSetup, Status, StepResult, check_program
from spielleiter.contest.observed_faults import ObservedConditions
from spielleiter.contest.package_games import (
    PROGRAM,
    GameResult,
    PackageCheckSetup,
    PackageGames,
    affects_game,
    merged,
)
from spielleiter.contest.package_report import (
    ConditionResult,
    PackageReport,
    PlayedGame,
    SandboxReport,
    State,
    state_of,
)
from spielleiter.contest.runtime_faults import fault
from spielleiter.contest.scripted_server import (
    Confined,
    InconclusiveError,
    UnexpectedBehaviourError,
    open_scripted_server,
)
from spielleiter.match.plan import season_text
from spielleiter.match.verdict import Verdict
from spielleiter.programs.command import Command, join_command
from spielleiter.programs.contest_conditions import MACHINE, REPORTED, Condition
from spielleiter.programs.outputs import last_words
from spielleiter.programs.packages.faults import Finding
from spielleiter.programs.packages.package import Package, inspect_package, unpack_package
from spielleiter.programs.sandbox.choice import choose_sandbox
from spielleiter.programs.sandbox.sandbox import Sandbox
from spielleiter.programs.startable import start_problem
from spielleiter.programs.temporary_folders import temporary_folder
from spielleiter.server.editions import choose_editions

_SHORT: Final = {"host": "-h", "port": "-p", "reservation": "-r"}
_LONG: Final = {"host": "--host", "port": "--port", "reservation": "--reservation"}
_ALL_IN_ONE: Final = re.compile(rb'"\$(?:\*|\{\*\})"')
"""What a shell replaces by all parameters as one word."""
_MAX_SCRIPT: Final = 1024 * 1024
_FOLDER: Final = "protocol"
RANDOM: Final = "builtin:random"
GREEDY: Final = "builtin:greedy"
UPLOAD_GAMES: Final = 2
PAIRING_GAMES: Final = 6
_CANNOT_START: Final = frozenset({Verdict.NO_START, Verdict.NEVER_JOINS, Verdict.NONSENSE})


@dataclass(frozen=True, slots=True)
class OptionForm:
    """One way to give a program its options.

    `names` are the options in their order, `code` is that of the fault of a program that does not understand this.
    `has_parameters_last` says whether further parameters follow the options instead of preceding them.
    """

    names: tuple[tuple[str, str], ...]
    code: str
    has_parameters_last: bool = False

    def arguments(self, values: Mapping[str, str], parameters: Sequence[str] = ()) -> list[str]:
        """Return the words after the main file; `values` has ``host``, ``port`` and ``reservation``."""
        options = [word for key, option in self.names for word in (option, values[key])]
        return [*options, *parameters] if self.has_parameters_last else [*parameters, *options]

    def text(self, parameters: Sequence[str] = ()) -> str:
        """The form as a person writes it."""
        return " ".join(self.arguments({"host": "HOST", "port": "PORT", "reservation": "CODE"}, parameters))


def option_forms(parameters: Sequence[str] = ()) -> tuple[OptionForm, ...]:
    """Return all forms that are tried; the one with the parameters at the end only if there are `parameters`."""
    forms = [OptionForm(names, "option-order") for names in itertools.permutations(_SHORT.items())]
    host, port, reservation = _LONG.items()
    mixed = (port, ("reservation", _SHORT["reservation"]), ("host", _SHORT["host"]))
    others = ((reservation, host, port), (port, host, reservation), mixed)
    forms += [OptionForm(names, "option-names") for names in others]
    if parameters:
        forms.append(OptionForm(forms[0].names, "parameter-order", has_parameters_last=True))
    return tuple(forms)


@dataclass(frozen=True, slots=True)
class OptionResult:
    """The result for one form: the seconds until the program asked for its seat, or what went wrong."""

    form: OptionForm
    seconds: float | None = None
    finding: Finding | None = None
    is_undecided: bool = False


async def try_option_forms(
    setup: PackageCheckSetup, package: Package, sandbox: Sandbox, folder: Path, tell: Callable[[str], None]
) -> tuple[OptionResult, ...]:
    """Try the forms and return the results of those that were tried.

    `folder` is that of the check; `tell` is called with each form. Raises MatchError.
    """
    results: list[OptionResult] = []
    failed: set[str] = set()
    for number, form in enumerate(option_forms(package.parameters), 1):
        if form.code not in failed:
            tell(f"options as {form.text(package.parameters)}")
            result = await _try_form(form, setup, package, sandbox, folder, f"options/start{number:02d}")
            results.append(result)
            if result.finding is not None:
                failed.add(form.code)
    return tuple(results)


async def one_word_fault(
    setup: PackageCheckSetup, package: Package, sandbox: Sandbox, folder: Path, failed: GameResult
) -> Finding | None:
    """Return the finding that a script passes all options on as one word; None if that is not why a game `failed`.

    The package is started once more with the mistake corrected in a copy; it is to blame if the program takes its seat
    then. `folder` is that of the check. Raises MatchError.
    """
    with temporary_folder() as temporary:
        copy = dataclasses.replace(package, folder=temporary / "program")
        corrected = await trio.to_thread.run_sync(_correct, package, copy.folder)
        if corrected is None:
            return None
        form, *_ = option_forms(package.parameters)
        try:
            await _start(form, setup, copy, sandbox, folder / "options/one-word")
        except UnexpectedBehaviourError:
            return None
    return fault("options-in-one-word", failed.game.folder, file=corrected, reason=failed.record.reason)


def _correct(package: Package, folder: Path) -> str | None:
    """Copy a package, with "$*" replaced in its scripts; return the name of the first such script, None if none is.

    Blocks. Raises OSError.
    """
    shutil.copytree(package.folder, folder)
    corrected = ""
    for path in (folder / package.main, *sorted(folder.rglob("*.sh"))):
        if not path.is_file() or path.stat().st_size > _MAX_SCRIPT:
            continue
        content = path.read_bytes()
        if path.suffix == ".sh" or content.startswith(b"#!"):
            new = _ALL_IN_ONE.sub(b'"$@"', content)
            if new != content:
                path.write_bytes(new)
                corrected = corrected or path.relative_to(folder).as_posix()
    return corrected or None


async def _try_form(
    form: OptionForm, setup: PackageCheckSetup, package: Package, sandbox: Sandbox, folder: Path, relative: str
) -> OptionResult:
    """Start the program in this form; repeat that if only this machine was too busy."""
    place = folder / relative
    for _ in range(ATTEMPTS):
        try:
            how, seconds = await _start(form, setup, package, sandbox, place)
        except InconclusiveError:
            continue
        except UnexpectedBehaviourError as error:
            words = last_words(place / "stderr.log", place / "stdout.log")
            reason = f"{error}; its last words: {words}" if words else str(error)
            return OptionResult(
                form, finding=fault(form.code, relative, form=form.text(package.parameters), reason=reason)
            )
        return OptionResult(form, seconds, None if how == "joinPrepared" else fault("plain-join", relative))
    return OptionResult(form, is_undecided=True)


async def _start(
    form: OptionForm, setup: PackageCheckSetup, package: Package, sandbox: Sandbox, folder: Path
) -> tuple[str, float]:
    """Start the program; return how it asks for a seat and the seconds until then. Raises MatchError.

    `folder` gets its outputs.
    """
    main, *parameters = package.words
    command = Command.parse(join_command([main, *form.arguments({key: f"{{{key}}}" for key in _SHORT}, parameters)]))
    edition = choose_editions({} if setup.edition is None else {setup.game_type: setup.edition}, {})[setup.game_type]
    tag = f"{secrets.token_hex(8)}/{folder.name}"
    confined = Confined(sandbox, package.folder)
    async with open_scripted_server(edition, command, 0, folder, tag, setup.timeouts.start, confined) as server:
        started = trio.current_time()
        await server.wait_for_connection()
        how = await server.take_seat()
        return how, trio.current_time() - started
    raise AssertionError("a scripted server suppresses no exception")


async def try_steps(
    setup: PackageCheckSetup,
    package: Package,
    sandbox: Sandbox,
    folder: Path,
    time_factor: float,
    tell: Callable[[str], None],
) -> ConditionResult:
    """Try the steps of the check of a command, but for its whole games, which a package plays anyway.

    `tell` is called with the title of each one that has ended. `time_factor` extends the time limits on a machine that
    is slower than the contest's. Raises MatchError.
    """
    check = CheckSetup(
        join_command(package.words),
        setup.game_type,
        setup.soft_timeout * time_factor,
        setup.hard_timeout * time_factor,
        setup.pause,
        setup.timeouts,
        setup.edition,
        setup.game_end,
        Confined(sandbox, package.folder),
    )
    return summed_up(
        await check_program(check, folder / _FOLDER, lambda step: tell(f"step {step.number}, {step.title}"))
    )


def summed_up(steps: Sequence[StepResult]) -> ConditionResult:
    """Return these steps as the result of one condition; steps that missed the same expectation are one finding."""
    groups: dict[tuple[Status, str], list[StepResult]] = {}
    for step in steps:
        if step.status in {Status.FAILED, Status.WARNING}:
            groups.setdefault((step.status, step.expected), []).append(step)
    findings = tuple(
        fault(
            "missed-step" if step.status is Status.WARNING else "failed-step",
            f"{_FOLDER}/{step.folder}",
            title=f"{step.title} (and {count_text(len(others), 'more step')})" if others else step.title,
            expected=step.expected,
            reason=step.came,
            remark=step.remark,
        )
        for step, *others in groups.values()
    )
    passed = sum(step.status is Status.PASSED for step in steps)
    text = f"{passed} of {count_text(len(steps), 'step')} passed"
    state = state_of(findings, is_undecided=passed < len(steps))
    return ConditionResult(Condition.PROTOCOL, state, text, findings)


def games_result(condition: Condition, results: Sequence[GameResult]) -> ConditionResult:
    """Return the result of games that were played one after the other."""
    found = [[finding for finding in each.findings if affects_game(finding)] for each in results]
    findings = merged(finding for each in found for finding in each)
    sound = sum(not faults and not each.is_undecided for each, faults in zip(results, found, strict=True))
    won = sum(each.record.winner == PROGRAM for each in results)
    text = f"{sound} of {count_text(len(results), 'game')} without a fault, {won} won"
    state = state_of(findings)
    if state is State.GREEN and (undecided := [each for each in results if each.is_undecided]):
        state, text = State.UNDECIDED, f"{text}; {_how(undecided[0])}"
    return ConditionResult(condition, state, text, findings)


def two_games_result(results: Sequence[GameResult], known: Collection[str]) -> ConditionResult:
    """Return the result of two games at once; `known` are the codes of faults that single games show as well."""
    failed = [each for each in results if any(finding.code not in known for finding in each.findings)]
    if failed:
        finding = fault("not-twice", failed[0].game.folder, reason=_how(failed[0]))
        return ConditionResult(Condition.TWO_GAMES, state_of([finding]), "they disturb each other", (finding,))
    state, text = State.GREEN, "both were played without a fault"
    if any(each.is_undecided for each in results):
        state, text = State.NOT_CHECKED, "this machine was too busy for two games at once"
    elif any(each.findings for each in results):
        text = "they show no fault that single games do not show"
    return ConditionResult(Condition.TWO_GAMES, state, text)


def options_result(results: Sequence[OptionResult]) -> ConditionResult:
    """Return the result of all orders and forms of the options that were tried."""
    findings = merged(each.finding for each in results if each.finding is not None)
    sound = sum(each.finding is None and not each.is_undecided for each in results)
    state = state_of(findings, is_undecided=any(each.is_undecided for each in results))
    text = f"{sound} of {len(results)} orders and forms are understood"
    return ConditionResult(Condition.OPTIONS, state, text, findings)


def _how(result: GameResult) -> str:
    return f"{result.record.verdict}: {result.record.reason}"


class CheckListener(Protocol):
    """Is told what happens; called in the event loop, so its methods must return quickly."""

    def started(self, main: str, sandbox: SandboxReport, speed: Speed) -> None:
        """The static findings are not red, and the program is started next."""
        ...

    def doing(self, text: str) -> None:
        """The check goes on to what `text` says."""
        ...

    def result(self, result: ConditionResult) -> None:
        """A condition is decided."""
        ...


async def check_package(setup: PackageCheckSetup, folder: Path, listener: CheckListener) -> PackageReport:
    """Check a package and return the report; logs and replays are kept below `folder`.

    Raises SetupError if the sandbox that was asked for cannot be used, and MachineError or another MatchError if the
    check cannot be carried out.
    """
    check = _PackageCheck(setup, folder, listener)
    return await check.run()


class _PackageCheck:
    def __init__(self, setup: PackageCheckSetup, folder: Path, listener: CheckListener) -> None:
        self._setup = setup
        self._folder = folder
        self._listener = listener
        self._results: list[ConditionResult] = []
        self._games: list[PlayedGame] = []
        self._speed: Speed | None = None
        self._sandbox: SandboxReport | None = None
        self._main = ""

    async def run(self) -> PackageReport:
        started = trio.current_time()
        setup = self._setup
        self._listener.doing("inspecting the ZIP")
        inspection = await trio.to_thread.run_sync(inspect_package, setup.path, setup.main)
        self._main = str(inspection.main or "")
        sandbox = dataclasses.replace(setup.sandbox, python_version=inspection.python_version)
        self._setup = dataclasses.replace(setup, sandbox=sandbox)
        text = "it cannot be started"
        if inspection.main is not None:
            files = sum(not each.is_folder for each in inspection.entries)
            text = f"main file {inspection.main}, {count_text(files, 'file')}"
        findings = tuple(inspection.findings)
        self._add(ConditionResult(Condition.PACKAGE, state_of(findings), text, findings))
        if not inspection.is_startable:
            self._skip_rest("not tried, since the program cannot be started as it is")
        else:
            await self._check_program()
        return PackageReport(
            package=setup.path.name,
            main=self._main,
            season=season_text(setup.game_type, setup.edition),
            results=tuple(self._results),
            seconds=trio.current_time() - started,
            sandbox=self._sandbox,
            speed=self._speed,
            games=tuple(self._games),
        )

    async def _check_program(self) -> None:
        setup = self._setup
        confined = setup.sandbox
        sandbox = await trio.to_thread.run_sync(choose_sandbox, confined.image, confined.kind, confined.python_version)
        if setup.speed is not None:
            speed = Speed(setup.speed, is_measured=False)
        else:
            self._listener.doing("measuring the speed of this machine")
            speed = await trio.to_thread.run_sync(measure_speed)
        self._speed = speed
        self._sandbox = SandboxReport(
            sandbox.name,
            tuple(each.sentence for each in MACHINE if each in sandbox.kept),
            tuple(sandbox.gaps[each] for each in MACHINE if each in sandbox.gaps),
        )
        self._listener.started(self._main, self._sandbox, speed)
        with temporary_folder() as temporary:
            place = temporary / "program"
            package = await trio.to_thread.run_sync(unpack_package, setup.path, place, setup.main, setup.parameters)
            if sys.platform == "win32" and setup.sandbox.image is None:
                missing = start_problem(Command.parse(join_command(package.words)))
                if missing:
                    missing = missing.replace(f"{package.folder.absolute()}{os.sep}", "")
                    text = f"Windows cannot start the program: {missing}"
                    self._add(ConditionResult(Condition.UPLOAD_TEST, State.UNDECIDED, text))
                    self._skip_rest("not tried, since Windows cannot start the program")
                    return
            await self._run_program(package, sandbox, speed)

    async def _run_program(self, package: Package, sandbox: Sandbox, speed: Speed) -> None:
        setup, tell = self._setup, self._listener.doing
        command = join_command(package.words)
        games = PackageGames(setup, command, package.folder, self._folder, speed.factor, sandbox.python_description)
        observed = ObservedConditions(speed, sandbox.gaps)
        upload = await games.play(Condition.UPLOAD_TEST.key, RANDOM, UPLOAD_GAMES, tell)
        if all(each.record.verdict == Verdict.SERVER_FAILED for each in upload):
            raise MachineError(upload[0].record.reason)
        has_no_seat = all(each.record.verdict in _CANNOT_START and each.findings for each in upload)
        if has_no_seat and (finding := await one_word_fault(setup, package, sandbox, self._folder, upload[0])):
            upload = tuple(dataclasses.replace(each, findings=(finding,)) for each in upload)
        self._add(games_result(Condition.UPLOAD_TEST, upload), upload)
        observed.add_games(upload)
        if has_no_seat:
            self._skip_rest("not tried, since the program does not take its seat", observed)
            return
        options = await try_option_forms(setup, package, sandbox, self._folder, tell)
        self._add(options_result(options))
        observed.add_starts(each.seconds for each in options if each.seconds is not None)
        pairing = await games.play(Condition.PAIRING.key, GREEDY, PAIRING_GAMES, tell)
        self._add(games_result(Condition.PAIRING, pairing), pairing)
        observed.add_games(pairing)
        tell("two games at once")
        known = {finding.code for each in (*upload, *pairing) for finding in each.findings}
        both = await games.play_two_at_once(Condition.TWO_GAMES.key, RANDOM)
        self._add(two_games_result(both, known), both)
        self._add(await try_steps(setup, package, sandbox, self._folder, games.time_factor, tell))
        self._skip_rest("", observed)

    def _skip_rest(self, reason: str, observed: ObservedConditions | None = None) -> None:
        """Report the conditions that are left: those that were `observed` during all games, and why not the others."""
        for condition in REPORTED[len(self._results) :]:
            found = None if observed is None else observed.result(condition)
            self._add(found or ConditionResult(condition, State.NOT_CHECKED, reason))

    def _add(self, result: ConditionResult, games: Iterable[GameResult] = ()) -> None:
        self._games += [each.game for each in games]
        self._results.append(result)
        self._listener.result(result)
