"""Inspects a contest package before anything in it is started.

It looks for what keeps a package from being unpacked or started at all, and for what a run on this machine cannot show
about the contest's. The rest is left to the run.

Invariants: nothing is started and nothing is written. Every exception that a file can cause is a finding. The findings
are in the order of their levels, RED first.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from spielleiter.programs.packages.archive import Archive, Entry, open_archive
from spielleiter.programs.packages.compiled import compiled_findings
from spielleiter.programs.packages.faults import Finding, Level, PackageError, finding_of
from spielleiter.programs.packages.main_file import choose_main, read_main
from spielleiter.programs.packages.python_modules import built_for, module_findings

_ORDER: Final = (Level.RED, Level.YELLOW, Level.GREEN)


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
    if main is None and len(chosen.path.parts) > 1:
        findings.append(finding_of("main-in-folder", [str(chosen.path)]))
    examined = read_main(archive, chosen)
    findings += examined.findings
    findings += compiled_findings(archive, chosen, examined.words)
    findings += module_findings(archive, examined)
    return Inspection(_sorted(findings), chosen.path, archive.entries, built_for(archive))


def _sorted(findings: list[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(dict.fromkeys(findings), key=lambda each: _ORDER.index(each.level)))
