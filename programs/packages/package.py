"""Inspecting a contest package before anything in it is started, and unpacking it into a folder, as the contest does.

The inspection looks for what keeps a package from being unpacked or started at all, and for what a run on this machine
cannot show about the contest's. Every exception that a file can cause is a finding.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from spielleiter.common.files import portable_name
from spielleiter.programs.packages.archive import Entry, PackageArchive, open_archive
from spielleiter.programs.packages.compiled import built_for, compiled_findings, module_findings
from spielleiter.programs.packages.faults import Finding, Level, PackageError, finding_of
from spielleiter.programs.packages.main_file import choose_main, read_main
from spielleiter.programs.packages.python_modules import import_findings, requirement_findings
from spielleiter.programs.sandbox.pythons import CONTEST_VERSION

_ORDER: Final = (Level.RED, Level.YELLOW, Level.GREEN)
_FILE_MODE: Final = 0o644
_MAIN_MODE: Final = 0o755


@dataclass(frozen=True, slots=True)
class Inspection:
    """What an inspection found."""

    findings: tuple[Finding, ...]
    main: PurePosixPath | None
    """The main file; None if it is not there or not known."""
    entries: tuple[Entry, ...]
    """The files and folders in the package; empty if it cannot be unpacked."""
    python_version: str = ""
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


def inspect_archive(archive: PackageArchive, main: str | None = None) -> Inspection:
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
    findings += module_findings(archive)
    found, reported = requirement_findings(archive)
    findings += found
    findings += import_findings(archive, examined, CONTEST_VERSION, reported)
    return Inspection(_sorted(findings), chosen.path, archive.entries, built_for(archive))


def _sorted(findings: list[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(dict.fromkeys(findings), key=lambda each: _ORDER.index(each.level)))


@dataclass(frozen=True, slots=True)
class Package:
    """An unpacked contest package."""

    path: Path
    """The ZIP file."""
    folder: Path
    """The folder that holds its files, in which the program is started."""
    main: PurePosixPath
    """The main file, relative to the folder."""
    parameters: tuple[str, ...]
    """Further parameters for the program."""
    python_version: str = ""
    """As in `Inspection`."""

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the command line that starts the program, without host, port and reservation."""
        return str(self.folder.absolute() / self.main), *self.parameters


def unpack_package(path: Path, folder: Path, main: str | None = None, parameters: Sequence[str] = ()) -> Package:
    """Unpack the package at `path` into `folder`, which is created, or must be empty.

    Raises PackageError if the package has RED findings, and OSError if the folder is not empty or cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty")
    with open_archive(path) as archive:
        inspection = inspect_archive(archive, main)
        if inspection.red or inspection.main is None:
            raise PackageError(path, inspection.red)
        _write_files(archive, folder)
    (folder / inspection.main).chmod(_MAIN_MODE)
    return Package(path, folder, inspection.main, tuple(parameters), inspection.python_version)


def _write_files(archive: PackageArchive, folder: Path) -> None:
    if sys.platform == "win32":
        refused = [
            str(each.path) for each in archive.entries if any(portable_name(part) != part for part in each.path.parts)
        ]
        if refused:
            raise PackageError(archive.path, [finding_of("windows-name", refused)])
    for entry in archive.entries:
        target = folder / entry.path
        if entry.is_folder:
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            file = target.open("xb")
        except FileExistsError:  # a file system that does not distinguish upper and lower case
            raise PackageError(archive.path, [finding_of("duplicate-name", [str(entry.path)])]) from None
        with file:
            for chunk in archive.chunks(entry):
                file.write(chunk)
        target.chmod(_FILE_MODE)
