"""The Python modules that a package needs and does not hold, and the syntax that the contest's Python refuses.

A run does not show that: this machine may have modules installed, and a newer Python, that the contest has not. Nothing
is imported or executed. In case of doubt an import is accepted: in a `try` block, under a condition, if there is a file
or folder of that name anywhere, if the package contains wheels.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from spielleiter.programs.packages.archive import Entry, PackageArchive
from spielleiter.programs.packages.faults import Finding, finding_of
from spielleiter.programs.packages.main_file import MainFile

_MAX_SOURCE: Final = 1024 * 1024
_MAX_SOURCES: Final = 8 * 1024 * 1024
"""Bytes of all sources together whose imports are followed."""
_MAX_SHOWN: Final = 5
_MAX_MISSING: Final = 20
"""Missing modules that are reported."""
_PYTHON: Final = re.compile(r"(python|pypy)[0-9.]*")
_STANDARD: Final = sys.stdlib_module_names | {"__main__", "distutils", "imp", "asyncore", "asynchat", "smtpd"}
_REQUIREMENT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_MODULE_NAMES: Final = {"pyyaml": "yaml", "pillow": "pil", "scikit_learn": "sklearn", "beautifulsoup4": "bs4"}
"""Names of modules that differ from those of their packages."""


def requirement_findings(archive: PackageArchive) -> tuple[list[Finding], set[str]]:
    """Find what a requirements.txt lists and the package does not hold; return also the names of these modules."""
    # a file or folder provides a package by its own name, or by what is before a version
    there = {
        _normalised(part)
        for each in (*archive.files, *archive.folders)
        for part in (each.name.partition(".")[0], each.name.partition("-")[0])
    }
    findings: list[Finding] = []
    missing: set[str] = set()
    for path, entry in archive.files.items():
        if path.name != "requirements.txt" or len(path.parts) > 2:
            continue
        names = []
        for line in archive.read(entry, _MAX_SOURCE).decode(errors="replace").splitlines():
            if found := _REQUIREMENT.match(line.strip()):
                name = _normalised(found[0])
                modules = {name, _MODULE_NAMES.get(name, name)}
                if not modules & there:
                    names.append(found[0])
                    missing |= modules
        if names:
            rest = f" and {len(names) - _MAX_SHOWN} more" if len(names) > _MAX_SHOWN else ""
            findings.append(finding_of("requirements-missing", [str(path)], names=", ".join(names[:_MAX_SHOWN]) + rest))
    return findings, missing


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


def import_findings(archive: PackageArchive, main: MainFile, version: str, reported: set[str]) -> Iterator[Finding]:
    """Find what a program imports that is neither in the package nor in Python, and what Python `version` refuses.

    The program is the main file, or the sources that it names. Modules in `reported` are not reported again.
    """
    sources: dict[str, list[Entry]] = {}
    for path, entry in archive.files.items():
        if path.suffix == ".py":
            sources.setdefault(path.parent.name if path.stem == "__init__" else path.stem, []).append(entry)
    # whether a name is spelled as in the package is shown by the run
    there = {each.name.partition(".")[0].casefold() for each in (*archive.files, *archive.folders)}
    has_wheels = any(each.suffix == ".whl" for each in archive.files)
    if _PYTHON.fullmatch(main.interpreter):
        waiting = [main.entry]
    else:
        words = main.words
        waiting = [each for same in sources.values() for each in same if each.path.name in words]
    major, minor = map(int, version.split("."))
    missing: dict[str, PurePosixPath] = {}
    seen: set[PurePosixPath] = set()
    left = _MAX_SOURCES
    while waiting:
        entry = waiting.pop()
        if entry.path in seen or entry.size > min(left, _MAX_SOURCE):
            continue
        seen.add(entry.path)
        left -= entry.size + 1024  # a small file takes time as well
        source = archive.read(entry, _MAX_SOURCE)
        try:
            with warnings.catch_warnings(action="ignore"):
                tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue  # the run shows why
        if sys.version_info[:2] > (major, minor):
            try:
                with warnings.catch_warnings(action="ignore"):
                    ast.parse(source, feature_version=(major, minor))
            except SyntaxError as error:
                values = {"line": error.lineno or 1, "reason": error.msg, "version": version}
                yield finding_of("newer-syntax", [str(entry.path)], **values)
        for module in _imported(tree):
            parts = module.lstrip(".").split(".")
            if module.startswith(".") or parts[0].casefold() in there:
                waiting += [each for part in parts for each in sources.pop(part, ())]
            elif parts[0] not in _STANDARD and parts[0].lower() not in reported and not has_wheels:
                missing.setdefault(parts[0], entry.path)
    for module, path in list(missing.items())[:_MAX_MISSING]:
        yield finding_of("missing-module", [str(path)], module=module)


def _imported(tree: ast.AST) -> Iterator[str]:
    """The names of the modules that are imported outside of `try` and of conditions; relative ones begin with a dot."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Try() | ast.TryStar() | ast.If():
                continue
            case ast.Import(names=names):
                yield from (each.name for each in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                yield from (f"{'.' * level}{module or ''}.{each.name}" for each in names)
        waiting += ast.iter_child_nodes(node)
