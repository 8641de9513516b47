"""docker/Dockerfile and docker/match.compose.yaml, without a container engine: their commands are run as processes."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from spielleiter.server.config import load_config
from tests.interpreter import PACKAGES
from tests.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).parents[1]


def read_steps() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile: keyword and text."""
    text = (ROOT / "docker" / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    found = (line.partition(" ") for line in "\n".join(lines).replace("\\\n", " ").splitlines())
    return [(keyword, rest.strip()) for keyword, _, rest in found]


def words(command: str | list[str]) -> list[str]:
    """The items of a list, which may be JSON, or else the words as a shell splits them."""
    if isinstance(command, str):
        found: list[str] = json.loads(command) if command.startswith("[") else shlex.split(command)
        return found
    return command


STEPS = read_steps()
LAST = dict(STEPS)
"""The last instruction with each keyword, which is in the last stage."""
COPIES = [words(text) for keyword, text in STEPS if keyword == "COPY"]
COPIED = [source for copy in COPIES if not copy[0].startswith("--") for source in copy[:-1]]
COMMANDS = [command.split() for keyword, text in STEPS if keyword == "RUN" for command in text.split("&&")]
SETTINGS = dict(word.split("=", 1) for word in words(LAST["ENV"]) if word.startswith("SPIELLEITER_"))
HEALTH_CHECK = json.loads(re.sub(r"^.*?CMD ", "", LAST["HEALTHCHECK"]))


def test_the_settings_are_valid_and_make_the_server_listen_on_all_interfaces(tmp_path: Path) -> None:
    config = load_config({}, SETTINGS, tmp_path)
    assert config.host == "0.0.0.0"
    assert str(config.port) == LAST["EXPOSE"]


def run_health_check(port: int) -> int:
    """Run the health check for a server on this port, and return its exit code."""
    assert HEALTH_CHECK[0] == "python3"
    environment = {**os.environ, "SPIELLEITER_PORT": str(port)}
    command = [sys.executable, *HEALTH_CHECK[1:]]
    return subprocess.run(
        command, env=environment, stderr=subprocess.DEVNULL, timeout=HANG_TIMEOUT, check=False
    ).returncode


@pytest.mark.slow
def test_a_wheel_built_from_the_copied_files_serves_and_stops_as_in_the_image(tmp_path: Path) -> None:
    build, site, home = tmp_path / "build", tmp_path / "site", tmp_path / "srv"
    for folder in (build, home):
        folder.mkdir()
    for source in COPIED:
        target = build / source
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(ROOT / source, target)
    (hatchling,) = (command for command in COMMANDS if "hatchling" in command)
    subprocess.run([sys.executable, *hatchling[1:]], cwd=build, check=True, capture_output=True, timeout=HANG_TIMEOUT)
    (wheel,) = (build / "dist").glob("*.whl")
    install = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", str(site), str(wheel)]
    subprocess.run(install, check=True, capture_output=True, timeout=HANG_TIMEOUT)

    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SPIELLEITER_")}
    environment = {
        **inherited,
        **SETTINGS,
        "SPIELLEITER_RECENT_GAMES": "0",
        "SPIELLEITER_PORT": "0",
        "PYTHONPATH": str(site),
    }
    command = [str(site / "bin" / words(LAST["ENTRYPOINT"])[0]), *words(LAST["CMD"])]
    with subprocess.Popen(
        command, cwd=home, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        try:
            assert server.stdout
            output = []
            for line in server.stdout:
                output.append(line)
                if "server_started" in line:
                    break
            port = re.search(r"0\.0\.0\.0:(\d+)", output[-1])
            assert port, output
            assert run_health_check(int(port[1])) == 0
            server.send_signal(signal.SIGTERM)
            output += server.stdout
            assert server.wait(timeout=HANG_TIMEOUT) == 0, output
        finally:
            server.kill()
    assert "server_stopped" in output[-1]
    assert run_health_check(int(port[1])) != 0


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
        serve = ["spielleiter", *words(LAST["CMD"])]
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
            lent = running(["spielleiter", *shlex.split(command)], environment, folder, "offering ")
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
