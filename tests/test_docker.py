"""What docker/Dockerfile does, without a container engine: its commands are run outside of a container."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from spielleiter.server.config import load_config
from tests.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Step:
    """One instruction of the Dockerfile. `stage` counts from 0; what comes before the first FROM is in stage -1."""

    stage: int
    keyword: str
    text: str

    @property
    def words(self) -> list[str]:
        """The items of a JSON list, or else the words as a shell splits them."""
        is_json = self.text.startswith("[")
        words: list[str] = json.loads(self.text) if is_json else shlex.split(self.text)
        return words


def read_steps() -> list[Step]:
    """Parse the Dockerfile."""
    text = (ROOT / "docker" / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    steps: list[Step] = []
    stage = -1
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        keyword, _, rest = line.partition(" ")
        stage += keyword == "FROM"
        steps.append(Step(stage, keyword, rest.strip()))
    return steps


STEPS = read_steps()
LAST = STEPS[-1].stage
FINAL = [step for step in STEPS if step.stage == LAST]


def steps_of(keyword: str) -> list[Step]:
    return [step for step in STEPS if step.keyword == keyword]


def final_step(keyword: str) -> Step:
    """Return the only instruction with this keyword in the last stage."""
    (step,) = (step for step in FINAL if step.keyword == keyword)
    return step


COPIES = [step.words for step in steps_of("COPY")]
COPIED = [source for words in COPIES if not words[0].startswith("--") for source in words[:-1]]
COMMANDS = [command.split() for step in steps_of("RUN") for command in step.text.split("&&")]
SETTINGS = dict(word.split("=", 1) for word in final_step("ENV").words if word.startswith("SPIELLEITER_"))
HEALTH_CHECK = json.loads(re.sub(r"^.*?CMD ", "", final_step("HEALTHCHECK").text))


def test_the_settings_are_valid_and_make_the_server_listen_on_all_interfaces(tmp_path: Path) -> None:
    config = load_config({}, SETTINGS, tmp_path)
    assert config.host == "0.0.0.0"
    assert str(config.port) == final_step("EXPOSE").text


@pytest.fixture
def listener() -> Any:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def run_health_check(port: int) -> int:
    """Run the health check for a server on this port, and return its exit code."""
    assert HEALTH_CHECK[0] == "python3"
    environment = {**os.environ, "SPIELLEITER_PORT": str(port)}
    command = [sys.executable, *HEALTH_CHECK[1:]]
    return subprocess.run(
        command, env=environment, stderr=subprocess.DEVNULL, timeout=HANG_TIMEOUT, check=False
    ).returncode


def test_the_health_check_passes_on_an_open_port(listener: socket.socket) -> None:
    assert run_health_check(listener.getsockname()[1]) == 0


def test_the_health_check_fails_on_a_closed_port(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    listener.close()
    assert run_health_check(port) != 0


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
    environment = {**inherited, **SETTINGS, "SPIELLEITER_PORT": "0", "PYTHONPATH": str(site)}
    command = [str(site / "bin" / final_step("ENTRYPOINT").words[0]), *final_step("CMD").words]
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
