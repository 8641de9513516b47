"""docker/match.compose.yaml, run without a container engine.

Its commands are run as processes, in which addresses replace the names of the services.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.interpreter import PACKAGES
from tests.test_docker import ROOT, final_step
from tests.timeouts import HANG_TIMEOUT

TEXT = (ROOT / "docker" / "match.compose.yaml").read_text(encoding="utf-8")
PROGRAMS = ("program1", "program2")


def load(environment: Mapping[str, str]) -> dict[str, Any]:
    """Parse the file as compose does: ${NAME:-DEFAULT} and ${NAME:?MESSAGE} are replaced by variables first."""

    def substitute(found: re.Match[str]) -> str:
        name, operator, rest = found.groups()
        assert operator == "-" or name in environment, rest
        return environment.get(name) or rest

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: walk(item) for key, item in value.items()}
        if isinstance(value, list):
            return [walk(item) for item in value]
        return re.sub(r"\$\{(\w+):([-?])([^}]*)\}", substitute, value) if isinstance(value, str) else value

    loaded: dict[str, Any] = walk(yaml.safe_load(TEXT))
    return loaded


def words(command: str | list[str]) -> list[str]:
    return shlex.split(command) if isinstance(command, str) else command


PASSWORD = {"SPIELLEITER_PASSWORD": "secret"}
SERVICES: dict[str, Any] = load(PASSWORD)["services"]


def test_programs_can_connect_to_the_server_and_to_nothing_else() -> None:
    loaded = load(PASSWORD)
    assert loaded["networks"] == {"match": {"internal": True}}
    for service in SERVICES.values():
        assert service["networks"] == ["match"]
        assert "ports" not in service
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]


@contextmanager
def running(command: list[str], environment: Mapping[str, str], folder: Path, ready: str) -> Iterator[str]:
    """Run a service as a process, and yield its port, which it prints in a line that contains `ready`."""
    with subprocess.Popen(
        [sys.executable, "-P", "-m", *command], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True,
        stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            output = [process.stdout.readline()]
            while ready not in output[-1]:
                output.append(process.stdout.readline())
                assert output[-1], output
            port = re.search(r"127\.0\.0\.1(?::| port )(\d+)", output[-1])
            assert port, output
            yield port[1]
        finally:
            process.kill()


def play(folder: Path, **choices: str) -> subprocess.CompletedProcess[str]:
    """Run all services without containers, and return the finished process of `match`."""
    services = load({**PASSWORD, **choices})["services"]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SPIELLEITER_")}
    base = {**inherited, "PYTHONPATH": PACKAGES, "PATH": f"{Path(sys.executable).parent}:{inherited['PATH']}"}
    with ExitStack() as stack:
        ports = {}
        server = {**base, **services["server"]["environment"], "SPIELLEITER_PORT": "0"}
        serve = ["spielleiter", *final_step("CMD").words]
        ports["server:13050"] = stack.enter_context(running(serve, server, folder, "server_started"))
        for name in PROGRAMS:
            command = " ".join(shlex.quote(word) for word in words(services[name]["command"]))
            for before, after in (
                ("0.0.0.0", "127.0.0.1"),
                ("--port 13051", "--port 0"),
                ("host server", "host 127.0.0.1"),
            ):
                assert before in command
                command = command.replace(before, after)
            environment = {**base, **services[name]["environment"]}
            lent = running(["spielleiter", *shlex.split(command)], environment, folder, "lends ")
            ports[f"{name}:13051"] = stack.enter_context(lent)
        text = services["match"]["command"]
        for address, port in ports.items():
            assert address in text
            text = text.replace(address, f"127.0.0.1:{port}")
        return subprocess.run(
            [sys.executable, "-P", "-m", "spielleiter", *words(text)], cwd=folder, timeout=HANG_TIMEOUT, check=False,
            env={**base, **services["match"]["environment"]}, capture_output=True, text=True,
        )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("choices", "code"),
    [
        ({"GAMES": "2", "NAME1": "a long name", "PLAYER1": "builtin:first"}, 0),
        ({"GAMES": "1", "PLAYER2": "builtin:crash", "MATCH_OPTIONS": "--fail-on crash --exit-timeout 1"}, 3),
    ],
)
def test_a_match_is_played_and_its_exit_code_is_the_result(tmp_path: Path, choices: dict[str, str], code: int) -> None:
    done = play(tmp_path, **choices)
    assert done.returncode == code, done.stdout + done.stderr
    [folder] = tmp_path.glob("match-*")
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert summary["names"] == [choices.get("NAME1", "player1"), "player2"]
    assert summary["counted"] == summary["played"] == int(choices["GAMES"])
    outputs = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("games/*/program1.std*.log"))]
    assert "".join(outputs).count("room ") == int(choices["GAMES"])
    assert summary["programs"][1]["crashes"] == (1 if code else 0)
