"""Records what an official server says in many conversations (scenarios.py)."""

import gzip
import random
import shutil
import socket
import subprocess
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import trio

from tools.season.altered_moves import AlteredMoves
from tools.season.release import Release
from tools.season.rules import Rules, open_rules
from tools.season.scenarios import ALONE, TOGETHER, Scenario, WrongMoves, whole_game
from tools.season.table import Table, Transcript

_LARGE = 100_000
"""Characters from which a recording is compressed."""


class Server:
    """An official server on a port of this machine."""

    def __init__(self, process: "subprocess.Popen[str]", port: int) -> None:
        self._process = process
        self.port = port

    def seed(self, seed: int) -> None:
        """Let what it draws from now on follow from the seed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{seed}\n")
        self._process.stdin.flush()
        while (line := self._process.stdout.readline()) != "seeded\n":
            if not line or line.startswith("not seeded"):
                raise ConnectionError(f"the server takes no seed: {line.strip() or 'it has ended'}")

    def is_busy(self) -> bool:
        """Whether a thread of it runs or waits for a processor. Always false where the system does not say it."""
        for task in Path(f"/proc/{self._process.pid}/task").glob("*/stat"):
            with suppress(OSError):  # the thread has ended
                if task.read_text("utf-8").rpartition(")")[2].split()[0] == "R":
                    return True
        return False


@contextmanager
def serve(release: Release) -> Iterator[Server]:
    """Start the release's server on a free port, with its usual settings, and end it with the block.

    Raises ReleaseError if nothing is built in the release's folder, ConnectionError if the server does not start.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = release.folder / f"run-{port}"
    home.mkdir(exist_ok=True)
    (home / "server.properties").write_text("password = examplepassword\npaused = false\n", "utf-8")
    command = release.java("Chance", "sc.server.Application", "--port", str(port))
    with subprocess.Popen(
        command, cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8"
    ) as process:
        try:
            server = Server(process, port)
            server.seed(0)
            yield server
        finally:
            process.kill()
            shutil.rmtree(home, ignore_errors=True)


def record(
    release: Release,
    out: Path,
    *,
    whole_games: int,
    wrong_moves: int,
    seed: int,
    only: str,
    say: Callable[[str], None],
    player: Callable[[int], Callable[[str], str]] | None = None,
) -> None:
    """Hold all conversations, and write each into a file: `cases/NAME.txt`, `games/NUMBER.txt.gz` in the folder `out`.

    `whole_games` are recorded beside the cases, `wrong_moves` games end with a move that the rules refuse. The starts
    of the games, and the moves, follow from `seed`. `only` is the beginning of the names of cases that are wanted.
    `say` gets a line for each conversation. `player` makes from a seed what chooses the moves of team TWO in the games.
    """
    with open_rules(release) as rules, serve(release) as server:
        trio.run(_Recorder(release, server, rules, out, seed, say, player).run, whole_games, wrong_moves, only)


class _Recorder:
    def __init__(
        self,
        release: Release,
        server: Server,
        rules: Rules,
        out: Path,
        seed: int,
        say: Callable[[str], None],
        player: Callable[[int], Callable[[str], str]] | None,
    ) -> None:
        self._player = player
        self._release = release
        self._server = server
        self._rules = rules
        self._out = out
        self._seed = seed
        self._say = say
        self._door, self._start = trio.Lock(), trio.Lock()
        self._game_type = str(rules.ask("start", str(seed))["game"])
        self._wrong = WrongMoves(AlteredMoves(random.Random(seed)))

    async def run(self, whole_games: int, wrong_moves: int, only: str) -> None:
        await _until_open(self._server.port)
        await self._hold("", whole_game)  # what is slow at first is slow in no recording
        cases = {**ALONE, **TOGETHER}
        for number in range(wrong_moves):
            cases[f"illegal_{number:02}"] = self._wrong.illegal_move
        for number in range(wrong_moves // 4):
            cases[f"unusual_{number:02}"] = self._wrong.unusual_move
        cases |= {f"game_{number:03}": whole_game for number in range(whole_games)}
        chosen = {name: scenario for name, scenario in cases.items() if name.startswith(only)}
        for name in [each for each in chosen if each in ALONE]:
            await self._hold(name, chosen.pop(name))
        limit = trio.CapacityLimiter(6)
        async with trio.open_nursery() as nursery:
            for name, scenario in chosen.items():
                await limit.acquire_on_behalf_of(name)
                nursery.start_soon(self._hold_and_release, name, scenario, limit)

    async def _hold_and_release(self, name: str, scenario: Scenario, limit: trio.CapacityLimiter) -> None:
        try:
            await self._hold(name, scenario)
        finally:
            limit.release_on_behalf_of(name)

    async def _hold(self, name: str, scenario: Scenario) -> None:
        seed = zlib.crc32(f"{self._seed} {name}".encode())  # the same whatever else is recorded
        transcript = Transcript(
            [
                f"{name} (release {self._release.version}): {scenario.__doc__}",
                f"the random start is drawn from the seed {seed} (tools/season/driver/Chance.java); ids are masked",
            ]
        )

        def make_start() -> None:
            self._server.seed(seed)
            table.rules.start(seed)
            transcript.heads.append(f"start: {table.rules.position(exact=True)['exact']}")

        problem = ""
        async with trio.open_nursery() as nursery:
            table = Table(
                nursery,
                self._server.port,
                self._door,
                self._start,
                self._rules,
                self._game_type,
                transcript,
                random.Random(seed),
                make_start,
                self._server.is_busy,
                self._player(seed) if self._player and scenario is whole_game else None,
            )
            try:
                await scenario(table)
            except (EOFError, AssertionError, trio.TooSlowError) as error:
                problem = f"{type(error).__name__}: {error}"
                transcript.heads.append(f"ended by a problem of the recorder: {problem.splitlines()[0]}")
            await table.leave()
            nursery.cancel_scope.cancel()
        if name:
            self._write(name, str(transcript))
            self._say(f"{name}: {problem or 'recorded'}")

    def _write(self, name: str, text: str) -> None:
        folder = self._out / ("games" if name.startswith(("game_", "whole_game")) else "cases")
        folder.mkdir(parents=True, exist_ok=True)
        if len(text) < _LARGE:
            (folder / f"{name}.txt").write_text(text, "utf-8")
        else:
            (folder / f"{name}.txt.gz").write_bytes(gzip.compress(text.encode("utf-8"), mtime=0))


async def _until_open(port: int) -> None:
    with trio.fail_after(120):
        while True:
            try:
                stream = await trio.open_tcp_stream("127.0.0.1", port)
            except OSError:
                await trio.sleep(0.2)
            else:
                await stream.aclose()
                return
