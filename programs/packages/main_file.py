"""The main file of a package: which file that is, and whether Linux can start it.

A file that the user names is taken if it is there, whatever it contains. Otherwise the files at the top of the package
are candidates, and if there is nothing to start, those in its folders: packages of the official builder for Python
consist of one folder. The kinds of files are tried in a fixed order, and there is no guess between equals.

What the main file does when it runs is not examined: a run shows that. Only what a run on this machine need not show is
looked for: other systems are more lenient with a first line and with line ends, and have other interpreters.
"""

from __future__ import annotations

import codecs
import os
import posixpath
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from spielleiter.programs.packages.archive import Entry, PackageArchive
from spielleiter.programs.packages.compiled import is_class_file, is_machine_code, program_findings
from spielleiter.programs.packages.faults import Finding, finding_of, shortened
from spielleiter.server.setting import suggestion

_USUAL_STEMS: Final = ("start", "run", "main", "player", "client", "bot")
"""Names of main files, the most usual one first; they decide between files of the same kind."""
_SCRIPTS: Final = frozenset({".sh", ".bash", ".zsh", ".ksh"})
_PROGRAMS: Final = frozenset(
    {".exe", ".jar", ".py", ".pyw", ".bat", ".cmd", ".ps1", ".js", ".class", ".rb", ".pl", ".lua"}
)
_LIBRARIES: Final = frozenset({".so", ".dll", ".dylib", ".o", ".a", ".class", ".pyd"})
_BUILD_TOOLS: Final = frozenset({"gradlew", "gradlew.bat", "mvnw", "mvnw.cmd"})
"""Programs that come with sources, and never start a player."""
_BUILD_FILES: Final = frozenset(
    {
        "Cargo.toml",
        "pom.xml",
        "build.gradle",
        "build.gradle.kts",
        "go.mod",
        "CMakeLists.txt",
        "Makefile",
        "package.json",
    }
)
_SOURCES: Final = frozenset({".java", ".kt", ".c", ".cpp", ".cc", ".rs", ".go", ".cs", ".hs", ".scala", ".swift"})
_IGNORED: Final = frozenset({"__MACOSX"})
_MAX_SHOWN: Final = 5
"""Candidates beyond this number are not named."""
MAX_SCRIPT: Final = 256 * 1024
"""Bytes of a script that are examined."""
_HEAD: Final = 64
_MAX_FIRST_LINE: Final = 255
_ZIP: Final = b"PK\x03\x04"
_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SHELLS: Final = re.compile(r"(ba|da|z|k|a)?sh")
_SYSTEM_FOLDERS: Final = frozenset({"/bin", "/usr/bin"})
_CERTAIN: Final = re.compile(r"(ba|da)?sh|env|perl|awk|python3(\.\d+)?|java|node")
"""Interpreters that are expected in the contest."""
_KNOWN: Final = re.compile(
    r"python[0-9.]*|pypy[0-9.]*|ruby|php|lua[0-9.]*|luajit|julia|Rscript|[zk]sh|fish|nodejs|deno|bun|pwsh|tclsh|guile|"
    r"groovy|kotlin|kotlinc|scala|jshell|runghc|runhaskell|ocaml|swift|dart|go|crystal|elixir|escript|racket|sbcl|swipl"
)
"""Other interpreters, which may be there."""
_EXAMPLES: Final = {".py": "#!/usr/bin/env python3", ".js": "#!/usr/bin/env node", ".pl": "#!/usr/bin/env perl"}
_WINDOWS_SUFFIXES: Final = frozenset({".bat", ".cmd", ".ps1", ".vbs"})


def choose_main(archive: PackageArchive, wanted: str | None = None) -> Entry | Finding:
    """Return the main file: `wanted`, or the only candidate. Returns a finding if there is not exactly one."""
    if wanted is not None:
        path = PurePosixPath(wanted.replace("\\", "/"))
        if path in archive.files:
            return archive.files[path]
        if any(path in (each.path, *each.path.parents) for each in archive.entries):
            return finding_of("main-is-folder", [wanted])
        return finding_of("main-missing", [wanted], hint=suggestion(str(path), [str(each) for each in archive.files]))
    candidates = _candidates(archive, PurePosixPath()) or _candidates_in_folders(archive)
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        names = [shortened(str(each.path)) for each in candidates[:_MAX_SHOWN]]
        return finding_of("several-main-files", names=", ".join(names))
    return _none_found(archive)


def _candidates_in_folders(archive: PackageArchive) -> list[Entry]:
    """The files one level down that may be the main file: those named start.sh, if there are any.

    A file that is a program only by its suffix counts if its folder is all there is in the package, since a folder of
    libraries is full of such files.
    """
    folders = [PurePosixPath(name) for name in sorted(archive.names_in(PurePosixPath())) if name not in _IGNORED]
    is_only_folder = len(folders) == 1
    found = [
        each
        for folder in folders
        for each in _candidates(archive, folder)
        if is_only_folder or each.path.suffix.lower() not in _PROGRAMS or _begins_like_script(archive.read(each, 64))
    ]
    return [each for each in found if each.path.name == "start.sh"] or found


def _candidates(archive: PackageArchive, folder: PurePosixPath) -> list[Entry]:
    """The files in a folder that may be the main file: those of the first kind of which there are any."""
    files = [
        archive.files[folder / name]
        for name in sorted(archive.names_in(folder))
        if folder / name in archive.files and not name.startswith(".") and name not in _BUILD_TOOLS
    ]
    heads = {each.path: archive.read(each, 64) for each in files}
    kinds: Sequence[Callable[[Entry], bool]] = (
        lambda each: each.path.name == "start.sh",
        lambda each: _begins_like_script(heads[each.path]) or each.path.suffix.lower() in _SCRIPTS,
        lambda each: is_machine_code(heads[each.path]) and _LIBRARIES.isdisjoint(map(str.lower, each.path.suffixes)),
        lambda each: each.path.suffix.lower() in _PROGRAMS,
    )
    for is_candidate in kinds:
        candidates = [each for each in files if is_candidate(each)]
        for stem in _USUAL_STEMS if len(candidates) > 1 else ():
            named = [each for each in candidates if each.path.stem.lower() == stem]
            if len(named) == 1:
                return named
        if candidates:
            return candidates
    return []


def _begins_like_script(head: bytes) -> bool:
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"#!")


def _none_found(archive: PackageArchive) -> Finding:
    """Say why there is no candidate."""
    files = [each for each in archive.files if each.parts[0] not in _IGNORED]
    if len(files) == 1 and files[0].suffix.lower() == ".zip":
        return finding_of("zip-inside", [str(files[0])])
    folders = sorted({each.parts[0] for each in files if len(each.parts) > 1})
    top = [each for each in files if len(each.parts) == 1]
    is_folder = not top and len(folders) == 1
    shown = [each for each in files if len(each.parts) == 2] if is_folder else top
    sources = [str(each) for each in shown if each.name in _BUILD_FILES or each.suffix in _SOURCES]
    if sources:
        return finding_of("source-only", sources[:1])
    return finding_of("folder-inside", folders) if is_folder else finding_of("no-main-file")


@dataclass(slots=True)
class MainFile:
    """A main file: what is wrong with it, and if it is a script, its text and the name of its interpreter.

    The text is empty for other files. The interpreter, such as ``bash`` or ``python3``, is empty if it is not known.
    """

    entry: Entry
    findings: list[Finding]
    text: str = ""
    interpreter: str = ""

    @property
    def words(self) -> frozenset[str]:
        """The words and the parts of paths in its text, among them the names of the files that it starts."""
        return frozenset(re.split(r"[\s\"'`/;|&()<>=,]+", self.text))

    @property
    def is_shell(self) -> bool:
        """Whether a shell executes it."""
        return _SHELLS.fullmatch(self.interpreter) is not None


def read_main(archive: PackageArchive, entry: Entry) -> MainFile:
    """Examine the main file."""
    name = str(entry.path)
    head = archive.read(entry, _HEAD)
    if not head:
        return MainFile(entry, [finding_of("empty-main", [name])])
    if is_class_file(head):
        return MainFile(entry, [finding_of("class-file", [name])])
    if is_machine_code(head):
        return MainFile(entry, list(program_findings(archive, entry)))
    if head.startswith(_ZIP):
        code = "jar-main-file" if entry.path.suffix.lower() == ".jar" else "not-a-program"
        return MainFile(entry, [finding_of(code, [name])])
    content = archive.read(entry, MAX_SCRIPT)
    is_binary = b"\0" in content and not (head.startswith(_UTF16) or head[:2].count(0) == 1)
    first, newline, _ = content.partition(b"\n")  # a line with an interpreter may precede binary data
    if is_binary and not (content.startswith(b"#!") and newline and b"\0" not in first):
        return MainFile(entry, [finding_of("not-a-program", [name])])
    main = read_script(entry, content)
    if main.is_shell:
        main.findings += _shell_findings(archive, main)
    return main


def read_script(entry: Entry, content: bytes) -> MainFile:
    """Examine a main file with this content, which is a script: its encoding, its line ends and its first line."""
    main = MainFile(entry, [])
    name = str(entry.path)
    if content.startswith(_UTF16) or content[1:2] == b"\0" or content[:1] == b"\0":
        main.findings.append(finding_of("utf-16", [name]))
        encoding = "utf-16" if content.startswith(_UTF16) else ("utf-16-be" if content[:1] == b"\0" else "utf-16-le")
        content = content.decode(encoding, errors="replace").encode(errors="replace")
    if content.startswith(codecs.BOM_UTF8):
        content = content.removeprefix(codecs.BOM_UTF8)
        main.findings.append(finding_of("byte-order-mark", [name]))
    if content.startswith(b"#!"):
        # binary data may follow a script, as in self-extracting archives and zipapps
        text, null, _ = content.partition(b"\0")
        content = text[: text.rfind(b"\n") + 1] if null else content
    _read_first_line(content, main)
    # a CR ends the name of the interpreter; further down, only shells take it for a part of a word
    if b"\r" in (content if main.is_shell or not main.interpreter else content.partition(b"\n")[0]):
        main.findings.append(finding_of("crlf", [name]))
    main.text = content.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    return main


def _read_first_line(content: bytes, main: MainFile) -> None:
    name, suffix = str(main.entry.path), main.entry.path.suffix.lower()
    stripped = content.lstrip()
    if not stripped.startswith(b"#!"):
        main.interpreter = {".sh": "sh", ".bash": "bash", ".py": "python3"}.get(suffix, "")
        if suffix in _WINDOWS_SUFFIXES:
            main.findings.append(finding_of("windows-script", [name]))
        else:
            main.findings.append(finding_of("no-first-line", [name], example=_EXAMPLES.get(suffix, "#!/bin/sh")))
        return
    if stripped != content:
        main.findings.append(finding_of("blank-before-first-line", [name]))
    line = re.split(rb"[\r\n]", stripped[2:], maxsplit=1)[0].decode(errors="replace").strip()
    interpreter, _, rest = line.partition(" ")
    rest = rest.strip()
    if posixpath.basename(interpreter) == "env":
        main.interpreter = _interpreter_of_env(name, rest, main)
    elif not interpreter:
        main.findings.append(finding_of("incomplete-first-line", [name]))
    else:
        main.interpreter = posixpath.basename(interpreter.replace("\\", "/")).removesuffix(".exe")
        main.findings += _interpreter_findings(name, interpreter)
        if len(rest.split()) > 1 and not main.findings:
            main.findings.append(finding_of("first-line-options", [name], words=rest))


def _interpreter_of_env(name: str, rest: str, main: MainFile) -> str:
    """The interpreter that ``env`` starts; empty if there is none."""
    words = rest.split()
    if words[:1] in (["-S"], ["--split-string"]):
        words = [each for each in words[1:] if "=" not in each and not each.startswith("-")]
    elif words[:1] and words[0].startswith("-S"):
        words = [words[0][2:], *words[1:]]
    elif len(words) > 1:
        main.findings.append(finding_of("first-line-options", [name], words=rest))
        return words[0]
    if not words:
        main.findings.append(finding_of("incomplete-first-line", [name]))
        return ""
    program = words[0]
    if "/" in program or "\\" in program:
        main.findings += _interpreter_findings(name, program)
    elif not _CERTAIN.fullmatch(program):
        is_possible = _KNOWN.fullmatch(program) or shutil.which(program)
        code = "uncertain-interpreter" if is_possible else "missing-interpreter"
        main.findings.append(finding_of(code, [name], interpreter=program))
    return posixpath.basename(program)


def _interpreter_findings(name: str, interpreter: str) -> list[Finding]:
    """What is wrong with the path of an interpreter."""
    folder, program = posixpath.split(interpreter)
    if folder in _SYSTEM_FOLDERS and _CERTAIN.fullmatch(program):
        return []
    is_usual = folder in {*_SYSTEM_FOLDERS, "/usr/local/bin"} and (
        _CERTAIN.fullmatch(program) or _KNOWN.fullmatch(program)
    )
    is_here = interpreter.startswith("/") and len(interpreter) <= _MAX_FIRST_LINE and os.access(interpreter, os.X_OK)
    code = "uncertain-interpreter" if is_usual or is_here else "missing-interpreter"
    return [finding_of(code, [name], interpreter=interpreter)]


def _shell_findings(archive: PackageArchive, main: MainFile) -> Iterator[Finding]:
    """Find the few faults of a shell script that a run on this machine need not show."""
    commands = [each.strip() for each in main.text.splitlines() if each.strip() and not each.lstrip().startswith("#")]
    # here the program plays on; in the contest it ends with the main file
    if commands and commands[-1].endswith("&") and "wait" not in main.words:
        yield finding_of("background-start", [str(main.entry.path)])
    # the shells of some systems remove the CR
    others = [
        str(path)
        for path, entry in archive.files.items()
        if path.suffix.lower() in _SCRIPTS and path.name in main.words and entry != main.entry
    ]
    if found := [each for each in others if b"\r" in archive.read(archive.files[PurePosixPath(each)], MAX_SCRIPT)]:
        yield finding_of("crlf-in-script", found)
    # some systems are set up to start a JAR file without ``java -jar``
    jars = {each.name: each for each in archive.files if each.suffix.lower() == ".jar"}
    for command in re.split(r"[;&|]+|\n", "\n".join(commands)) if jars else ():
        words = [each.strip("\"'") for each in command.split()]
        while words[:1] in (["exec"], ["java"]):
            words = words[1:]
        if words and (jar := jars.get(posixpath.basename(words[0]))):
            yield finding_of("jar-without-java", [str(jar)])
            return
