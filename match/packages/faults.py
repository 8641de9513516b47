"""The table of all faults that an inspection can find: code, level and sentence.

Invariants: every finding is made by `finding_of` from an entry of this table. The sentence says what is wrong and what
to do. ``{file}`` in it is the path of the file, or of the first file and the number of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from spielleiter.match.packages.finding import Finding, Level
from spielleiter.server.text.escaping import escaped

_GREEN, _YELLOW, _RED = Level.GREEN, Level.YELLOW, Level.RED
_LONGEST_NAME: Final = 120
"""Characters of a name that are shown in a sentence."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One row of the table."""

    level: Level
    sentence: str
    """With placeholders for `str.format`."""


FAULTS: Final[Mapping[str, Fault]] = {
    # -- the ZIP file
    "unreadable-file": Fault(_RED, "the file cannot be read ({reason}); check its path and its permissions"),
    "not-a-zip": Fault(_RED, "the file is not a ZIP file{kind}; pack the program's files as a ZIP"),
    "damaged-zip": Fault(_RED, "the ZIP file is incomplete or damaged ({reason}); create it again"),
    "empty-zip": Fault(_RED, "the ZIP file contains no files; pack the program's files into it"),
    "too-many-files": Fault(
        _RED, "the ZIP file has more than {limit} entries; leave out what the program does not need"
    ),
    "too-large": Fault(_RED, "the unpacked files take more than {limit} MiB; leave out what the program does not need"),
    "zip-bomb": Fault(
        _RED,
        "{file} grows to more than {limit} times its size when unpacked, as in a ZIP bomb; leave it out or create it "
        "when the program runs",
    ),
    "overlapping-files": Fault(
        _RED, "{file} shares its bytes in the ZIP file with another entry, as in a ZIP bomb; create the ZIP again"
    ),
    "wrong-checksum": Fault(_RED, "{file} is damaged (its checksum is wrong); create the ZIP again"),
    "encrypted": Fault(_RED, "{file} is encrypted; create the ZIP without a password"),
    "unsupported-compression": Fault(
        _RED, "{file} is compressed by a method other than deflate ({method}); create the ZIP with the usual method"
    ),
    # -- names
    "leaves-folder": Fault(_RED, "{file} would be unpacked outside the folder (..); use paths without .."),
    "absolute-path": Fault(_RED, "{file} is an absolute path; pack the files with relative paths"),
    "drive-letter": Fault(_RED, "{file} begins with a drive letter; pack the files with relative paths"),
    "backslash-in-name": Fault(
        _RED,
        "{file} has backslashes in its name, so its folders are missing on Linux; create the ZIP with another program",
    ),
    "symbolic-link": Fault(_RED, "{file} is a symbolic link; pack the file that it points to"),
    "special-file": Fault(_RED, "{file} is neither a file nor a folder; leave it out"),
    "duplicate-name": Fault(_RED, "{file} is in the ZIP file twice; create the ZIP again"),
    "file-and-folder": Fault(_RED, "{file} is a file and also a folder in the ZIP file; create the ZIP again"),
    "control-character": Fault(_RED, "{file} has a control character in its name; rename it"),
    "long-name": Fault(_RED, "{file} has a name of more than {limit} bytes, too long for Linux; shorten it"),
    "broken-utf8-name": Fault(
        _RED, "{file} has a name that claims to be UTF-8 and is not; rename it without umlauts and create the ZIP again"
    ),
    "name-encoding": Fault(
        _YELLOW,
        "{file} has characters beyond ASCII in its name, but not as UTF-8, so it is called something else after "
        "unpacking; rename it without umlauts",
    ),
    "unmarked-utf8-name": Fault(
        _YELLOW,
        "{file} has a name in UTF-8 that is not marked as such, so it may be called something else after unpacking; "
        "rename it without umlauts",
    ),
    "decomposed-name": Fault(
        _YELLOW,
        "{file} has its umlauts stored as letter and dots, as on macOS, so the program may not find it; rename it "
        "without umlauts",
    ),
    "case-collision": Fault(
        _YELLOW, "{file} differs from another file only in upper and lower case; rename one of them"
    ),
    "windows-name": Fault(_YELLOW, "{file} has a name that Windows does not allow; rename it"),
    "macos-files": Fault(_GREEN, "{file} was added by macOS and does nothing; it can be left out"),
    # -- the main file
    "no-main-file": Fault(
        _RED, "there is no file to start at the top of the ZIP file; add a script that begins with #!, such as start.sh"
    ),
    "several-main-files": Fault(_RED, "several files could be the main file ({names}); choose one with --main"),
    "main-missing": Fault(_RED, "there is no file {file} in the ZIP file{hint}; correct --main"),
    "main-is-folder": Fault(_RED, "{file} is a folder; name a file in it as the main file"),
    "folder-inside": Fault(
        _RED,
        "all files are in the folder {file}, so nothing can be started at the top of the ZIP file; zip the contents of "
        "that folder instead of the folder",
    ),
    "zip-inside": Fault(_RED, "the ZIP file contains nothing but the ZIP file {file}; hand in that one"),
}


def finding_of(code: str, files: Sequence[str] = (), **values: object) -> Finding:
    """Return the finding with this code about `files`; `values` are put into the sentence's placeholders."""
    fault = FAULTS[code]
    shown = {name: value if isinstance(value, int) else escaped(str(value)) for name, value in values.items()}
    if files:
        others = len(files) - 1
        shown["file"] = shortened(files[0]) + (f" (and {others} more)" if others else "")
    return Finding(code, fault.level, fault.sentence.format_map(shown), files[0] if files else "")


def shortened(text: str) -> str:
    """Return `text`, escaped, with its middle left out if it is very long."""
    if len(text) > _LONGEST_NAME:
        half = _LONGEST_NAME // 2
        text = f"{text[:half]}…{text[-half:]}"
    return escaped(text)
