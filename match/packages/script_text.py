"""The text of a script: its encoding, its line ends, and its first line, which names the interpreter.

Invariants: after the faults are noted, the text is that of a sound script, so that the following checks find other
faults only.
"""

from __future__ import annotations

import codecs
import os
import posixpath
import re
import shutil
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from spielleiter.match.packages.faults import Finding, finding_of
from spielleiter.match.packages.shell_script import PYTHONS, SHELLS

MAX_SCRIPT: Final = 256 * 1024
"""Bytes of a script that are examined."""

_MAX_FIRST_LINE: Final = 255
_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CODING: Final = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.MULTILINE)
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


@dataclass(slots=True)
class ScriptText:
    """A script as text, and what is wrong with it."""

    text: str
    interpreter: str
    """The name of the program that executes it, such as ``bash`` or ``python3``; empty if it is not known."""
    findings: list[Finding]

    @property
    def is_shell(self) -> bool:
        """Whether a shell executes it."""
        return SHELLS.fullmatch(self.interpreter) is not None

    @property
    def is_python(self) -> bool:
        """Whether Python executes it."""
        return PYTHONS.fullmatch(self.interpreter) is not None


def read_script(path: PurePosixPath, content: bytes, interpreter: str = "") -> ScriptText:
    """Examine the script at `path`. An `interpreter` executes it; empty: the system does, so its first line matters."""
    script = ScriptText("", interpreter, [])
    is_direct = not interpreter
    name = str(path)
    if content.startswith(_UTF16) or content[1:2] == b"\0" or content[:1] == b"\0":
        script.findings.append(finding_of("utf-16", [name]))
        encoding = "utf-16" if content.startswith(_UTF16) else ("utf-16-be" if content[:1] == b"\0" else "utf-16-le")
        content = content.decode(encoding, errors="replace").encode(errors="replace")
    if content.startswith(codecs.BOM_UTF8):
        content = content.removeprefix(codecs.BOM_UTF8)
        if is_direct:
            script.findings.append(finding_of("byte-order-mark", [name]))
    if content.startswith(b"#!"):
        content = _without_data(content)
    first, _, _ = content.partition(b"\n")
    if is_direct:
        _read_first_line(path, content, script)
    if b"\r" in (content if script.is_shell or not script.interpreter else first if is_direct else b""):
        script.findings.append(finding_of("crlf", [name]))
    try:
        script.text = content.decode()
    except UnicodeDecodeError:
        script.text = content.decode("latin-1")
        if not script.is_python:
            script.findings.append(finding_of("not-utf-8", [name]))
        elif not _CODING.search(b"\n".join(content.split(b"\n", 2)[:2])):
            script.findings.append(finding_of("python-not-utf-8", [name]))
    script.text = script.text.replace("\r\n", "\n").replace("\r", "\n")
    return script


def _without_data(content: bytes) -> bytes:
    """Return a script without the binary data that follows it, as in self-extracting archives and zipapps."""
    text, null, _ = content.partition(b"\0")
    return text[: text.rfind(b"\n") + 1] if null else content


def _read_first_line(path: PurePosixPath, content: bytes, script: ScriptText) -> None:
    name = str(path)
    stripped = content.lstrip()
    if not stripped.startswith(b"#!"):
        script.interpreter = {".sh": "sh", ".bash": "bash", ".py": "python3"}.get(path.suffix.lower(), "")
        if path.suffix.lower() in _WINDOWS_SUFFIXES:
            script.findings.append(finding_of("windows-script", [name]))
        else:
            example = _EXAMPLES.get(path.suffix.lower(), "#!/bin/sh")
            script.findings.append(finding_of("no-first-line", [name], example=example))
        return
    if stripped != content:
        script.findings.append(finding_of("blank-before-first-line", [name]))
    line = re.split(rb"[\r\n]", stripped[2:], maxsplit=1)[0].decode(errors="replace").strip()
    interpreter, _, rest = line.partition(" ")
    rest = rest.strip()
    if posixpath.basename(interpreter) == "env":
        script.interpreter = _interpreter_of_env(name, rest, script)
    elif not interpreter:
        script.findings.append(finding_of("incomplete-first-line", [name]))
    else:
        script.interpreter = posixpath.basename(interpreter.replace("\\", "/")).removesuffix(".exe")
        script.findings += _interpreter_findings(name, interpreter)
        if len(rest.split()) > 1 and not script.findings:
            script.findings.append(finding_of("first-line-options", [name], words=rest))


def _interpreter_of_env(name: str, rest: str, script: ScriptText) -> str:
    """The interpreter that ``env`` starts; empty if there is none."""
    words = rest.split()
    if words[:1] in (["-S"], ["--split-string"]):
        words = [each for each in words[1:] if "=" not in each and not each.startswith("-")]
    elif words[:1] and words[0].startswith("-S"):
        words = [words[0][2:], *words[1:]]
    elif len(words) > 1:
        script.findings.append(finding_of("first-line-options", [name], words=rest))
        return words[0]
    if not words:
        script.findings.append(finding_of("incomplete-first-line", [name]))
        return ""
    program = words[0]
    if "/" in program or "\\" in program:
        script.findings += _interpreter_findings(name, program)
    elif not _CERTAIN.fullmatch(program):
        is_possible = _KNOWN.fullmatch(program) or shutil.which(program)
        code = "uncertain-interpreter" if is_possible else "missing-interpreter"
        script.findings.append(finding_of(code, [name], interpreter=program))
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
