"""Checks Python programs: imports that are neither in the package nor in Python, programs that are started, and syntax.

Invariants: nothing is imported or executed. In case of doubt an import is accepted: in a `try` block, if the program
changes its search path, if the package contains wheels.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Collection, Iterator
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final

from spielleiter.match.packages.archive import Archive, Entry
from spielleiter.match.packages.faults import Finding, finding_of
from spielleiter.match.programs.contest_python import CONTEST_VERSION, FoundPython, find_python

_MAX_SOURCE: Final = 1024 * 1024
_MAX_FILES: Final = 500
_MAX_ASKED: Final = 5  # files with mistakes for which the contest's Python is asked
_CONTEST: Final = tuple(map(int, CONTEST_VERSION.split(".")))
_STANDARD: Final = sys.stdlib_module_names | {"__main__", "distutils", "imp", "asyncore", "asynchat", "smtpd"}
_WINDOWS: Final = frozenset({"tkinter", "turtle"})
"""Modules of the standard library that open windows."""
_COMPILED_FOR: Final = re.compile(r"(?:-cp3(?=(?:\d+)-cp)|\.cpython-3)(\d+)(?=-.*\.(?:whl|so)$)")
_NO_ENCODING: Final = "no encoding declared"
_SEARCH_PATH: Final = (b"sys.path", b"addsitedir", b"PYTHONPATH")


def built_for(archive: Archive) -> str:
    """Return the version of Python that the compiled modules in a package are for; empty if it is not exactly one."""
    versions = {found[1] for path in archive.files if (found := _COMPILED_FOR.search(path.name))}
    return f"3.{versions.pop()}" if len(versions) == 1 else ""


def python_findings(
    archive: Archive,
    entry: Entry,
    folder: PurePosixPath | None = None,
    *,
    is_path_changed: bool = False,
    is_installing: bool = False,
    known_missing: Collection[str] = (),
) -> Iterator[Finding]:
    """Find what is wrong with the Python program `entry` and with its own modules that it imports.

    `folder` is where Python looks for modules; None: the folder of the program. With `is_path_changed`, modules may be
    anywhere in the package; with `is_installing`, none are missing. Those in `known_missing` are not reported.
    """
    program = _Program(archive, entry, folder, is_path_changed=is_path_changed)
    program.follow_imports()
    for name, path in program.not_executable.items():
        yield finding_of("subprocess-not-executable", [str(path)], program=name)
    for path in program.with_syntax_errors:
        yield finding_of("python-syntax", [str(path)], **program.with_syntax_errors[path])
    if program.importing_windows:
        yield finding_of("window", [str(program.importing_windows)])
    for module, path in program.missing.items():
        if module in program.misspelled:
            yield finding_of("module-spelling", [str(path)], module=module, there=program.misspelled[module][0])
        elif not is_installing and module.lower() not in known_missing:
            yield finding_of("missing-module", [str(path)], module=module)


class _Program:
    """A Python program in a package: the modules it imports, transitively."""

    def __init__(self, archive: Archive, entry: Entry, folder: PurePosixPath | None, *, is_path_changed: bool) -> None:
        self._archive = archive
        self._program = entry.path
        self._folder = entry.path.parent if folder is None else folder
        self._waiting = [entry]
        self._seen = {entry.path}
        self._is_path_changed = is_path_changed or any(each.name == "site-packages" for each in archive.folders)
        self._has_wheels = any(each.suffix == ".whl" for each in archive.files)
        self.missing: dict[str, PurePosixPath] = {}
        """Modules that are not there, and the first file that imports each of them."""
        self.with_syntax_errors: dict[PurePosixPath, dict[str, object]] = {}
        self.importing_windows: PurePosixPath | None = None
        self._version = ".".join(map(str, sys.version_info[:2]))
        """The version of the Python that has tried to read the sources."""
        self.misspelled: dict[str, tuple[str, PurePosixPath]] = {}
        """Modules that differ in case from a name in the package: that name, and the first file with the import."""
        self.not_executable: dict[str, PurePosixPath] = {}
        """Files of the package that are started as programs, and the first module that starts each of them."""

    def follow_imports(self) -> None:
        found: dict[str, PurePosixPath] = {}
        while self._waiting and len(self._seen) < _MAX_FILES:
            entry = self._waiting.pop()
            if entry.size > _MAX_SOURCE:
                continue
            source = self._archive.read(entry, _MAX_SOURCE)
            self._is_path_changed |= any(each in source for each in _SEARCH_PATH)
            for module in self._imports(entry.path, source):
                top = module.partition(".")[0]
                if top in _WINDOWS:
                    self.importing_windows = self.importing_windows or entry.path
                elif top not in _STANDARD and not self._add_module(module, entry.path.parent):
                    found.setdefault(top, entry.path)
        if self._has_wheels:
            return
        anywhere = self._names_anywhere() if self._is_path_changed else frozenset()
        self.missing = {module: path for module, path in found.items() if module not in anywhere}
        for module, path in self.missing.items():
            if there := self._other_spelling(module, path.parent):
                self.misspelled[module] = there, path

    def _other_spelling(self, module: str, importer: PurePosixPath) -> str:
        """The file or folder that Windows would find for a module; empty if there is none."""
        for base in dict.fromkeys((self._folder, importer)):
            for name in sorted(self._archive.names_in(base)):
                exact = {module, f"{module}.py"}
                if name not in exact and name.casefold() in {each.casefold() for each in exact}:
                    return str(base / name)
        return ""

    def _names_anywhere(self) -> frozenset[str]:
        return frozenset(each.name.partition(".")[0] for each in (*self._archive.files, *self._archive.folders))

    def _add_module(self, module: str, importer: PurePosixPath) -> bool:
        """Whether an imported module is in the package; if it is, its own imports are followed, too."""
        top = module.partition(".")[0]
        for base in dict.fromkeys((self._folder, importer)):
            files = [each for each in self._archive.names_in(base) if each == top or each.startswith(f"{top}.")]
            if not files:
                continue
            path = base
            for part in module.split("."):
                path = path / part
                for source in (path.with_name(f"{path.name}.py"), path / "__init__.py"):
                    if source in self._archive.files and source not in self._seen:
                        self._seen.add(source)
                        self._waiting.append(self._archive.files[source])
            return base == self._folder or self._is_path_changed
        return False

    def _is_newer(self, source: bytes) -> bool:
        """Whether a program that this Python cannot read is valid for the newer one of the contest, if that is here."""
        if sys.version_info[:2] >= _CONTEST or len(self.with_syntax_errors) >= _MAX_ASKED:
            return False
        python = self._found_python
        if python is None or not python.has_version(CONTEST_VERSION):
            return False
        self._version = CONTEST_VERSION
        return python.parses(source)

    @cached_property
    def _found_python(self) -> FoundPython | None:
        return find_python()  # this starts every candidate

    def _imports(self, path: PurePosixPath, source: bytes) -> list[str]:
        """The absolute imports of a file that are certain to be executed or likely to be."""
        try:
            with warnings.catch_warnings(action="ignore"):
                tree = ast.parse(source)
        except SyntaxError as error:
            # script_text.py has reported that of the program itself; the parser does so from Python 3.14 on
            if (path != self._program or _NO_ENCODING not in error.msg) and not self._is_newer(source):
                values = {"line": error.lineno or 1, "reason": error.msg, "version": self._version}
                self.with_syntax_errors[path] = values
            return []
        except (ValueError, RecursionError, MemoryError):
            return []
        if b"chmod" not in source:
            for name in _started(tree):
                if PurePosixPath(name) in self._archive.files:
                    self.not_executable.setdefault(name, path)
        return list(_imported(tree))


def _imported(tree: ast.Module) -> Iterator[str]:
    """The names of the modules that are imported outside of `try` and of conditions."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Try() | ast.TryStar() | ast.If():
                continue
            case ast.Import(names=names):
                yield from (each.name for each in names)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                yield from (f"{module}.{each.name}" for each in names)
        waiting += ast.iter_child_nodes(node)


def _started(tree: ast.Module) -> Iterator[str]:
    """The names of the programs that are started by `subprocess` with a literal name such as ``./engine``."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Name(id="subprocess"), attr="Popen" | "run" | "call" | "check_call" | "check_output"
                ),
                args=[ast.List(elts=[ast.Constant(value=str(name)), *_]) | ast.Constant(value=str(name)), *_],
            ) if name.startswith("./"):
                yield name
