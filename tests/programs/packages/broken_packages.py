"""Contest packages with one planted fault each, and sound ones."""

from __future__ import annotations

import stat
import struct
import zipfile
from dataclasses import dataclass

from tests.programs.packages.binaries import (
    LOADER,
    MACOS_PROGRAM,
    WINDOWS_PROGRAM,
    elf,
    jar,
    java_class,
)
from tests.programs.packages.making import (
    BOT,
    PYTHON_BOT,
    PYTHON_MAIN,
    SHELL_BOT,
    java,
    many_entries,
    program,
    python,
    renamed,
    script,
    shell,
    with_entry,
    with_flags,
    with_mode,
    zipped,
)


@dataclass(frozen=True, slots=True)
class Sample:
    """A package with a fault."""

    code: str
    """The code of its only fault."""
    content: bytes
    main: str | None = None
    """The value of ``--main``; None: without."""


def _overlapping() -> bytes:
    """Two entries of the list of entries that lead to the same content."""
    content = zipped({"a.sh": SHELL_BOT, "b.sh": SHELL_BOT})
    first = content.rfind(b"PK\x01\x02")
    changed = bytearray(content)
    struct.pack_into("<I", changed, first + 42, 0)
    local = bytearray(changed[: content.find(b"PK\x01\x02")])
    return bytes(local + changed[content.find(b"PK\x01\x02") :])


def _wrong_checksum() -> bytes:
    content = zipped({**BOT, "notes.txt": "A long text that is easily found."}, zipfile.ZIP_STORED)
    return content.replace(b"easily found", b"easily lost!")


_LIBRARIES = ("libc.so.6", "libm.so.6")
_DAMAGED_ELF = elf(loader=LOADER, libraries=_LIBRARIES)[:100]

BROKEN: dict[str, Sample] = {
    # -- the ZIP file
    "text instead of a ZIP": Sample("not-a-zip", b"Hello"),
    "empty file": Sample("not-a-zip", b""),
    "gzip file": Sample("not-a-zip", b"\x1f\x8b" + bytes(100)),
    "end is missing": Sample("damaged-zip", zipped(BOT)[:-30]),
    "second half is missing": Sample("damaged-zip", zipped(BOT)[: len(zipped(BOT)) // 2]),
    "compressed data is damaged": Sample(
        "damaged-zip", zipped({"start.sh": PYTHON_MAIN + "# abc\n" * 100}).replace(b"start.sh", b"start.sh\xff\xff", 1)
    ),
    "no entries": Sample("empty-zip", zipped({})),
    "only a folder": Sample("empty-zip", zipped({"bot/": ""})),
    "too many files": Sample("too-many-files", many_entries(20_001)),
    "ZIP bomb": Sample("zip-bomb", with_entry("zeros.bin", bytes(17 * 1024 * 1024))),
    "ZIP bomb of smaller files": Sample(
        "zip-bomb", zipped({**BOT, **{f"zeros{n}": "\0" * (9 * 1024 * 1024) for n in range(2)}})
    ),
    "entries that overlap": Sample("overlapping-files", _overlapping()),
    "wrong checksum": Sample("wrong-checksum", _wrong_checksum()),
    "encrypted file": Sample("encrypted", with_flags(zipped({**BOT, "secret.txt": "x"}), b"secret.txt", 0x1)),
    "bzip2": Sample("unsupported-compression", zipped(BOT, zipfile.ZIP_BZIP2)),
    # -- names
    "path with .. inside": Sample("leaves-folder", with_entry("lib/../../bot.py")),
    "absolute path": Sample("absolute-path", with_entry("/etc/profile")),
    "path of a network share": Sample("absolute-path", with_entry("\\\\server\\bot.py")),
    "drive letter": Sample("drive-letter", with_entry("C:\\bots\\bot.py")),
    "backslash": Sample("backslash-in-name", with_entry("lib\\helper.py")),
    "symbolic link": Sample("symbolic-link", with_mode({**BOT, "python": "/usr/bin/python3"}, "python", stat.S_IFLNK)),
    "named pipe": Sample("special-file", with_mode({**BOT, "pipe": ""}, "pipe", stat.S_IFIFO)),
    "same name twice": Sample("duplicate-name", renamed("bot.pz", b"bot.py")),
    "file and folder of the same name": Sample("file-and-folder", zipped({**BOT, "lib": "x", "lib/a.txt": "x"})),
    "names that differ in case": Sample("case-collision", zipped({**BOT, "Data.txt": "x", "data.txt": "y"})),
    "line break in a name": Sample("control-character", with_entry("a\nb.txt")),
    "null byte in a name": Sample("control-character", renamed("notesX.txt", b"notes\0.txt")),
    "very long name": Sample("long-name", with_entry("x" * 256)),
    "1,800 nested folders": Sample("long-path", with_entry("x/" * 1800 + "x")),
    "umlaut in the code page of DOS": Sample("name-encoding", renamed("loesung.txt", b"l\x94esung.txt")),
    "umlaut in UTF-8 without the mark": Sample("unmarked-utf8-name", renamed("loesung.txt", b"l\xc3\xb6sung.txt")),
    "marked as UTF-8, but is not": Sample("broken-utf8-name", renamed("loesung.txt", b"l\x94esung.txt", is_utf8=True)),
    "umlaut of macOS": Sample("decomposed-name", with_entry("lo\u0308sung.txt")),
    "name that Windows forbids": Sample("windows-name", with_entry("aux.txt")),
    "files of macOS": Sample("macos-files", with_entry("__MACOSX/._bot.py")),
    # -- the main file
    "only texts": Sample("no-main-file", zipped({"README.txt": "Hello", "bot.txt": "x"})),
    "two scripts": Sample("several-main-files", zipped({"a.sh": SHELL_BOT, "b.sh": SHELL_BOT, "bot.py": PYTHON_BOT})),
    "--main that is not there": Sample("main-missing", zipped(BOT), "run.sh"),
    "--main that is a folder": Sample("main-is-folder", zipped({**BOT, "lib/a.py": ""}), "lib"),
    "program in a folder that is started in the folder above": Sample("main-in-folder", zipped({"bot/main": elf()})),
    "only texts in a folder": Sample("folder-inside", zipped({"bot/README.md": "x"})),
    "ZIP in a ZIP": Sample("zip-inside", zipped({"player.zip": zipped(BOT)})),
    "only sources of Rust": Sample("source-only", zipped({"Cargo.toml": "[package]", "src/main.rs": "fn main() {}"})),
    "empty main file": Sample("empty-main", script("")),
    "JAR file as the main file": Sample("jar-main-file", zipped({"bot.jar": jar()})),
    "class as the main file": Sample("class-file", zipped({"Main.class": java_class()})),
    "shared library as the main file": Sample("not-a-program", program(elf(kind=3, entry=0))),
    "image as the main file": Sample("not-a-program", zipped({"bot.png": b"\x89PNG\r\n\x1a\n\0\0"}), "bot.png"),
    "batch file": Sample("windows-script", zipped({"start.bat": "java -jar bot.jar %*", "bot.jar": jar()})),
    # -- first line and encoding
    "line ends of Windows": Sample("crlf", script(SHELL_BOT.replace("\n", "\r\n"))),
    "byte order mark": Sample("byte-order-mark", script(b"\xef\xbb\xbf" + SHELL_BOT.encode())),
    "UTF-16": Sample("utf-16", script(SHELL_BOT.encode("utf-16"))),
    "UTF-16 without byte order mark": Sample("utf-16", script(SHELL_BOT.encode("utf-16-le"))),
    "no first line": Sample("no-first-line", script('exec python3 bot.py "$@"\n')),
    "blank line before #!": Sample("blank-before-first-line", script(f"\n{SHELL_BOT}")),
    "env alone": Sample("incomplete-first-line", script('#!/usr/bin/env\nexec python3 bot.py "$@"\n')),
    "option after env": Sample("first-line-options", script(f"#!/usr/bin/env python3 -u\n{PYTHON_BOT}", "main.py")),
    "two options": Sample("first-line-options", shell('exec python3 bot.py "$@"', first_line="#!/bin/bash -e -u")),
    "misspelled interpreter": Sample("missing-interpreter", script(f"#!/usr/bin/env pyhton3\n{PYTHON_BOT}", "main.py")),
    "unusual interpreter": Sample("uncertain-interpreter", script("#!/usr/bin/env julia\nprint(1)\n", "main.jl")),
    # -- what a script starts
    "second script has line ends of Windows": Sample(
        "crlf-in-script", shell('sh lib/run.sh "$@"', {"lib/run.sh": 'exec python3 bot.py "$@"\r\n'})
    ),
    "start in the background": Sample("background-start", shell('python3 bot.py "$@" &')),
    "JAR file without java": Sample("jar-without-java", shell('./bot.jar "$@"', {"bot.jar": jar()})),
    "JAR file without -jar": Sample("jar-without-java", shell('java bot.jar "$@"', {"bot.jar": jar()})),
    # -- programs and libraries
    "program for Windows": Sample("windows-program", zipped({"player.exe": WINDOWS_PROGRAM})),
    "second program is for Windows": Sample(
        "foreign-program", shell('chmod +x player\n./player "$@"', {"player": WINDOWS_PROGRAM})
    ),
    "program for macOS": Sample("macos-program", program(MACOS_PROGRAM)),
    "32-bit program": Sample("elf-32-bit", program(elf(bits=32, machine=3))),
    "program for 64-bit ARM": Sample("other-processor", program(elf(machine=183))),
    "half a program": Sample("damaged-program", program(_DAMAGED_ELF)),
    "program for musl": Sample("unusual-loader", program(elf(loader="/lib/ld-musl-x86_64.so.1", libraries=_LIBRARIES))),
    "program with an unusual library": Sample(
        "missing-library", program(elf(loader=LOADER, libraries=(*_LIBRARIES, "libtorch.so.2")))
    ),
    "program for a newer glibc": Sample(
        "newer-glibc", program(elf(loader=LOADER, libraries=_LIBRARIES, versions=("GLIBC_2.2.5", "GLIBC_2.43")))
    ),
    "JAR file for a newer Java": Sample("newer-java", java(jar(files={"bot/Main.class": java_class(26)}))),
    "import that is not there": Sample("missing-module", python("import sys\nimport numpy\nprint(sys.argv)")),
    "import in a module that is not there": Sample(
        "missing-module", python("import logic", {"logic.py": "from socha import Move\n"})
    ),
    "requirements without packages": Sample(
        "requirements-missing", zipped({**BOT, "requirements.txt": "numpy>=1.26\n"})
    ),
    "wheel for Windows": Sample("wheel-platform", with_entry("wheels/numpy-2.0-cp312-cp312-win_amd64.whl")),
    "wheel for Python 2": Sample("wheel-python", with_entry("wheels/six-1.0-py2-none-any.whl")),
    "module for Windows": Sample("extension-platform", with_entry("fast.cp312-win_amd64.pyd")),
    "virtual environment": Sample(
        "virtual-environment",
        zipped({**BOT, "venv/pyvenv.cfg": "home = /home/anna", "venv/lib/site-packages/a.py": ""}),
    ),
}


SOUND: dict[str, bytes] = {
    "Python": python(PYTHON_BOT),
    "shell and Python": zipped(BOT),
    "Python with modules and packages": python(
        "from __future__ import annotations\nimport logic.search\nfrom helper import *\ntry:\n    import numpy\n"
        "except ImportError:\n    numpy = None\n",
        {
            "logic/__init__.py": "",
            "logic/search.py": "import helper\nfrom . import x",
            "logic/x.py": "",
            "helper.py": "import json",
        },
    ),
    "Python with packed libraries": python(
        "import sys\nsys.path.insert(0, 'lib')\nimport numpy\nimport socha.api",
        {"lib/numpy/__init__.py": "", "lib/socha/api.py": "", "requirements.txt": "numpy\nsocha>=5\n"},
    ),
    "script with programs for several systems": shell(
        'case "$(uname)" in Darwin) ./bot-macos "$@" ;; MINGW*) ./bot.exe "$@" ;; *) ./bot "$@" ;; esac',
        {"bot-macos": MACOS_PROGRAM, "bot.exe": WINDOWS_PROGRAM, "bot": elf()},
    ),
    "program for Windows that nobody names": zipped({**BOT, "lib/setup/cli.exe": WINDOWS_PROGRAM}),
    "JAR file that is not started": java(jar(), {"lib.jar": jar(None), "damaged.jar": jar()[:-40]}),
    "JAR file": java(jar()),
    "JAR file with libraries, next to the script": zipped(
        {
            "start.sh": '#!/bin/bash\njava -Xmx1g -Dfile.encoding=UTF-8 -jar "$(dirname "$0")/build/bot.jar" $@\n',
            "build/bot.jar": jar("Main-Class: bot.\n Main\nClass-Path: libs/sdk.jar\n"),
            "build/libs/sdk.jar": jar(),
        }
    ),
    "classes of Java": shell('cd out && exec java bot.Main "$@"', {"out/bot/Main.class": java_class()}),
    "compiled program": program(
        elf(loader=LOADER, libraries=("libstdc++.so.6", *_LIBRARIES), versions=("GLIBC_2.34",))
    ),
    "statically linked program": program(elf()),
    "position-independent program without a loader": program(elf(kind=3)),
    "program and its library": program(
        elf(loader=LOADER, libraries=("libbook.so", *_LIBRARIES)), {"libbook.so": elf(kind=3, entry=0)}
    ),
    "script that makes its program executable": shell(
        'cd "${0%/*}"\nchmod 755 bin/player\nexec nice -n 5 ./bin/player "$@"', {"bin/player": elf()}
    ),
    "several scripts, one of them named start.sh": zipped(
        {**BOT, "test.sh": "#!/bin/sh\r\necho test\n", "build.sh": "mvn package\n"}
    ),
    "umlauts in UTF-8": with_entry("Erklärung für Lehrkräfte.txt"),
    "folders of their own": zipped({"lib/": "", "data/book/": "", **BOT}),
    "stored without compression": zipped(BOT, zipfile.ZIP_STORED),
    "Node.js": zipped({"main.js": "#!/usr/bin/env node\nconsole.log(process.argv)\n"}),
    "packed wheels": shell(
        'pip install --no-index --find-links wheels --target lib numpy\nPYTHONPATH=lib python3 bot.py "$@"',
        {"bot.py": "import numpy\n", "wheels/numpy-2.0-cp312-cp312-manylinux_2_17_x86_64.whl": "x"},
    ),
}
