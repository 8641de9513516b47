"""Follows what a package starts, from its main file to the programs that its scripts start, and finds their faults.

Invariants: each file is examined once for each way in which it is started. Only programs that are started for sure are
examined, so that a script may contain variants for other systems.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import PurePosixPath
from typing import Final

from spielleiter.match.packages.archive import Archive, Entry
from spielleiter.match.packages.compiled import (
    class_findings,
    is_class_file,
    is_machine_code,
    jar_findings,
    program_findings,
)
from spielleiter.match.packages.faults import Finding, finding_of
from spielleiter.match.packages.python_sources import python_findings
from spielleiter.match.packages.script_text import MAX_SCRIPT, ScriptText, read_script
from spielleiter.match.packages.shell_advice import advice
from spielleiter.match.packages.shell_script import ScriptWalk, Start, StartedBy
from spielleiter.match.packages.shell_words import parse_script

MAX_STARTS: Final = 100
"""Programs beyond this number are not examined."""

_TOP: Final = PurePosixPath()
_HEAD: Final = 64
_MAX_PROGRAM: Final = 128 * 1024 * 1024
_ZIP: Final = b"PK\x03\x04"
_END_OF_PYC_MAGIC: Final = b"\r\n"
"""Bytes 2 and 3 of every compiled Python file; the first two are the version."""
_INTERPRETERS: Final = {StartedBy.SHELL: "sh", StartedBy.PYTHON: "python3"}


def main_findings(
    archive: Archive, main: Entry, known_missing: Collection[str] = (), folder: PurePosixPath = _TOP
) -> Iterator[Finding]:
    """Find what is wrong with the main file, and with everything that it starts.

    It is started in `folder`. Python modules that are in `known_missing` are not reported.
    """
    follower = _Follower(archive, main, known_missing)
    waiting = [Start(main.path, StartedBy.SYSTEM, folder)]
    seen: set[tuple[PurePosixPath, StartedBy]] = set()
    while waiting and len(seen) < MAX_STARTS:
        start = waiting.pop(0)
        if (start.path, start.by) not in seen and start.is_certain:
            seen.add((start.path, start.by))
            yield from follower.examine(start)
            waiting += follower.take_starts()


class _Follower:
    """Examines programs of one package, and collects what they start."""

    def __init__(self, archive: Archive, main: Entry, known_missing: Collection[str]) -> None:
        self._archive = archive
        self._main = main
        self._known_missing = known_missing
        self._starts: list[Start] = []
        self._is_path_changed = False
        """Whether a script has changed where Python looks for modules."""
        self._is_installing = False
        """Whether a script installs Python modules."""

    def take_starts(self) -> list[Start]:
        """What the examined programs start, since the last call."""
        starts, self._starts = self._starts, []
        return starts

    def examine(self, start: Start) -> Iterator[Finding]:
        entry = self._archive.files[start.path]
        match start.by:
            case StartedBy.SYSTEM:
                yield from self._examine_direct(entry, start)
            case StartedBy.SHELL:
                yield from self._examine_script(
                    read_script(entry.path, self._archive.read(entry, MAX_SCRIPT), "sh"), start
                )
            case StartedBy.PYTHON:
                yield from self._examine_python(entry, "python3")
            case StartedBy.PYTHON_MODULE:
                yield from self._examine_python(entry, "python3", start.folder)
            case StartedBy.JAVA if entry.path.suffix == ".class":
                yield from class_findings(str(entry.path), self._archive.read(entry, _HEAD))
            case StartedBy.JAVA:
                yield from jar_findings(self._archive, entry)

    def _examine_direct(self, entry: Entry, start: Start) -> Iterator[Finding]:
        name = str(entry.path)
        head = self._archive.read(entry, _HEAD)
        if not head:
            yield finding_of("empty-main", [name])
        elif is_class_file(head):
            yield finding_of("class-file", [name])
        elif is_machine_code(head):
            names = {each.name for each in self._archive.files}
            yield from program_findings(name, self._archive.read(entry, _MAX_PROGRAM), names)
        elif head.startswith(_ZIP):
            yield from self._examine_zip(entry)
        else:
            content = self._archive.read(entry, MAX_SCRIPT)
            if _is_binary(content) and not _has_text_line(content):
                yield finding_of("not-a-program", [name])
                return
            script = read_script(entry.path, content)
            if script.is_shell and entry != self._main:  # a shell executes a script without a first line itself
                script.findings = [each for each in script.findings if each.code != "no-first-line"]
            yield from self._examine_script(script, start)
            if script.is_python and not _is_binary(content):
                yield from self._examine_python(entry, "")

    def _examine_zip(self, entry: Entry) -> Iterator[Finding]:
        """Find what is wrong with a JAR or ZIP file that is started; the contest starts a main file with Java."""
        name = str(entry.path)
        if entry.path.suffix.lower() != ".jar":
            yield finding_of("not-a-program", [name])
        elif entry == self._main:
            yield finding_of("jar-main-file", [name])
            yield from jar_findings(self._archive, entry)
        else:
            yield finding_of("jar-without-java", [name])

    def _examine_script(self, script: ScriptText, start: Start) -> Iterator[Finding]:
        yield from script.findings
        if script.is_shell:
            parsed = parse_script(script.text)
            walk = ScriptWalk(self._archive, start.path, start.folder)
            walk.walk(parsed)
            yield from walk.findings
            yield from advice(str(start.path), parsed)
            self._starts += walk.starts
            self._is_path_changed |= walk.is_path_changed
            self._is_installing |= walk.is_installing

    def _examine_python(self, entry: Entry, interpreter: str, folder: PurePosixPath | None = None) -> Iterator[Finding]:
        content = self._archive.read(entry, MAX_SCRIPT)
        if _is_binary(content) and (_ZIP in content or content[2:4] == _END_OF_PYC_MAGIC):
            return  # a zipapp or compiled code, which Python executes as it does source code
        if interpreter:
            yield from read_script(entry.path, content, interpreter).findings
        yield from python_findings(
            self._archive,
            entry,
            folder,
            is_path_changed=self._is_path_changed,
            is_installing=self._is_installing,
            known_missing=self._known_missing,
        )


def _is_binary(content: bytes) -> bool:
    """Whether this is no text: null bytes that are not those of UTF-16."""
    return b"\0" in content and not (content[:2] in {b"\xff\xfe", b"\xfe\xff"} or content[:2].count(0) == 1)


def _has_text_line(content: bytes) -> bool:
    """Whether a first line of text with an interpreter precedes the binary data."""
    first, newline, _ = content.partition(b"\n")
    return content.startswith(b"#!") and newline != b"" and b"\0" not in first
