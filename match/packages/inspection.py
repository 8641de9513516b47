"""Inspects a contest package before anything in it is started.

Invariants: nothing is started and nothing is written. Every exception that a file can cause is a finding. The findings
are in the order of their levels, RED first.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from spielleiter.match.packages.archive import Archive, Entry, open_archive
from spielleiter.match.packages.faults import Finding, Level, PackageError, finding_of
from spielleiter.match.packages.leftovers import (
    leftover_findings,
    missing_requirements,
    modules_of,
    requirement_findings,
)
from spielleiter.match.packages.main_file import choose_main
from spielleiter.match.packages.python_sources import built_for
from spielleiter.match.packages.started_programs import main_findings

_ORDER: Final = (Level.RED, Level.YELLOW, Level.GREEN)
_MISSING: Final = frozenset({"missing-file", "missing-folder", "missing-class", "missing-module"})
"""Faults of a program that is started in another folder than its author has assumed."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """What an inspection found."""

    findings: tuple[Finding, ...]
    main: PurePosixPath | None
    """The main file; None if it is not there or not known."""
    entries: tuple[Entry, ...]
    """The files and folders in the package; empty if it cannot be unpacked."""
    python: str = ""
    """The version of Python that its compiled modules are for; empty if there are none, or for several versions."""

    @property
    def is_startable(self) -> bool:
        """Whether there is no RED finding."""
        return not self.red

    @property
    def red(self) -> tuple[Finding, ...]:
        """The findings because of which the package is not started."""
        return tuple(each for each in self.findings if each.level is Level.RED)


def inspect_package(path: Path, main: str | None = None) -> Inspection:
    """Inspect the package at `path`, whose main file is `main`; None: the file that is found to be it."""
    try:
        with open_archive(path) as archive:
            return inspect_archive(archive, main)
    except PackageError as error:
        return Inspection(error.findings, None, ())
    except Exception as error:
        # The file comes from anybody. Whatever it triggers here is an answer to its author, not the end of a match.
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return Inspection((finding_of("uninspectable", reason=reason),), None, ())


def inspect_archive(archive: Archive, main: str | None = None) -> Inspection:
    """Inspect an open package, like `inspect_package`. Raises PackageError if a file turns out to be damaged."""
    if not archive.is_usable:
        return Inspection(_sorted(archive.findings), None, ())
    findings = list(archive.findings)
    chosen = choose_main(archive, main)
    if isinstance(chosen, Finding):
        return Inspection(_sorted([*findings, chosen]), None, archive.entries)
    required = missing_requirements(archive)
    found = list(main_findings(archive, chosen, modules_of(required)))
    if main is None and len(chosen.path.parts) > 1:
        inside = main_findings(archive, chosen, modules_of(required), chosen.path.parent)
        found = _with_place(chosen, found, list(inside))
    findings += found
    if all(each.code != "pip-install" for each in findings):  # which is the same fault
        findings += requirement_findings(required)
    findings += leftover_findings(archive)
    return Inspection(_sorted(findings), chosen.path, archive.entries, built_for(archive))


def _with_place(main: Entry, findings: list[Finding], inside: list[Finding]) -> list[Finding]:
    """Return the findings about a main file in a folder, which the contest starts in the folder above.

    `inside` are those that it would have if it were started in its own folder.
    """
    missing = [each for each in findings if each.code in _MISSING and each not in inside]
    if not missing:
        return [finding_of("main-in-folder", [str(main.path)]), *findings]
    return [finding_of("folder-inside", [main.path.parts[0]]), *(each for each in findings if each not in missing)]


def _sorted(findings: list[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(dict.fromkeys(findings), key=lambda each: _ORDER.index(each.level)))
