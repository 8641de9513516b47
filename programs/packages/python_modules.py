"""The Python modules of a package: for which Python they are compiled, and which ones are not there.

A run does not show that: this machine may have modules installed, and a newer Python, that the contest has not.

Invariants: nothing is imported or executed, and nothing found here is RED. In case of doubt an import is accepted: in a
`try` block, if there is a file or folder of that name anywhere, if the package contains wheels.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from spielleiter.programs.packages.archive import Archive, Entry
from spielleiter.programs.packages.faults import Finding, finding_of
from spielleiter.programs.packages.main_file import MainFile
from spielleiter.programs.sandbox.pythons import CONTEST_VERSION

_MAX_SOURCE: Final = 1024 * 1024
_MAX_SOURCES: Final = 8 * 1024 * 1024
"""Bytes of all sources together whose imports are followed."""
_MAX_SHOWN: Final = 5
_MAX_MISSING: Final = 20
"""Missing modules that are reported."""
CONTEST: Final = tuple(map(int, CONTEST_VERSION.split(".")))
"""The newest Python of the contest, as `sys.version_info` begins."""

_STANDARD: Final = sys.stdlib_module_names | {"__main__", "distutils", "imp", "asyncore", "asynchat", "smtpd"}
_COMPILED_FOR: Final = re.compile(r"(?:-cp3(?=(?:\d+)-cp)|\.cpython-3)(\d+)(?=-.*\.(?:whl|so)$)")
_WHEEL: Final = re.compile(
    r"(?P<name>[^-]+)-[^-]+(?:-\d[^-]*)?-(?P<python>[^-]+)-(?P<abi>[^-]+)-(?P<platform>[^-]+)\.whl"
)
_SUITABLE: Final = re.compile(r"any|(many|musl)?linux.*_x86_64")
_OLD_PYTHON: Final = re.compile(r"py2\d*|cp2\d+|cp3[0-7]|pp2\d+")
_FOREIGN_MODULE: Final = re.compile(r".*\.pyd|.*\.cpython-\d+-(darwin|.*aarch64.*)\.so")
_REQUIREMENT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_MODULE_NAMES: Final = {"pyyaml": "yaml", "pillow": "pil", "scikit_learn": "sklearn", "beautifulsoup4": "bs4"}
"""Names of modules that differ from those of their packages."""


def built_for(archive: Archive) -> str:
    """Return the version of Python that the compiled modules in a package are for; empty if it is not exactly one."""
    versions = {found[1] for path in archive.files if (found := _COMPILED_FOR.search(path.name))}
    return f"3.{versions.pop()}" if len(versions) == 1 else ""


def module_findings(archive: Archive, main: MainFile) -> Iterator[Finding]:
    """Find modules that are of no use in the contest, and modules that are not there."""
    yield from _foreign_findings(sorted(archive.files))
    required: set[str] = set()
    for path, names in missing_requirements(archive).items():
        rest = f" and {len(names) - _MAX_SHOWN} more" if len(names) > _MAX_SHOWN else ""
        yield finding_of("requirements-missing", [str(path)], names=", ".join(names[:_MAX_SHOWN]) + rest)
        required |= {module for name in names for module in _module_names(name)}
    yield from _import_findings(archive, main, required)


def _foreign_findings(paths: list[PurePosixPath]) -> Iterator[Finding]:
    """Find what was made for another system or Python, by the names of files."""
    wheels = {str(each): found for each in paths if (found := _WHEEL.fullmatch(each.name))}
    foreign = [
        name
        for name, wheel in wheels.items()
        if not any(_SUITABLE.fullmatch(each) for each in wheel["platform"].split("."))
    ]
    old = [
        name
        for name, wheel in wheels.items()
        if name not in foreign
        and wheel["abi"] != "abi3"
        and all(_OLD_PYTHON.fullmatch(each) for each in wheel["python"].split("."))
    ]
    by_code = {
        "virtual-environment": [str(each) for each in paths if each.name == "pyvenv.cfg"],
        "wheel-platform": foreign,
        "wheel-python": old,
        "extension-platform": [str(each) for each in paths if _FOREIGN_MODULE.fullmatch(each.name)],
    }
    yield from (finding_of(code, names) for code, names in by_code.items() if names)


def missing_requirements(archive: Archive) -> dict[PurePosixPath, list[str]]:
    """The packages that each requirements.txt lists and that are not in the package."""
    # a file or folder provides a package by its own name, or by what is before a version
    there = {
        _normalised(part)
        for each in (*archive.files, *archive.folders)
        for part in (each.name.partition(".")[0], each.name.partition("-")[0])
    }
    missing: dict[PurePosixPath, list[str]] = {}
    for path, entry in archive.files.items():
        if path.name != "requirements.txt" or len(path.parts) > 2:
            continue
        for line in archive.read(entry, _MAX_SOURCE).decode(errors="replace").splitlines():
            if (found := _REQUIREMENT.match(line.strip())) and not _module_names(found[0]) & there:
                missing.setdefault(path, []).append(found[0])
    return missing


def _module_names(package: str) -> set[str]:
    name = _normalised(package)
    return {name, _MODULE_NAMES.get(name, name)}


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


def _import_findings(archive: Archive, main: MainFile, required: set[str]) -> Iterator[Finding]:
    """Find what a program imports that is neither in the package nor in Python, and what the contest's Python refuses.

    The program is the main file, or the sources that it names. Modules in `required` are not reported.
    """
    sources: dict[str, list[Entry]] = {}
    for path, entry in archive.files.items():
        if path.suffix == ".py":
            sources.setdefault(path.parent.name if path.stem == "__init__" else path.stem, []).append(entry)
    # whether a name is spelled as in the package is shown by the run
    there = {each.name.partition(".")[0].casefold() for each in (*archive.files, *archive.folders)}
    has_wheels = any(each.suffix == ".whl" for each in archive.files)
    words = frozenset() if main.is_python else main.words
    waiting = [main.entry] if main.is_python else []
    waiting += [each for same in sources.values() for each in same if each.path.name in words]
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
        if error := newer_syntax(source, CONTEST):
            values = {"line": error.lineno or 1, "reason": error.msg, "version": CONTEST_VERSION}
            yield finding_of("newer-syntax", [str(entry.path)], **values)
        for module in _imported(source):
            parts = module.lstrip(".").split(".")
            if module.startswith(".") or parts[0].casefold() in there:
                waiting += [each for part in parts for each in sources.pop(part, ())]
            elif parts[0] not in _STANDARD and parts[0].lower() not in required and not has_wheels:
                missing.setdefault(parts[0], entry.path)
    yield from (
        finding_of("missing-module", [str(path)], module=module)
        for module, path in list(missing.items())[:_MAX_MISSING]
    )


def newer_syntax(source: bytes, version: tuple[int, ...]) -> SyntaxError | None:
    """Return the mistake that Python of this `version` finds in a program that this newer Python accepts; or None."""
    if sys.version_info[:2] <= version or _parsed(source) is None:
        return None
    try:
        ast.parse(source, feature_version=(version[0], version[1]))
    except SyntaxError as error:
        return error
    return None


def _parsed(source: bytes) -> ast.Module | None:
    """The program, if this Python accepts it; if it does not, the run shows why."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _imported(source: bytes) -> Iterator[str]:
    """The names of the modules that are imported outside of `try` and of conditions; relative ones begin with a dot."""
    tree = _parsed(source)
    waiting: list[ast.AST] = [] if tree is None else [tree]
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
