"""The table of all faults that show when a package is run; those of its ZIP are in programs/packages/faults.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from spielleiter.common.text import escaped
from spielleiter.match.verdict import Verdict
from spielleiter.programs.contest_conditions import Condition
from spielleiter.programs.packages.faults import Finding, Level

_YELLOW, _RED = Level.YELLOW, Level.RED
_BETTER_SANDBOX: Final = "check on Linux with bubblewrap or in a container (--image)"


@dataclass(frozen=True, slots=True)
class RuntimeFault:
    """One row of the table. `condition` is None for a fault that belongs to the condition whose game shows it."""

    level: Level
    sentence: str
    """With placeholders for `str.format`."""
    condition: Condition | None = None


FAULTS: Final[Mapping[str, RuntimeFault]] = {
    # -- a game, by its verdict
    "does-not-start": RuntimeFault(
        _RED, "{game}: the program does not start ({reason}); start the main file by hand and fix what it reports"
    ),
    "takes-no-seat": RuntimeFault(
        _RED,
        "{game}: the program does not take its seat ({reason}); let it connect to the host and port that it is given "
        "and join with the reservation code",
    ),
    "wrong-server": RuntimeFault(
        _RED,
        "the program connects to a server that is not there ({reason}); let it use the host after -h and the port "
        "after -p, since in the contest the server is not on localhost",
    ),
    "speaks-nonsense": RuntimeFault(
        _RED,
        "{game}: the program's first bytes are not the protocol ({reason}); send <protocol> and joinPrepared first",
    ),
    "ends-early": RuntimeFault(
        _RED, "{game}: the program ends during the game ({reason}); let it run until the server has sent the result"
    ),
    "crash": RuntimeFault(
        _RED, "{game}: the program crashes ({reason}); read its output, fix the mistake and check again"
    ),
    "leaves": RuntimeFault(
        _RED,
        "{game}: the program closes its connection during the game ({reason}); keep it open until the result has come",
    ),
    "tampers": RuntimeFault(_RED, "{game}: the program stops other processes ({reason}); leave them alone"),
    "timeout": RuntimeFault(
        _RED, "{game}: a move comes too late ({reason}); let the program stop thinking well before the limit"
    ),
    "hangs": RuntimeFault(
        _RED, "{game}: the program does not answer any more ({reason}); look for an endless loop or a wait"
    ),
    "illegal-move": RuntimeFault(
        _RED, "{game}: the program makes an illegal move ({reason}); compare the move with the rules in the replay"
    ),
    "bad-message": RuntimeFault(
        _RED, "{game}: the program sends something that is no move ({reason}); compare it with the protocol"
    ),
    # -- the end
    "does-not-end": RuntimeFault(
        _RED,
        "{game}: the program does not end itself ({reason}); exit as soon as the result has come, since the official "
        "server keeps the connection open",
        Condition.END,
    ),
    "leaves-processes": RuntimeFault(
        _RED,
        "{game}: the program leaves processes behind ({reason}); end them, or start the last program of a script with "
        "exec",
        Condition.END,
    ),
    # -- options
    "option-order": RuntimeFault(
        _RED,
        "the program fails with its options in another order, as {form} ({reason}); read them by name, not by position",
        Condition.OPTIONS,
    ),
    "option-names": RuntimeFault(
        _RED,
        "the program fails with long options, as {form} ({reason}); accept --host, --port and --reservation as well",
        Condition.OPTIONS,
    ),
    "parameter-order": RuntimeFault(
        _RED,
        "the program fails with its further parameters at the end, as {form} ({reason}); read options by name, not by "
        "position",
        Condition.OPTIONS,
    ),
    "plain-join": RuntimeFault(
        _RED,
        "the program joins without its reservation code, so the contest gives it no seat; send joinPrepared with the "
        "code after -r",
        Condition.OPTIONS,
    ),
    # -- two games at once
    "not-twice": RuntimeFault(
        _YELLOW,
        "the program fails when it runs twice at the same time ({reason}); use no fixed port and no lock file (in the "
        "contest each program has a machine of its own, but not in matches here)",
        Condition.TWO_GAMES,
    ),
    # -- further steps
    "failed-step": RuntimeFault(_RED, "{title}: expected {expected}; got: {reason}", Condition.PROTOCOL),
    "missed-step": RuntimeFault(
        _YELLOW, "{title}: expected {expected}; got: {reason} ({remark}, but it is good practice)", Condition.PROTOCOL
    ),
    # -- times
    "slow-start": RuntimeFault(
        _YELLOW,
        "the program takes {seconds} until it has its seat; load less at the start, since the contest may not wait",
        Condition.START,
    ),
    "too-slow": RuntimeFault(
        _RED,
        "moves take up to {slowest} here, and several of them about {expected} or more in the contest, where 2 s are "
        "allowed (an estimate); think for a shorter time",
        Condition.THINK_TIME,
    ),
    "nearly-too-slow": RuntimeFault(
        _YELLOW,
        "the slowest move takes {slowest} here, which is about {expected} in the contest, where 2 s are allowed "
        "(an estimate); keep more time in reserve",
        Condition.THINK_TIME,
    ),
    # -- memory and output
    "too-much-memory": RuntimeFault(
        _RED,
        "the program needs {peak} of memory, and is stopped in the contest at {limit}; store less, or limit it (for "
        "Java with -Xmx1g)",
        Condition.MEMORY,
    ),
    "out-of-memory": RuntimeFault(
        _RED,
        "the program gets no more memory ({reason}); store less, or limit it (for Java with -Xmx1g)",
        Condition.MEMORY,
    ),
    "much-memory": RuntimeFault(
        _YELLOW,
        "the program needs {peak} of the {limit} of memory; store less, or limit it (for Java with -Xmx1g)",
        Condition.MEMORY,
    ),
    "too-many-processes": RuntimeFault(
        _RED,
        "the program has more than {limit} processes and threads at once, and is stopped; look for a loop that starts "
        "them",
        Condition.PROCESSES,
    ),
    "memory-not-limited": RuntimeFault(
        _YELLOW, "the memory could not be limited here ({reason}); " + _BETTER_SANDBOX, Condition.MEMORY
    ),
    "processes-not-limited": RuntimeFault(
        _YELLOW, "the number of processes could not be limited here ({reason}); " + _BETTER_SANDBOX, Condition.PROCESSES
    ),
    "disk-not-limited": RuntimeFault(
        _YELLOW, "what the program writes could not be limited here ({reason}); " + _BETTER_SANDBOX, Condition.DISK
    ),
    "hides-files": RuntimeFault(
        _YELLOW,
        "the program hides open files or memory, so these could not be watched completely; leave that out",
        Condition.DISK,
    ),
    "too-much-disk": RuntimeFault(
        _RED,
        "the program writes more than {size} or {files} files in one game, or hides them, and is stopped; write less, "
        "and into ordinary folders",
        Condition.DISK,
    ),
    "much-disk": RuntimeFault(
        _YELLOW,
        "the program writes {size} in {count} in one game; write less, since that takes time from thinking",
        Condition.DISK,
    ),
    "much-output": RuntimeFault(
        _YELLOW,
        "the program writes {size} to its output in one game; write less, since that takes time from thinking",
        Condition.OUTPUT,
    ),
    "endless-output": RuntimeFault(
        _RED,
        "the program writes {size} to its output in one game; look for an endless loop that prints, and write less",
        Condition.OUTPUT,
    ),
    # -- what the contest does not allow
    "uses-network": RuntimeFault(
        _YELLOW,
        "the program tries to use the network ({reason}); put everything it needs into the ZIP, since the contest has "
        "no Internet",
        Condition.NETWORK,
    ),
    "needs-network": RuntimeFault(
        _RED,
        "the program fails without the Internet ({reason}); put everything it needs into the ZIP",
        Condition.NETWORK,
    ),
    "opens-window": RuntimeFault(
        _YELLOW,
        "the program tries to open a window ({reason}); leave out what draws, since the contest has no screen",
        Condition.WINDOW,
    ),
    "needs-window": RuntimeFault(
        _RED,
        "the program fails because it cannot open a window ({reason}); leave out what draws, since the contest has no "
        "screen",
        Condition.WINDOW,
    ),
    "needs-input": RuntimeFault(
        _RED,
        "the program waits for input or needs a terminal ({reason}); leave out input(), Scanner(System.in) and so on",
        Condition.INPUT,
    ),
    "writes-elsewhere": RuntimeFault(
        _RED,
        "the program fails because it may not write a file ({reason}); write into its own folder or the one for "
        "temporary files",
        Condition.DISK,
    ),
    # -- what is not there
    "options-in-one-word": RuntimeFault(
        _RED,
        '{file} passes all of its options on as one word ("$*"), so the program learns neither host, port nor '
        'reservation ({reason}); write "$@" instead, with which it takes its seat',
    ),
    "wheel-for-other-python": RuntimeFault(
        _RED,
        "the package contains modules for Python {wheel}, but the check used {python} ({reason}); check it in the "
        "image that you choose with the upload, as with --image python:{wheel}, or build it again with the version of "
        "that image after --python-version",
    ),
    "other-python": RuntimeFault(
        _RED,
        "the program is not valid for {python}, which the check used ({reason}); correct it, or if it is written for "
        "another version, check it in the image that you choose with the upload, as with --image python:3.12",
    ),
    "other-spelling": RuntimeFault(
        _RED,
        "the program looks for {name}, but the ZIP has {there} ({reason}); upper and lower case differ on Linux, so "
        "write both alike",
    ),
    "other-place": RuntimeFault(
        _RED,
        "the program looks for {name} in another place than the ZIP has it, which is {there} ({reason}); write paths "
        "that begin at the folder into which the ZIP is unpacked, and ./ before the name of a program",
    ),
    "missing-when-run": RuntimeFault(
        _RED,
        "the program needs something that is neither in the ZIP nor in the image ({reason}); put it into the ZIP, or "
        "choose an image that has it",
    ),
    "not-executable-when-run": RuntimeFault(
        _RED,
        "a second program may not be executed ({reason}), since a ZIP does not store that permission; add "
        "`chmod +x FILE` to the main file",
    ),
    "wrong-format-when-run": RuntimeFault(
        _RED,
        "a second program cannot be executed here ({reason}); compile it for 64-bit Linux (x86-64), and start a JAR "
        "file with java -jar",
    ),
}

CODE_OF_VERDICT: Final[Mapping[str, str]] = {
    Verdict.NO_START: "does-not-start",
    Verdict.NEVER_JOINS: "takes-no-seat",
    Verdict.NONSENSE: "speaks-nonsense",
    Verdict.DIES: "ends-early",
    Verdict.CRASH: "crash",
    Verdict.LEAVES: "leaves",
    Verdict.TAMPERS: "tampers",
    Verdict.TIMEOUT: "timeout",
    Verdict.HANGS: "hangs",
    Verdict.ILLEGAL_MOVE: "illegal-move",
    Verdict.BAD_MESSAGE: "bad-message",
    Verdict.NEVER_ENDS: "does-not-end",
    Verdict.LEFTOVERS: "leaves-processes",
}
"""The code of a fault in a game, by the verdict on it."""


def logs_of(finding: Finding) -> str:
    """Return the folder with the logs of a finding, relative to that of the check; empty if there are none."""
    return finding.file if finding.code in FAULTS else ""


def fault(code: str, folder: str = "", **values: object) -> Finding:
    """Return the finding with this code; `values` are put into the placeholders of its sentence.

    `folder` is where its logs are, relative to the folder of the check; empty if there are none.
    """
    kind = FAULTS[code]
    shown = {name: value if isinstance(value, int) else escaped(str(value)) for name, value in values.items()}
    return Finding(code, kind.level, kind.sentence.format_map(shown), folder, tuple(shown.items()))
