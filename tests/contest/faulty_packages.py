"""Programs with one planted fault each, and the code by which the check names it.

Every fault shows in one or two games, without a sandbox, unless it concerns something that only a sandbox forbids. A
limit that the fault does not reach is as long as a hanging test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from spielleiter.contest.contest_conditions import (
    DISK,
    END,
    INPUT,
    MEMORY,
    NETWORK,
    OUTPUT,
    PROCESSES,
    THINK_TIME,
    UPLOAD_TEST,
    WINDOW,
    ContestCondition,
)
from tests.contest.packages import Planted

_ONCE: Final = "if moves == 3:\n    "


@dataclass(frozen=True)
class Fault:
    """A planted fault, the code of the finding, and the condition that is then red or yellow.

    With `needs_isolation`, it shows only in a sandbox that keeps the condition. It shows in the first `games`. `limits`
    are those that the fault reaches, in seconds: ``move``, ``hard``, ``start`` and ``exit``. LIMIT in the program is
    the one for a move.
    """

    code: str
    condition: ContestCondition
    planted: Planted
    needs_isolation: bool = False
    games: int = 1
    limits: Mapping[str, float] = field(default_factory=dict)


FAULTS: Final[dict[str, Fault]] = {
    "ends too late": Fault("does-not-end", END, Planted(end="time.sleep(600)"), limits={"exit": 0.2}),
    "leaves a process": Fault(
        "leaves-processes",
        END,
        Planted(
            end="""
            if os.fork() == 0:
                os.setsid()
                for each in (0, 1, 2): os.close(each)
                time.sleep(600)
            """
        ),
    ),
    "needs too much memory": Fault(
        "too-much-memory",
        MEMORY,
        Planted(move=_ONCE + "kept = [b'x' * (20 * 2**20 + i) for i in range(20)]; time.sleep(1)"),
    ),
    "starts too many processes": Fault(
        "too-many-processes",
        PROCESSES,
        Planted(move=_ONCE + "for _ in range(6000): os.fork() or time.sleep(600)"),
    ),
    "hides its files": Fault(
        "too-much-disk",
        DISK,
        Planted(move=_ONCE + "for _ in range(3000): os.mkdir('d') or os.chdir('d')\nif moves == 4: time.sleep(600)"),
    ),
    "runs out of memory": Fault("out-of-memory", MEMORY, Planted(move=_ONCE + "raise MemoryError")),
    "needs the network": Fault(
        "needs-network",
        NETWORK,
        Planted(start="socket.create_connection(('192.0.2.1', 80), 0.3)\n"),
        needs_isolation=True,
    ),
    "tries the network": Fault(
        "uses-network",
        NETWORK,
        Planted(
            start="""
            try:
                socket.create_connection(("192.0.2.1", 80), 0.3)
            except OSError:
                pass
            """
        ),
        needs_isolation=True,
    ),
    "needs a window": Fault(
        "needs-window",
        WINDOW,
        Planted(start="sys.exit('_tkinter.TclError: no display name and no $DISPLAY environment variable')"),
    ),
    "tries a window": Fault(
        "opens-window", WINDOW, Planted(start="print('Error: cannot open display: ', file=sys.stderr, flush=True)")
    ),
    "makes an illegal move": Fault(
        "illegal-move", UPLOAD_TEST, Planted(move="move = move.replace('x=\"', 'x=\"1').replace('y=\"', 'y=\"1')")
    ),
    "sends no move": Fault("bad-message", UPLOAD_TEST, Planted(move="move = move.replace('2027', '1999')")),
    "sends no XML": Fault("bad-message", UPLOAD_TEST, Planted(move="move = '<<<' + move")),
    "waits for input": Fault("needs-input", INPUT, Planted(start="input('Host? ')")),
    "needs a terminal": Fault("needs-input", INPUT, Planted(start="os.get_terminal_size(0)")),
    "writes elsewhere": Fault(
        "writes-elsewhere", DISK, Planted(start="open('/etc/spielleiter-test.log', 'w').close()"), needs_isolation=True
    ),
    "prints 100 MB": Fault(
        "endless-output",
        OUTPUT,
        Planted(move=_ONCE + "for _ in range(100): sys.stdout.write('x' * 99 + '\\n' * 1 + 'y' * (2**20 - 100))"),
    ),
    "crashes in the second game": Fault(
        "crash",
        UPLOAD_TEST,
        Planted(move="""if ' turn="1"' in position: 1 / 0"""),
        games=2,
    ),
    "ends before the game": Fault("does-not-start", UPLOAD_TEST, Planted(start="sys.exit(3)")),
    "connects to no server": Fault("wrong-server", UPLOAD_TEST, Planted(start="options['port'] = '1'")),
    "never takes its seat": Fault(
        "takes-no-seat", UPLOAD_TEST, Planted(start="time.sleep(600)"), limits={"start": 1.0}
    ),
    "sends nonsense": Fault(
        "speaks-nonsense",
        UPLOAD_TEST,
        Planted(
            start="""
            server = socket.create_connection((options["host"], int(options["port"])))
            server.sendall(b"hello?")
            time.sleep(600)
            """
        ),
    ),
    "ends during the game": Fault("ends-early", UPLOAD_TEST, Planted(move=_ONCE + "sys.exit(0)")),
    "is killed": Fault("crash", UPLOAD_TEST, Planted(move=_ONCE + "os.kill(os.getpid(), 11)")),
    "leaves the game": Fault(
        "leaves",
        UPLOAD_TEST,
        Planted(move=_ONCE + "server.shutdown(socket.SHUT_RDWR); time.sleep(600)"),
        limits={"exit": 0.2},
    ),
    "needs a module": Fault("missing-when-run", UPLOAD_TEST, Planted(start="import numpy_is_not_here")),
    "calls a program that is not there": Fault(
        "missing-when-run", UPLOAD_TEST, Planted(start="sys.exit(os.system('./no-such-program') and 1)")
    ),
    "calls a program without a path": Fault("other-place", UPLOAD_TEST, Planted(script='player.py "$@"')),
    "starts a JAR file without Java": Fault(
        "wrong-format-when-run",
        UPLOAD_TEST,
        Planted(script='printf "PK\\003\\004" > bot.jar; chmod +x bot.jar; exec ./bot.jar "$@"'),
    ),
    "calls a second program without chmod": Fault(
        "not-executable-when-run", UPLOAD_TEST, Planted(start="sys.exit(os.system('./player.py') and 1)")
    ),
    "moves too slowly": Fault(
        "timeout", THINK_TIME, Planted(move=_ONCE + "time.sleep(1.5 * LIMIT)"), limits={"move": 1.0}
    ),
    "hangs": Fault("hangs", THINK_TIME, Planted(move=_ONCE + "time.sleep(600)"), limits={"move": 1.0, "hard": 2.0}),
}
