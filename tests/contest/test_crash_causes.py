"""Messages of real programs in several languages, and the causes that they name."""

from __future__ import annotations

from pathlib import Path

import pytest

from spielleiter.contest.crash_causes import CrashCause, crash_cause, fault_of_name, find_cause
from spielleiter.contest.runtime_faults import FAULTS

MESSAGES = [
    ("needs-input", "EOFError: EOF when reading a line"),
    ("needs-input", 'Exception in thread "main" java.util.NoSuchElementException: No line found'),
    ("needs-input", "stty: 'standard input': Inappropriate ioctl for device"),
    ("needs-input", "termios.error: (25, 'Inappropriate ioctl for device')"),
    ("needs-input", "./start.sh: 3: cannot open /dev/tty: No such device or address"),
    ("needs-input", "_curses.error: setupterm: could not find terminal"),
    ("needs-network", "socket.gaierror: [Errno -2] Name or service not known"),
    ("needs-network", "urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>"),
    ("needs-network", "OSError: [Errno 101] Network is unreachable"),
    ("needs-network", "java.net.UnknownHostException: example.org"),
    ("needs-network", "Error: getaddrinfo EAI_AGAIN example.org"),
    ("needs-network", "curl: (6) Could not resolve host: example.org"),
    ("wrong-server", "ConnectionRefusedError: [Errno 111] Connection refused"),
    ("wrong-server", 'Exception in thread "main" java.net.ConnectException: Connection refused'),
    ("wrong-server", "Error: connect ECONNREFUSED 127.0.0.1:13050"),
    ("wrong-server", 'Error: Os { code: 111, kind: ConnectionRefused, message: "Connection refused" }'),
    ("out-of-memory", 'Exception in thread "main" java.lang.OutOfMemoryError: Java heap space'),
    ("out-of-memory", "MemoryError"),
    ("out-of-memory", "terminate called after throwing an instance of 'std::bad_alloc'"),
    ("out-of-memory", "memory allocation of 4096 bytes failed"),
    ("out-of-memory", "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory"),
    ("out-of-memory", "fatal error: runtime: out of memory"),
    ("writes-elsewhere", "OSError: [Errno 30] Read-only file system: '/log.txt'"),
    ("writes-elsewhere", "PermissionError: [Errno 13] Permission denied: '/log.txt'"),
    ("writes-elsewhere", "java.io.FileNotFoundException: /log.txt (Permission denied)"),
    ("writes-elsewhere", "./start.sh: 2: cannot create /log.txt: Permission denied"),
    ("wheel-for-other-python", "ERROR: a-cp312-cp312-manylinux1_x86_64.whl is not a supported wheel on this platform."),
    ("other-python", "SyntaxError: f-string: expecting '}'"),
    ("other-python", "ImportError: cannot import name 'override' from 'typing' (/usr/lib/python3.11/typing.py)"),
    ("missing-when-run", "ModuleNotFoundError: No module named 'numpy'"),
    ("missing-when-run", "ImportError: cannot import name 'x' from 'y'"),
    ("missing-when-run", 'Exception in thread "main" java.lang.NoClassDefFoundError: kotlin/Unit'),
    ("missing-when-run", "java.lang.UnsupportedClassVersionError: Bot has been compiled by a more recent version"),
    ("missing-when-run", "Error: Cannot find module 'xml2js'"),
    ("missing-when-run", "./bot: error while loading shared libraries: libgmp.so.10: cannot open shared object file"),
    ("missing-when-run", "./bot: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by ./bot)"),
    ("missing-when-run", "./start.sh: 2: dotnet: not found"),
    ("missing-when-run", "./start.sh: line 2: dotnet: command not found"),
    ("missing-when-run", "Error: Unable to access jarfile bot.jar"),
    ("missing-when-run", "FileNotFoundError: [Errno 2] No such file or directory: 'Book.bin'"),
    ("missing-when-run", "java.io.FileNotFoundException: Book.bin (No such file or directory)"),
    ("missing-when-run", "java.nio.file.NoSuchFileException: Book.bin"),
    ("missing-when-run", "Error: ENOENT: no such file or directory, open 'Book.bin'"),
    ("missing-when-run", "./start.sh: 2: ./bot: not found"),
    ("missing-when-run", "book: No such file or directory"),
    ("missing-when-run", "./start.sh: 2: cd: can't cd to build"),
    ("not-executable-when-run", "./start.sh: 2: ./bot: Permission denied"),
    ("not-executable-when-run", "PermissionError: [Errno 13] Permission denied: './bot'"),
    ("not-executable-when-run", 'java.io.IOException: Cannot run program "./bot": error=13, Permission denied'),
    ("not-executable-when-run", "Error: spawn ./bot EACCES"),
    ("wrong-format-when-run", "./start.sh: 2: ./bot: Exec format error"),
    ("wrong-format-when-run", "./start.sh: line 2: ./bot: cannot execute binary file: Exec format error"),
    ("wrong-format-when-run", "OSError: [Errno 8] Exec format error: './bot'"),
    ("not-executable-when-run", "/player/start.sh: line 2: ./bot: Permission denied"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "message"), MESSAGES)
def test_a_message_names_its_cause(code: str, message: str) -> None:
    assert find_cause(["starting", message, "  at somewhere"]) == CrashCause(code, message.strip())
    assert code in FAULTS


@pytest.mark.parametrize(
    "line",
    ["", "Traceback (most recent call last):", "ZeroDivisionError: division by zero", "the move was not found in time"],
)
def test_other_lines_name_no_cause(line: str) -> None:
    assert find_cause([line]) is None


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("ModuleNotFoundError: No module named 'Book'", ("Book", "book.py")),
        ("ModuleNotFoundError: No module named 'lib.Tree'", ("Tree", "lib/tree.py")),
        ("ModuleNotFoundError: No module named 'Lib'", ("Lib", "lib")),
        ("ModuleNotFoundError: No module named 'book.x'", None),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'x/Openings.bin'", ("Openings.bin", "openings.bin")),
        ("java.io.FileNotFoundException: Openings.bin (No such file or directory)", ("Openings.bin", "openings.bin")),
        ("java.nio.file.NoSuchFileException: Openings.bin", ("Openings.bin", "openings.bin")),
        ("Error: Unable to access jarfile Bot.jar", ("Bot.jar", "bot.jar")),
        ("Error: Could not find or load main class Main", ("Main", "main.class")),
        ("Error: Cannot find module './Tree'", ("Tree", "lib/tree.py")),
        ("Error: ENOENT: no such file or directory, open 'Openings.bin'", ("Openings.bin", "openings.bin")),
        ("python3: can't open file '/player/Book.py': [Errno 2] No such file or directory", ("Book.py", "book.py")),
        ("./start.sh: 2: ./Bot.jar: not found", ("Bot.jar", "bot.jar")),
        ("./start.sh: line 2: ./Bot.jar: No such file or directory", ("Bot.jar", "bot.jar")),
        ("ImportError: cannot import name 'x' from 'y'", None),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'none.bin'", None),
    ],
)  # fmt: skip
def test_a_name_in_another_spelling_is_found(line: str, found: tuple[str, str] | None, tmp_path: Path) -> None:
    expected = None if found is None else ("other-spelling", *found)
    assert fault_of_name(CrashCause("missing-when-run", line), package_in(tmp_path)) == expected


@pytest.mark.parametrize(
    ("code", "line", "found"),
    [
        ("missing-when-run", "./start.sh: 2: book.py: not found", ("other-place", "book.py", "book.py")),
        (
            "missing-when-run",
            "./start.sh: line 2: tree.py: command not found",
            ("other-place", "tree.py", "lib/tree.py"),
        ),
        (
            "missing-when-run",
            "python3: can't open file '/player/tree.py': [Errno 2] No such file or directory",
            ("other-place", "/player/tree.py", "lib/tree.py"),
        ),
        ("missing-when-run", "./start.sh: 3: cd: can't cd to player/lib", ("other-place", "player/lib", "lib")),
        ("missing-when-run", "./start.sh: 2: ./book.py: not found", None),  # it is there, but not its interpreter
        ("missing-when-run", "/player/start.sh: 2: /player/lib/tree.py: not found", None),
        ("missing-when-run", "ModuleNotFoundError: No module named 'tree'", None),
        (
            "writes-elsewhere",
            "PermissionError: [Errno 13] Permission denied: '/player/book.py'",
            ("not-executable-when-run", "/player/book.py", "book.py"),
        ),
        # a folder of the PATH is closed to this user
        ("not-executable-when-run", "./start.sh: 2: book.py: Permission denied", ("other-place", "book.py", "book.py")),
        (
            "not-executable-when-run",
            "./start.sh: 2: ./book.py: Permission denied",
            ("not-executable-when-run", "./book.py", "book.py"),
        ),
        ("writes-elsewhere", "PermissionError: [Errno 13] Permission denied: '/log.txt'", None),
        ("writes-elsewhere", "OSError: [Errno 30] Read-only file system: '/log.txt'", None),
    ],
)
def test_a_name_in_another_place_is_found(
    code: str, line: str, found: tuple[str, str, str] | None, tmp_path: Path
) -> None:
    assert fault_of_name(CrashCause(code, line), package_in(tmp_path)) == found


def package_in(folder: Path) -> Path:
    (folder / "lib").mkdir()
    for name in ("book.py", "lib/tree.py", "openings.bin", "bot.jar", "main.class"):
        (folder / name).touch()
    return folder


def test_the_last_message_counts() -> None:
    cause = find_cause(["Network is unreachable", "EOFError: EOF when reading a line"])
    assert cause is not None
    assert cause.code == "needs-input"


def test_only_the_last_lines_of_the_outputs_are_searched(tmp_path: Path) -> None:
    first, second = tmp_path / "stderr.log", tmp_path / "stdout.log"
    first.write_text("    0.010  MemoryError\n" + "    0.020  further work\n" * 100)
    second.write_text("    0.010  nothing\n")
    assert crash_cause(first, second) is None
    second.write_text("    0.010  MemoryError\n")
    assert crash_cause(first, second) == CrashCause("out-of-memory", "MemoryError")
    assert crash_cause(tmp_path / "absent.log") is None
