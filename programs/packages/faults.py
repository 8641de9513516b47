"""What an inspection finds in a contest package: the tables of all faults, a finding, and the exception with findings.

Every finding is made by `finding_of` from an entry of a table. The sentence says what is wrong and what to do;
``{file}`` in it is the path of the file, or of the first file and the number of the others.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spielleiter.common.errors import SetupError
from spielleiter.common.text import escaped

_LONGEST_NAME: Final = 120
"""Characters of a name that are shown in a sentence."""


class Level(enum.Enum):
    """How bad a finding is; the values are used in reports."""

    GREEN = "green"
    """Harmless; mentioned because the user may wonder."""
    YELLOW = "yellow"
    """It may fail in the contest."""
    RED = "red"
    """It fails in the contest."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding of an inspection."""

    code: str
    """Identifies the fault, such as ``no-main-file``; a key of `faults.FAULTS`."""
    level: Level
    text: str
    """One sentence: what is wrong, and what to do."""
    file: str = ""
    """The path in the package that it is about; empty if it is about the package as a whole."""
    values: tuple[tuple[str, object], ...] = ()
    """What was put into the placeholders of the sentence, so that it can be said in another language."""


# The faults of each level, by their codes.
_RED: Final = {
    # -- the ZIP file
    "unreadable-file": "the file cannot be read ({reason}); check its path and its permissions",
    "not-a-zip": "the file is not a ZIP file{kind}; pack the program's files as a ZIP",
    "damaged-zip": "the ZIP file is incomplete or damaged ({reason}); create it again",
    "empty-zip": "the ZIP file contains no files; pack the program's files into it",
    "too-many-files": "the ZIP file has more than {limit} entries; leave out what the program does not need",
    "too-large": "the unpacked files take more than {limit} MiB; leave out what the program does not need",
    "zip-bomb": (
        "{file} grows to more than {limit} times its size when unpacked, as in a ZIP bomb; leave it out or create it "
        "when the program runs"
    ),
    "overlapping-files": (
        "{file} shares its bytes in the ZIP file with another entry, as in a ZIP bomb; create the ZIP again"
    ),
    "wrong-checksum": "{file} is damaged (its checksum is wrong); create the ZIP again",
    "encrypted": "{file} is encrypted; create the ZIP without a password",
    "unsupported-compression": (
        "{file} is compressed by a method other than deflate ({method}); create the ZIP with the usual method"
    ),
    # -- names
    "leaves-folder": "{file} would be unpacked outside the folder (..); use paths without ..",
    "absolute-path": "{file} is an absolute path; pack the files with relative paths",
    "drive-letter": "{file} begins with a drive letter; pack the files with relative paths",
    "backslash-in-name": (
        "{file} has backslashes in its name, so its folders are missing on Linux; create the ZIP with another program"
    ),
    "symbolic-link": "{file} is a symbolic link; pack the file that it points to",
    "special-file": "{file} is neither a file nor a folder; leave it out",
    "duplicate-name": "{file} is in the ZIP file twice; create the ZIP again",
    "file-and-folder": "{file} is a file and also a folder in the ZIP file; create the ZIP again",
    "control-character": "{file} has a control character in its name; rename it",
    "long-name": "{file} has a name of more than {limit} bytes, too long for Linux; shorten it",
    "long-path": "{file} has a path of more than {path} bytes or {depth} folders; pack it with a shorter path",
    "uninspectable": (
        "the ZIP file cannot be inspected ({reason}); create it again, with the usual program and simpler contents"
    ),
    "broken-utf8-name": (
        "{file} has a name that claims to be UTF-8 and is not; rename it without umlauts and create the ZIP again"
    ),
    # -- the main file
    "no-main-file": (
        "there is no file to start at the top of the ZIP file; add a script that begins with #!, such as start.sh"
    ),
    "several-main-files": "several files could be the main file ({names}); choose one with --main",
    "main-missing": "there is no file {file} in the ZIP file{hint}; correct --main",
    "main-is-folder": "{file} is a folder; name a file in it as the main file",
    "folder-inside": (
        "everything is in the folder {file}, but the program is started in the folder above, where it does not find "
        "what it needs; zip the contents of that folder instead of the folder"
    ),
    "zip-inside": "the ZIP file contains nothing but the ZIP file {file}; hand in that one",
    "source-only": (
        "there is only source code ({file}) and no program to start; compile it, and pack the program together with a "
        "script that starts it"
    ),
    "empty-main": "{file} is empty; pack it again",
    "not-a-program": "{file} cannot be started as a program; name a script or a program as the main file",
    "class-file": "{file} is a class of Java and cannot be started directly; start it in a script with java",
    "jar-without-java": '{file} cannot be started directly; start it in a script with java -jar {file} "$@"',
    "windows-script": (
        "{file} is a script for Windows, which Linux cannot execute; write a shell script that begins with #!/bin/sh"
    ),
    # -- the first line and the encoding of a script
    "crlf": "{file} has the line ends of Windows (CR LF), so Linux cannot execute it; save it with LF",
    "byte-order-mark": (
        "{file} begins with a byte order mark, so its first line is not recognised; save it as UTF-8 without BOM"
    ),
    "utf-16": "{file} is encoded as UTF-16, so Linux cannot execute it; save it as UTF-8 without BOM",
    "no-first-line": (
        "{file} does not begin with #! and an interpreter, so Linux cannot execute it; begin it with {example}"
    ),
    "blank-before-first-line": (
        "{file} has a blank line or blanks before #!, so its first line is not recognised; remove them"
    ),
    "incomplete-first-line": (
        "{file} names no interpreter in its first line; begin it with #!/bin/sh or #!/usr/bin/env python3"
    ),
    "first-line-options": (
        "{file} has several words after the interpreter in its first line, which Linux passes as one ({words}); leave "
        "the options out"
    ),
    "missing-interpreter": (
        "{file} names the interpreter {interpreter}, which is not there in the contest; use one such as #!/bin/sh or "
        "#!/usr/bin/env python3"
    ),
    # -- programs and libraries
    "windows-program": "{file} is a program for Windows; compile it for 64-bit Linux (x86-64)",
    "macos-program": "{file} is a program for macOS; compile it for 64-bit Linux (x86-64)",
    "elf-32-bit": "{file} is a 32-bit program; compile it for 64-bit Linux (x86-64)",
    "other-processor": "{file} is a program for another processor ({processor}); compile it for 64-bit Linux (x86-64)",
    "damaged-program": "{file} is an incomplete program; create the ZIP again",
}
_YELLOW: Final = {
    # -- names
    "name-encoding": (
        "{file} has characters beyond ASCII in its name, but not as UTF-8, so it is called something else after "
        "unpacking; rename it without umlauts"
    ),
    "unmarked-utf8-name": (
        "{file} has a name in UTF-8 that is not marked as such, so it may be called something else after unpacking; "
        "rename it without umlauts"
    ),
    "decomposed-name": (
        "{file} has its umlauts stored as letter and dots, as on macOS, so the program may not find it; rename it "
        "without umlauts"
    ),
    "case-collision": "{file} differs from another file only in upper and lower case; rename one of them",
    "windows-name": "{file} has a name that Windows does not allow; rename it",
    # -- the main file
    "jar-main-file": (
        "{file} is a JAR file, which is started with java -jar; choose an image with Java for the contest, or better "
        'start it in a script with java -jar {file} "$@"'
    ),
    # -- the first line and the encoding of a script
    "uncertain-interpreter": (
        "{file} names the interpreter {interpreter}, which may not be there in the contest; use one such as #!/bin/sh "
        "or #!/usr/bin/env python3"
    ),
    "crlf-in-script": (
        "{file} is named in the main file and has the line ends of Windows (CR LF), which a shell on Linux takes for a "
        "part of the last words; save it with LF"
    ),
    "background-start": (
        "{file} ends while the program that it has started with & is still running; start the program without &, or "
        "end the script with wait"
    ),
    # -- programs and libraries
    "foreign-program": (
        "{file} is a program for another system that the main file names, and no program in the ZIP file is for 64-bit "
        "Linux (x86-64); compile it for that"
    ),
    "unusual-loader": "{file} needs the loader {loader}, which may not be there in the contest; link it statically",
    "missing-library": (
        "{file} needs shared libraries that may not be there in the contest ({libraries}); link them statically or "
        "pack them"
    ),
    "newer-glibc": (
        "{file} needs glibc {version}, and the contest may have an older one; compile it on a system with glibc "
        "{newest} at most, or link it statically"
    ),
    "newer-java": (
        "{file} is compiled for Java {version}, and the contest may have an older one; compile it with --release "
        "{newest} or lower"
    ),
    "newer-syntax": (
        "{file} needs a newer Python than {version} (line {line}: {reason}); write it for that one, or choose an image "
        "with the newer one for the contest"
    ),
    "missing-module": (
        "{file} imports {module}, which is neither in the ZIP file nor part of Python; pack it with pip install "
        "--target . {module}"
    ),
    "requirements-missing": (
        "{file} lists packages that are not in the ZIP file ({names}), and there is no network in the contest; pack "
        "them with pip install --target ."
    ),
    "wheel-platform": "{file} is a wheel for another system than 64-bit Linux; download the one for manylinux x86_64",
    "wheel-python": "{file} is a wheel for an old version of Python; download one for Python 3.8 or newer",
    "extension-platform": (
        "{file} is a compiled Python module for another system than 64-bit Linux; pack the one for Linux"
    ),
    "virtual-environment": (
        "{file} belongs to a virtual environment of Python, which works nowhere but in the folder in which it was "
        "created; pack the modules with pip install --target . instead"
    ),
}
_GREEN: Final = {
    "macos-files": "{file} was added by macOS and does nothing; it can be left out",
    "main-in-folder": "the main file is {file}; choose it from the list of the files after the upload to the contest",
}
FAULTS: Final[Mapping[str, tuple[Level, str]]] = {
    code: (level, sentence)
    for level, sentences in ((Level.RED, _RED), (Level.YELLOW, _YELLOW), (Level.GREEN, _GREEN))
    for code, sentence in sentences.items()
}
"""The level of each fault and its sentence, which has placeholders for `str.format`."""


def finding_of(code: str, files: Sequence[str] = (), **values: object) -> Finding:
    """Return the finding with this code about `files`; `values` are put into the sentence's placeholders."""
    level, sentence = FAULTS[code]
    shown = {name: value if isinstance(value, int) else escaped(str(value)) for name, value in values.items()}
    if files:
        others = len(files) - 1
        shown["file"] = shortened(files[0]) + (f" (and {others} more)" if others else "")
    return Finding(code, level, sentence.format_map(shown), files[0] if files else "", tuple(shown.items()))


def shortened(text: str) -> str:
    """Return `text`, escaped, with its middle left out if it is very long."""
    if len(text) > _LONGEST_NAME:
        half = _LONGEST_NAME // 2
        text = f"{text[:half]}…{text[-half:]}"
    return escaped(text)


class PackageError(SetupError):
    """The package at `path` cannot be started in the contest; `findings` say why, and what to do."""

    def __init__(self, path: Path, findings: Sequence[Finding]) -> None:
        self.path = path
        self.findings = tuple(findings)
        texts = [each.text for each in self.findings]
        if len(texts) > 1:
            texts = [f"({number}) {text}" for number, text in enumerate(texts, 1)]
        super().__init__(f"{escaped(str(path))}: {' '.join(texts)}")
