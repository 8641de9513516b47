"""Finds files in a package that show how it was made on another computer: virtual environments, wheels, sources.

Invariants: the names of all files are examined, the contents of a few small ones. Nothing found here is RED.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from spielleiter.match.packages.archive import Archive, Entry
from spielleiter.match.packages.faults import Finding, finding_of

_MAX_SIZE: Final = 4 * 1024 * 1024
_MAX_SHOWN: Final = 5
_WHEEL: Final = re.compile(
    r"(?P<name>[^-]+)-[^-]+(?:-\d[^-]*)?-(?P<python>[^-]+)-(?P<abi>[^-]+)-(?P<platform>[^-]+)\.whl"
)
_SUITABLE: Final = re.compile(r"any|(many|musl)?linux.*_x86_64")
_OLD_PYTHON: Final = re.compile(r"py2\d*|cp2\d+|cp3[0-7]|pp2\d+")
_REQUIREMENT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_MODULE_NAMES: Final = {"pyyaml": "yaml", "pillow": "pil", "scikit_learn": "sklearn", "beautifulsoup4": "bs4"}
"""Names of modules that differ from those of their packages."""


def leftover_findings(archive: Archive) -> Iterator[Finding]:
    """Find files that will not be of use in the contest."""
    paths = sorted(archive.files)
    environments = [str(each) for each in paths if each.name == "pyvenv.cfg"]
    if environments:
        yield finding_of("virtual-environment", environments)
    yield from _wheel_findings(paths)
    foreign = [
        str(each)
        for each in paths
        if each.suffix == ".pyd" or re.search(r"\.cpython-\d+-(darwin|.*aarch64.*)\.so$", each.name)
    ]
    if foreign:
        yield finding_of("extension-platform", foreign)
    for path in paths:
        if path.name == ".package-lock.json" and path.parent.name == "node_modules":
            yield from _link_findings(archive, archive.files[path])


def _wheel_findings(paths: list[PurePosixPath]) -> Iterator[Finding]:
    wheels = {each: found for each in paths if (found := _WHEEL.fullmatch(each.name))}
    foreign = [
        str(path)
        for path, wheel in wheels.items()
        if not any(_SUITABLE.fullmatch(each) for each in wheel["platform"].split("."))
    ]
    if foreign:
        yield finding_of("wheel-platform", foreign)
    old = [
        str(path)
        for path, wheel in wheels.items()
        if str(path) not in foreign
        and wheel["abi"] != "abi3"
        and all(_OLD_PYTHON.fullmatch(each) for each in wheel["python"].split("."))
    ]
    if old:
        yield finding_of("wheel-python", old)


def missing_requirements(archive: Archive) -> dict[PurePosixPath, list[str]]:
    """The packages that each requirements.txt lists and that are not in the package."""
    there = {_normalised(part) for each in (*archive.files, *archive.folders) for part in _names_of(each)}
    missing: dict[PurePosixPath, list[str]] = {}
    for path, entry in archive.files.items():
        if path.name != "requirements.txt" or len(path.parts) > 2 or entry.size > _MAX_SIZE:
            continue
        for line in archive.read(entry, _MAX_SIZE).decode(errors="replace").splitlines():
            if (found := _REQUIREMENT.match(line.strip())) and not _module_names(found[0]) & there:
                missing.setdefault(path, []).append(found[0])
    return missing


def requirement_findings(missing: dict[PurePosixPath, list[str]]) -> Iterator[Finding]:
    """The findings about the result of `missing_requirements`."""
    for path, names in missing.items():
        rest = f" and {len(names) - _MAX_SHOWN} more" if len(names) > _MAX_SHOWN else ""
        yield finding_of("requirements-missing", [str(path)], names=", ".join(names[:_MAX_SHOWN]) + rest)


def modules_of(missing: dict[PurePosixPath, list[str]]) -> set[str]:
    """The lower-case names of the modules that missing packages would provide."""
    return {module for names in missing.values() for name in names for module in _module_names(name)}


def _module_names(package: str) -> set[str]:
    name = _normalised(package)
    return {name, _MODULE_NAMES.get(name, name)}


def _names_of(path: PurePosixPath) -> tuple[str, str]:
    """The names by which a file or folder may provide a package: its own, and that before a version."""
    return path.name.partition(".")[0], path.name.partition("-")[0]


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


def _link_findings(archive: Archive, entry: Entry) -> Iterator[Finding]:
    """Find modules of Node.js that are links to folders of the computer on which they were installed."""
    try:
        packages = json.loads(archive.read(entry, _MAX_SIZE))["packages"]
        linked = [str(name) for name, value in packages.items() if value.get("link") is True]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return
    if linked:
        yield finding_of("linked-node-module", [str(entry.path)], names=", ".join(linked[:_MAX_SHOWN]))
