"""Findings of games: from records, and of real packages in real sandboxes, each with one planted fault.

What other verdicts become is in a table; that a game gives them is tested with the referee. A limit that a fault does
not reach is as long as a hanging test.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final

import pytest
import trio

import spielleiter.match.match_server
from spielleiter.contest.calibration import Speed
from spielleiter.contest.observed_faults import ObservedConditions
from spielleiter.contest.package_games import (
    GameResult,
    PackageCheckSetup,
    PackageGames,
    affects_game,
    game_findings,
    is_machines_fault,
    merged,
    size_text,
    was_delayed,
)
from spielleiter.contest.package_report import State
from spielleiter.contest.runtime_faults import CODE_OF_VERDICT, FAULTS, fault
from spielleiter.match.plan import ProgramTimeouts
from spielleiter.match.referee import output_files
from spielleiter.match.verdict import UNCOUNTED_VERDICTS, VERDICTS, Verdict
from spielleiter.programs.command import join_command
from spielleiter.programs.contest_conditions import REPORTED, Condition
from spielleiter.programs.machine_delay import AnswerTimes
from spielleiter.programs.packages.package import unpack_package
from spielleiter.programs.sandbox.sandbox import BUBBLEWRAP, NONE, Sandbox, SandboxSettings
from spielleiter.programs.sandbox.sandbox_run import Observations
from spielleiter.programs.this_platform import PLATFORM
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from tests.contest.packages import Planted, make_package
from tests.match.players import LIGHT
from tests.match.sample_records import fault as faulty
from tests.match.sample_records import game
from tests.programs.sandbox.sandboxes import make_sandbox
from tests.timeouts import HANG_TIMEOUT, retry_with_longer_limits

_ONCE: Final = "if moves == 3:\n    "


@dataclass(frozen=True)
class Fault:
    """A planted fault, the code of the finding, and the condition that is then red or yellow.

    It shows in the first `games`, in the sandboxes of these `kinds`. `limits` are those that the fault reaches, in
    seconds: ``move`` and ``exit``. LIMIT in the program is the one for a move.
    """

    code: str
    condition: Condition
    planted: Planted
    kinds: tuple[str, ...] = (NONE,)
    games: int = 1
    limits: Mapping[str, float] = field(default_factory=dict)


_BOTH: Final = (NONE, BUBBLEWRAP)
_CONNECT: Final = "socket.create_connection(('192.0.2.1', 80), 0.3)"
PLANTED: Final[dict[str, Fault]] = {
    "ends too late": Fault("does-not-end", Condition.END, Planted(end="time.sleep(600)"), _BOTH, limits={"exit": 0.2}),
    "leaves a process": Fault(
        "leaves-processes",
        Condition.END,
        Planted(
            end="""
            if os.fork() == 0:
                os.setsid()
                for each in (0, 1, 2): os.close(each)
                time.sleep(600)
            """
        ),
        _BOTH,
    ),
    "needs too much memory": Fault(
        "too-much-memory",
        Condition.MEMORY,
        Planted(move=_ONCE + "kept = [b'x' * (20 * 2**20 + i) for i in range(20)]; time.sleep(1)"),
        _BOTH,
    ),
    "starts too many processes": Fault(
        "too-many-processes",
        Condition.PROCESSES,
        Planted(
            move="""
            if moves == 3:
                for _ in range(300):
                    try: os.fork() or (time.sleep(600), os._exit(0))
                    except OSError: pass  # the system refuses more before the next look
                time.sleep(600)
            """
        ),
        _BOTH,
    ),
    "hides its files": Fault(
        "too-much-disk",
        Condition.DISK,
        Planted(
            move=f"long = 200 * 'd'\n{_ONCE}for _ in range(30): os.mkdir(long) or os.chdir(long)\n"
            "if moves == 4: time.sleep(600)"
        ),
    ),
    "needs the network": Fault("needs-network", Condition.NETWORK, Planted(start=_CONNECT), (BUBBLEWRAP,)),
    "tries the network": Fault(
        "uses-network",
        Condition.NETWORK,
        Planted(start=f"try: {_CONNECT}\nexcept OSError: pass"),
        (BUBBLEWRAP,),
    ),
    "needs a window": Fault(
        "needs-window",
        Condition.WINDOW,
        Planted(start="sys.exit('_tkinter.TclError: no display name and no $DISPLAY environment variable')"),
    ),
    "tries a window": Fault(
        "opens-window",
        Condition.WINDOW,
        Planted(start="print('Error: cannot open display: ', file=sys.stderr, flush=True)"),
    ),
    "waits for input": Fault("needs-input", Condition.INPUT, Planted(start="input('Host? ')")),
    "writes elsewhere": Fault(
        "writes-elsewhere",
        Condition.DISK,
        Planted(start="open('/etc/spielleiter-test.log', 'w').close()"),
        (BUBBLEWRAP,),
    ),
    "prints 60 MB": Fault(
        "endless-output",
        Condition.OUTPUT,
        Planted(move=_ONCE + "for _ in range(60): sys.stdout.write('x' * 99 + '\\n' * 1 + 'y' * (2**20 - 100))"),
    ),
    "crashes in the second game": Fault(
        "crash", Condition.UPLOAD_TEST, Planted(move="""if ' turn="1"' in position: 1 / 0"""), games=2
    ),
    "calls a program without a path": Fault("other-place", Condition.UPLOAD_TEST, Planted(script='player.py "$@"')),
    "moves too slowly": Fault(
        "timeout", Condition.THINK_TIME, Planted(move=_ONCE + "time.sleep(1.5 * LIMIT)"), limits={"move": 0.5}
    ),
}


TITLE = "game 1 as first player"


def test_every_verdict_is_a_fault_the_machines_or_none() -> None:
    assert set(CODE_OF_VERDICT) == set(VERDICTS) - UNCOUNTED_VERDICTS - {Verdict.REGULAR}
    assert set(CODE_OF_VERDICT.values()) <= set(FAULTS)


@pytest.mark.parametrize("verdict", sorted(CODE_OF_VERDICT))
def test_a_verdict_gives_one_finding_with_its_reason(verdict: str, tmp_path: Path) -> None:
    record = faulty(1, 0, verdict, reason="because\x1b of that")
    [finding] = game_findings(record, None, TITLE, tmp_path / "upload-test")
    assert finding.code == CODE_OF_VERDICT[verdict]
    assert finding.text.startswith(f"{TITLE}: ")
    assert r"because\x1b of that" in finding.text
    assert finding.file == f"upload-test/{record.folder}"


@pytest.mark.parametrize("verdict", sorted(UNCOUNTED_VERDICTS))
def test_faults_of_the_machine_are_none_of_the_program(verdict: str, tmp_path: Path) -> None:
    record = game(1, None, verdict=verdict, is_counted=False)
    assert is_machines_fault(record)
    assert game_findings(record, None, TITLE, tmp_path) == ()


def test_a_fault_of_the_opponent_says_nothing_about_the_program(tmp_path: Path) -> None:
    record = faulty(1, 1, Verdict.CRASH)
    assert is_machines_fault(record)
    assert game_findings(record, None, TITLE, tmp_path) == ()


def test_what_the_sandbox_observed_explains_a_crash(tmp_path: Path) -> None:
    record = faulty(1, 0, Verdict.CRASH, reason="ended by signal 9")
    memory = Observations("none", peak_memory=2 * 2**30, exceeded_memory=True)
    window = Observations("none", window_attempts=("Error: cannot open display: ",))
    assert [each.code for each in game_findings(record, memory, TITLE, tmp_path)] == ["too-much-memory"]
    assert "2.00 GB" in game_findings(record, memory, TITLE, tmp_path)[0].text
    assert [each.code for each in game_findings(record, window, TITLE, tmp_path)] == ["needs-window"]
    assert [each.code for each in game_findings(record, Observations("none"), TITLE, tmp_path)] == ["crash"]


WHEEL = "ERROR: socha-5.1.0-cp312-cp312-manylinux1_x86_64.whl is not a supported wheel on this platform."


@pytest.mark.parametrize(
    ("line", "code", "text"),
    [
        (WHEEL, "wheel-for-other-python", "--image python:3.12, or build it again with the version of that image"),
        (WHEEL.replace("312", "311"), "does-not-start", "game 1 as first player"),  # a wheel for another system
        (WHEEL.replace("socha", "s" * 5000), "does-not-start", "game 1 as first player"),
        ("SyntaxError: invalid syntax", "other-python", "not valid for Python 3.11.7, which the check used"),
        ("ModuleNotFoundError: No module named 'Book'", "other-spelling", "looks for Book, but the ZIP has book.py"),
        ("ModuleNotFoundError: No module named 'numpy'", "missing-when-run", "neither in the ZIP nor in the image"),
    ],
)
def test_the_last_words_name_what_to_do(line: str, code: str, text: str, tmp_path: Path) -> None:
    record = faulty(1, 0, Verdict.NO_START, reason="ended with exit code 1")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "book.py").touch()
    _, error = output_files(tmp_path / record.folder, 0)
    error.parent.mkdir(parents=True)
    error.write_text(f"    0.010  {line}\n")
    [finding] = game_findings(
        record, None, TITLE, tmp_path, program_folder=tmp_path / "package", python="Python 3.11.7"
    )
    assert finding.code == code
    assert text in finding.text


@pytest.mark.parametrize(
    ("verdict", "offender", "answers", "is_delayed"),
    [
        (Verdict.TIMEOUT, 0, [AnswerTimes(0.1, 0.1), AnswerTimes(2.05, 0.01, waited=0.12)], True),  # it sleeps 1.9 s
        (Verdict.TIMEOUT, 0, [AnswerTimes(2.05, 2.0, waited=0.02)], False),  # as on an idle machine
        (Verdict.TIMEOUT, 0, [AnswerTimes(2.5, 2.2, waited=0.3)], False),  # too slow without waiting, too
        (Verdict.TIMEOUT, 0, [], False),
        (Verdict.TIMEOUT, 1, [AnswerTimes(2.05, 0.01, waited=0.12)], False),
        (Verdict.ILLEGAL_MOVE, 0, [AnswerTimes(2.05, 0.01, waited=0.12)], False),
    ],
)
def test_a_late_answer_of_a_program_that_had_to_wait_says_nothing(
    verdict: str, offender: int, answers: list[AnswerTimes], is_delayed: bool
) -> None:
    assert was_delayed(faulty(1, offender, verdict), answers, limit=2.0) == is_delayed


def test_equal_faults_are_merged() -> None:
    one, two = (fault("crash", game=f"game {number}", reason="x") for number in (1, 2))
    other = fault("does-not-end", game="game 1", reason="y")
    assert merged([one, other]) == (one, other)
    first, second = merged([one, other, two])
    assert (first.text, second) == (f"{one.text}; the same happened once more", other)
    assert merged([one, two, two])[0].text.endswith("; the same happened 2 more times")


@pytest.mark.parametrize(
    ("size", "text"),
    [(1, "1 byte"), (1023, "1023 bytes"), (2048, "2 kB"), (5 * 2**20, "5 MB"), (1536 * 2**20, "1.50 GB")],
)
def test_sizes_are_readable(size: int, text: str) -> None:
    assert size_text(size) == text


pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("python_on_the_path", "short_games", "players")]

MEMORY_HERE = 160 * 1024 * 1024
PROCESSES_HERE = 60
NO_LIMITS: Mapping[str, float] = MappingProxyType({})


class Played:
    """Games of a package, and what the report says about the conditions that were watched."""

    def __init__(self, results: tuple[GameResult, ...], observed: ObservedConditions) -> None:
        self.results = results
        self.watched = {each.key: found for each in REPORTED if (found := observed.result(each)) is not None}
        of_games = [finding for each in results for finding in each.findings]
        self.findings = [*of_games, *(finding for each in self.watched.values() for finding in each.findings)]
        self.conditions = {key for key, each in self.watched.items() if each.findings}
        """The keys of the conditions with findings, among them the games' own condition."""
        if any(map(affects_game, of_games)):
            self.conditions.add(Condition.UPLOAD_TEST.key)


def games_of(
    folder: Path, planted: Planted, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, limits: Mapping[str, float]
) -> PackageGames:
    """Return what plays games of a package with this fault."""
    monkeypatch.setattr(spielleiter.match.match_server, "choose_sandbox", lambda *_: sandbox)
    path = make_package(folder / "player.zip", planted)
    package = unpack_package(path, folder / "program")
    setup = PackageCheckSetup(
        path,
        DEFAULT_GAME_TYPE,
        sandbox=SandboxSettings(sandbox.name),
        soft_timeout=limits.get("move", HANG_TIMEOUT),
        hard_timeout=HANG_TIMEOUT,
        timeouts=ProgramTimeouts(HANG_TIMEOUT, limits.get("exit", HANG_TIMEOUT), HANG_TIMEOUT),
    )
    return PackageGames(setup, join_command(package.words), package.folder, folder / "out", 1.0)


async def play(
    folder: Path,
    planted: Planted,
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
    games: int = 1,
    limits: Mapping[str, float] = NO_LIMITS,
) -> Played:
    """Play games of a package with this fault; assert that no process is left."""
    sandbox = make_sandbox(kind, MEMORY_HERE)
    monkeypatch.setattr("spielleiter.programs.sandbox.sandbox_run.PROCESS_LIMIT", PROCESSES_HERE)
    player = games_of(folder, planted, sandbox, monkeypatch, limits)
    # what cannot be limited without a sandbox is a warning in every report
    gaps = dict(sandbox.gaps)
    gaps.pop(Condition.DISK, None)
    observed = ObservedConditions(Speed(0.001, is_measured=False), gaps)
    with trio.fail_after(HANG_TIMEOUT):
        results = await player.play(Condition.UPLOAD_TEST.key, f"{LIGHT} first", games, lambda _: None)
    observed.add_games(results)
    assert PLATFORM.find_tagged(str(folder)) == ()
    return Played(results, observed)


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name, fault in PLANTED.items() for kind in fault.kinds])
async def test_a_fault_is_named_by_its_own_code(
    name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a limit for moves, the game is repeated with a longer one if another move has exceeded it."""
    fault = PLANTED[name]

    async def attempt(scale: float) -> None:
        limits = {limit: seconds * scale for limit, seconds in fault.limits.items()}
        move = fault.planted.move.replace("LIMIT", str(limits.get("move")))
        place = tmp_path / str(scale)
        place.mkdir()
        planted = dataclasses.replace(fault.planted, move=move)
        played = await play(place, planted, kind, monkeypatch, fault.games, limits)
        codes = {each.code for each in played.findings}
        if "move" not in fault.limits:
            codes.discard("nearly-too-slow")  # on a busy machine
        assert codes == {fault.code}
        assert fault.condition.key in played.conditions
        for finding in played.findings:
            assert ";" in finding.text, "says what to do"
            assert "\n" not in finding.text

    await retry_with_longer_limits(attempt, 1.0) if "move" in fault.limits else await attempt(1.0)


@pytest.mark.parametrize("kind", _BOTH)
async def test_a_sound_program_has_no_fault(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It writes a file, prints a little, has a child, and asks for nothing that the contest does not have."""
    busy = Planted(
        start="""
        open("log.txt", "w").write("hello")
        print("hello", file=sys.stderr)
        if os.fork() == 0:
            os._exit(0)
        os.wait()
        """
    )
    played = await play(tmp_path, busy, kind, monkeypatch, games=2)
    assert played.findings == []
    assert not any(each.is_undecided for each in played.results)
    states = {key: each.state for key, each in played.watched.items()}
    unknown = {"start"} | ({"network", "disk"} if kind == NONE else set())
    assert {key for key, state in states.items() if state is State.NOT_CHECKED} == unknown
    assert all(state is State.GREEN for key, state in states.items() if key not in unknown)
    if kind == BUBBLEWRAP:
        assert "1 file" in played.watched["disk"].text
    assert [each.game.replay for each in played.results] != ["", ""]


async def test_a_fixed_port_is_noticed_when_two_games_run_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both programs try to take the same name, which is free as long as one of them runs alone."""
    name = f"\\0{tmp_path}"
    taken = Planted(
        start=f"""
        lock = socket.socket(socket.AF_UNIX)
        lock.bind({name!r}.replace("\\\\0", chr(0)))
        """,
        move="if moves == 1: time.sleep(2)",
    )
    games = games_of(tmp_path, taken, make_sandbox(NONE), monkeypatch, NO_LIMITS)
    with trio.fail_after(HANG_TIMEOUT):
        results = await games.play_two_at_once("two-games", f"{LIGHT} first")
    assert sorted(len(each.findings) for each in results) == [0, 1]


_BURN = """
def burn(seconds, clock=time.process_time):
    end = clock() + seconds
    while clock() < end:
        pass
"""


async def test_a_late_answer_is_measured_like_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether this machine has delayed it is known only then."""
    planted = Planted(start=_BURN, move="burn(0.3)")
    [result] = (await play(tmp_path, planted, NONE, monkeypatch, limits={"move": 0.2})).results
    assert len(result.answers) == len(result.record.think_times[0]) == 1
    assert result.answers[0].processor >= 0.2
    assert result.answers[0].seconds > 0.2


async def test_each_answer_has_its_own_processor_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not that of the start, nor that of other answers; sleeping takes none, and children count."""
    planted = Planted(
        start=f"{_BURN}burn(0.4)",
        move="""
            if moves == 1:
                time.sleep(0.5)
            elif moves == 2:
                burn(0.3)
            elif moves == 3:
                if not (child := os.fork()):
                    burn(0.3)
                    os._exit(0)
                os.waitpid(child, 0)
        """,
    )
    [result] = (await play(tmp_path, planted, NONE, monkeypatch)).results
    assert len(result.answers) == len(result.record.think_times[0])
    asleep, computing, waiting_for_a_child, *others = result.answers
    assert asleep.seconds >= 0.5
    assert asleep.processor < 0.2
    assert computing.processor >= 0.25
    assert waiting_for_a_child.processor >= 0.25
    assert sum(each.processor for each in others) < 0.3
    assert all(each.waited <= each.seconds for each in result.answers)
