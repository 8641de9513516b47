"""Imports every module and runs the commands, where Windows and a console with code page 850 are simulated.

Run as a script, with a folder for its files as the argument. Writes one JSON object with what was found.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

import spielleiter

assert sys.platform == "win32", "PYTHONPATH must name the folder of this file"

PATIENT = [
    word
    for name in ("soft", "hard", "start", "exit")
    for word in (f"--{name}-timeout", str(300 * (1000 if name in {"soft", "hard"} else 1)))
]
PLAYER = """\
import sys
from spielleiter.client import play_game
play_game(lambda state: next(iter(state.generate_legal_moves())), port=int(sys.argv[4]), reservation_code=sys.argv[6])
"""


def import_everything() -> dict[str, str]:
    """Return what each module raised that could not be imported, by its name."""
    failed = {}
    for module in pkgutil.walk_packages(spielleiter.__path__, "spielleiter."):
        # Alembic runs env.py, within a context of its own
        if not module.name.endswith(("__main__", "migrations.env")):
            try:
                importlib.import_module(module.name)
            except Exception as error:
                failed[module.name] = repr(error)
    return failed


def help_of_everything() -> dict[str, int]:
    """Return the exit code of `--help` of each command, by the words of the command."""
    from spielleiter.cli.cli import cli

    def walk(command: click.Command, words: tuple[str, ...]) -> None:
        codes[" ".join(words)] = run(*words, "--help")
        if isinstance(command, click.Group):
            with click.Context(command) as context:
                for name in command.list_commands(context):
                    found = command.get_command(context, name)
                    assert found is not None
                    walk(found, (*words, name))

    codes: dict[str, int] = {}
    walk(cli, ())
    return codes


def run(*words: str) -> int:
    """Run a command in this process and return its exit code; 99 for an exception."""
    from spielleiter.cli.cli import main

    sys.argv = ["spielleiter", *words]
    click.echo(f"$ {' '.join(words)}")
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 99
    return 0


def serve_a_game(folder: Path) -> list[int]:
    """Start a server in a process of its own, play a game on it, and return the exit codes of the two players."""
    command = [sys.executable, "-P", "-m", "spielleiter"]
    options = ["serve", "--port", "0", "--viewer", "off", "--log-format", "json", "--save-replay", str(folder)]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as server:
        assert server.stdout is not None
        try:
            events = map(json.loads, server.stdout)
            seen, port = [], ""
            for event in events:
                seen.append(event["event"])
                if event["event"] == "server_started":
                    port = event["addresses"][0].rpartition(":")[2]
                    break
            assert "time_stamps_missing" in seen, seen
            play = [*command, "play", "-s", "random", "--seed", "1", "-p", port]
            players = [subprocess.Popen(play) for _ in range(2)]
            return [player.wait() for player in players]
        finally:
            server.terminate()


def run_package(folder: Path, report: str, without: str = "") -> int:
    """Check the contest package, with its report as JSON; the program `without` is not on the PATH."""
    path = os.environ["PATH"]
    os.environ["SIMULATED_JOBS"] = str(folder / "jobs")
    if without:
        os.environ["PATH"] = str(folder / "bin")
    try:
        return run("check", str(folder / "player.zip"), "--json", str(folder / report), *PATIENT)
    finally:
        os.environ["PATH"] = path
        del os.environ["SIMULATED_JOBS"]


def main(folder: Path) -> dict[str, Any]:
    (folder / "Jörgs Spieler").mkdir()
    (folder / "Jörgs Spieler" / "bot.py").write_text(PLAYER, encoding="utf-8")
    (folder / "nachher.py").write_text("import sys\nopen(__file__ + '.log', 'w').write(str(len(sys.argv)))\n")
    found: dict[str, Any] = {"failed imports": import_everything(), "help": help_of_everything()}
    match = folder / "Ergebnis für später"
    commands: dict[str, Callable[[], Any]] = {
        "demo": lambda: run("demo", "--seed", "1"),
        "match": lambda: run(
            *("match", "--player1", str(folder / "Jörgs Spieler" / "bot.py"), "--player2", "builtin:random"),
            *("-n", "2", "--seed", "1", *PATIENT, "--out", str(match)),
            *("--on-end", f'"{folder / "nachher.py"}" fertig'),
        ),
        "check": lambda: run("check", "builtin:first", *PATIENT),
        "replay": lambda: run("replay", str(next(match.rglob("replay*.xml*"))), "--text"),
        "html": lambda: run("replay", str(next(match.rglob("replay*.xml*"))), "--html", str(folder / "größe.html")),
        "package": lambda: run_package(folder, "report.json"),
        "package without sh": lambda: run_package(folder, "missing.json", without="sh"),
        "bench": lambda: run("bench"),
        "serve": lambda: serve_a_game(folder / "replays"),
    }
    for name, command in commands.items():
        found[name] = command()
    found["verdicts"] = [
        json.loads(line)["verdict"] for line in (match / "games.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    found["on end"] = (folder / "nachher.py.log").read_text(encoding="utf-8")
    found["replays"] = sorted(path.name for path in (folder / "replays").glob("*.xml"))
    return found


if __name__ == "__main__":
    target = Path(sys.argv[1])
    (target / "found.json").write_text(json.dumps(main(target)), encoding="utf-8")
