"""Starting a package's program with its options in every order and form, until it asks for its seat.

The contest's documents show two forms and say that the three options come in any order, in their short or their long
version. Further parameters, which can be given with an upload, come before or after them.

Invariants: every start is a process of its own, which is ended as soon as it has asked. The first form is the one of
all games, so a program that plays and fails here fails because of the form. After a failure, the remaining forms of the
same kind are not tried, since they would fail in the same way.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

import trio

from spielleiter.contest.check import ATTEMPTS
from spielleiter.contest.package_faults import fault
from spielleiter.contest.package_games import GameResult, PackageCheckSetup
from spielleiter.contest.scripted_server import (
    Confined,
    InconclusiveError,
    UnexpectedBehaviourError,
    open_scripted_server,
)
from spielleiter.programs.command import Command, join_command
from spielleiter.programs.outputs import last_words
from spielleiter.programs.packages.faults import Finding
from spielleiter.programs.packages.package import Package
from spielleiter.programs.sandbox.sandbox import Sandbox
from spielleiter.programs.temporary_folders import temporary_folder
from spielleiter.server.editions import choose_editions

_SHORT: Final = {"host": "-h", "port": "-p", "reservation": "-r"}
_LONG: Final = {"host": "--host", "port": "--port", "reservation": "--reservation"}
_MIXED: Final = {"host": "-h", "port": "--port", "reservation": "-r"}
_PLACEHOLDERS: Final[Mapping[str, str]] = MappingProxyType(
    {"host": "{host}", "port": "{port}", "reservation": "{reservation}"}
)
_JOIN: Final = "joinPrepared"
_ALL_IN_ONE: Final = re.compile(rb'"\$(?:\*|\{\*\})"')
"""What a shell replaces by all parameters as one word."""
_MAX_SCRIPT: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class OptionForm:
    """One way to give a program its options.

    `names` are the options in their order; `has_parameters_last` says whether further parameters come after them.
    """

    names: tuple[tuple[str, str], ...]
    is_long: bool = False
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
    short = [_form(order, _SHORT) for order in itertools.permutations(_SHORT)]
    long = [
        _form(order, _LONG, is_long=True)
        for order in (("reservation", "host", "port"), ("port", "host", "reservation"))
    ]
    mixed = [_form(("port", "reservation", "host"), _MIXED, is_long=True)]
    last = [OptionForm(short[0].names, has_parameters_last=True)] if parameters else []
    return (*short, *long, *mixed, *last)


def _form(order: Sequence[str], names: Mapping[str, str], *, is_long: bool = False) -> OptionForm:
    return OptionForm(tuple((key, names[key]) for key in order), is_long)


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
    starts = _Starts(setup, package, sandbox, folder)
    results: list[OptionResult] = []
    failed: set[str] = set()
    for number, form in enumerate(option_forms(package.parameters), 1):
        code = _code(form)
        if code not in failed:
            tell(f"options as {form.text(package.parameters)}")
            result = await starts.attempt(form, f"options/start{number:02d}")
            results.append(result)
            if result.finding is not None:
                failed.add(code)
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
            await _Starts(setup, copy, sandbox, folder).start(form, "options/one-word")
        except UnexpectedBehaviourError:
            return None
    return fault("options-in-one-word", failed.game.folder, file=corrected, reason=failed.record.reason)


def _correct(package: Package, folder: Path) -> str | None:
    """Copy a package, with "$*" replaced in its scripts; return the name of the first such script, None if none is.

    Blocks. Raises OSError.
    """
    shutil.copytree(package.folder, folder)
    corrected = [
        path.relative_to(folder).as_posix()
        for path in (folder / package.main, *sorted(folder.rglob("*.sh")))
        if path.is_file() and path.stat().st_size <= _MAX_SCRIPT and _replace_in(path)
    ]
    return corrected[0] if corrected else None


def _replace_in(path: Path) -> bool:
    content = path.read_bytes()
    new = _ALL_IN_ONE.sub(b'"$@"', content) if content.startswith(b"#!") or path.suffix == ".sh" else content
    if new == content:
        return False
    path.write_bytes(new)
    return True


def _code(form: OptionForm) -> str:
    if form.has_parameters_last:
        return "parameter-order"
    return "option-names" if form.is_long else "option-order"


class _Starts:
    def __init__(self, setup: PackageCheckSetup, package: Package, sandbox: Sandbox, folder: Path) -> None:
        self._setup = setup
        self._package = package
        self._confined = Confined(sandbox, package.folder)
        self._folder = folder
        self._run_id = secrets.token_hex(8)
        editions = {} if setup.edition is None else {setup.game_type: setup.edition}
        self._edition = choose_editions(editions, {})[setup.game_type]

    async def attempt(self, form: OptionForm, relative: str) -> OptionResult:
        """Start the program in this form; repeat that if only this machine was too busy."""
        for _ in range(ATTEMPTS):
            try:
                how, seconds = await self.start(form, relative)
            except InconclusiveError:
                continue
            except UnexpectedBehaviourError as error:
                return OptionResult(form, finding=self._fault(form, relative, str(error)))
            if how != _JOIN:
                return OptionResult(form, seconds, fault("plain-join", relative))
            return OptionResult(form, seconds)
        return OptionResult(form, is_undecided=True)

    async def start(self, form: OptionForm, relative: str) -> tuple[str, float]:
        """Start the program; return how it asks for a seat and the seconds until then. Raises MatchError."""
        main, *parameters = self._package.words
        command = Command.parse(join_command([main, *form.arguments(_PLACEHOLDERS, parameters)]))
        folder = self._folder / relative
        tag = f"{self._run_id}/{relative}"
        timeout = self._setup.patience.start
        async with open_scripted_server(self._edition, command, 0, folder, tag, timeout, self._confined) as server:
            started = trio.current_time()
            await server.wait_for_connection()
            how = await server.take_seat()
            return how, trio.current_time() - started
        raise AssertionError("a scripted server suppresses no exception")

    def _fault(self, form: OptionForm, relative: str, text: str) -> Finding:
        folder = self._folder / relative
        words = last_words(folder / "stderr.log", folder / "stdout.log")
        reason = f"{text}; its last words: {words}" if words else text
        return fault(_code(form), relative, form=form.text(self._package.parameters), reason=reason)
