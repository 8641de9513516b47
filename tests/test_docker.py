"""docker/Dockerfile and docker/compose.yaml, checked against the project without a container engine.

The files are parsed, and the commands of the image are run outside of a container.
"""

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
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from spielleiter.protocol.defaults import DEFAULT_PASSWORD
from spielleiter.server.config.config import Config, load_config
from tests.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).parents[1]
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
HATCH: dict[str, Any] = PYPROJECT["tool"]["hatch"]["build"]
INCLUDED: list[str] = HATCH["targets"]["wheel"]["only-include"]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text(encoding="utf-8"))


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


# -- building the image --------------------------------------------------------------------------------------------


def test_all_stages_are_based_on_the_same_release_of_a_supported_python() -> None:
    base, lock = steps_of("ARG")
    assert lock.text == "LOCK=runtime"
    release = re.fullmatch(r"PYTHON_IMAGE=python:(3\.\d+)\.\d+-slim-[a-z]+", base.text)
    assert release
    assert f"Programming Language :: Python :: {release[1]}" in PYPROJECT["project"]["classifiers"]
    assert {step.words[0] for step in steps_of("FROM")} == {"${PYTHON_IMAGE}"}


def test_all_files_that_the_wheel_needs_are_copied() -> None:
    assert set(COPIED) == {
        *INCLUDED,
        *("pyproject.toml", HATCH["targets"]["wheel"]["hooks"]["custom"]["path"]),
        *(PYPROJECT["project"]["readme"], *PYPROJECT["project"]["license-files"]),
        *("requirements/build.lock", "requirements/runtime.lock", "requirements/cluster.lock"),
    }


@pytest.mark.parametrize("source", COPIED)
def test_copied_files_exist_and_are_not_ignored(source: str) -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    first, *deeper = Path(source).parts
    assert (ROOT / source).exists()
    assert f"!{first}/" in ignored if deeper or (ROOT / source).is_dir() else f"!{first}" in ignored


def test_all_other_files_are_ignored() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    included = {line.strip("!/") for line in ignored if line.startswith("!")}
    assert "*" in ignored
    assert included == {Path(source).parts[0] for source in COPIED}


def test_only_locked_packages_and_the_project_are_installed() -> None:
    installing = [command for command in COMMANDS if "install" in command and Path(command[0]).name == "pip"]
    assert installing
    for command in installing:
        options = [word.replace("${LOCK}", "cluster") for word in command[command.index("install") + 1 :]]
        is_locked = options[:2] == ["--require-hashes", "-r"] and options[2] in COPIED
        assert is_locked or options == ["--no-deps", "dist/*.whl"]


def test_the_image_contains_only_the_environment_of_the_server() -> None:
    copied = [words for words in COPIES if words[0] == "--from=build"]
    assert copied == [["--from=build", "/opt/spielleiter", "/opt/spielleiter"]]
    assert [step.words[0] for step in FINAL if step.keyword == "COPY"] == ["--from=build"]
    assert ["python3", "-m", "venv", "--without-pip", "/opt/spielleiter"] in COMMANDS


# -- running the image ----------------------------------------------------------------------------------------------


def test_the_server_runs_as_a_user_that_owns_only_the_folder_of_replays() -> None:
    user, group = final_step("USER").text.split(":")
    assert int(user) > 0
    assert int(group) > 0
    assert [step.text for step in FINAL if step.keyword == "RUN"] == [f"install -d -o {user} -g {group} /replays"]
    keywords = [step.keyword for step in FINAL]
    assert keywords.index("USER") > keywords.index("RUN")


def test_the_settings_are_valid_and_make_the_server_listen_on_all_interfaces(tmp_path: Path) -> None:
    config = load_config({}, SETTINGS, tmp_path)
    assert config.host == "0.0.0.0"
    assert str(config.port) == final_step("EXPOSE").text


def test_the_entry_point_starts_the_server_without_a_shell() -> None:
    (script,) = final_step("ENTRYPOINT").words
    assert script in PYPROJECT["project"]["scripts"]
    assert final_step("ENTRYPOINT").text.startswith("[")
    assert final_step("CMD").words == ["serve"]


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


def test_the_health_check_uses_the_default_port() -> None:
    assert f"'SPIELLEITER_PORT', '{Config().port}'" in HEALTH_CHECK[-1]


# -- compose ------------------------------------------------------------------------------------------------------


def test_compose_builds_this_image() -> None:
    build = COMPOSE["services"]["server"]["build"]
    context = (ROOT / "docker" / build["context"]).resolve()
    assert context == ROOT
    assert (context / build["dockerfile"]).is_file()


def test_compose_publishes_the_port_on_this_machine_by_default() -> None:
    assert COMPOSE["services"]["server"]["ports"] == [
        f"${{PUBLISH:-127.0.0.1:{Config().port}}}:{final_step('EXPOSE').text}"
    ]


def test_compose_takes_the_password_from_the_environment_and_keeps_replays_in_a_volume(tmp_path: Path) -> None:
    server = COMPOSE["services"]["server"]
    settings = server["environment"]
    assert settings["SPIELLEITER_PASSWORD"].startswith("${SPIELLEITER_PASSWORD:?")
    config = load_config({}, {**SETTINGS, **settings}, tmp_path)
    assert config.password != DEFAULT_PASSWORD
    assert server["volumes"] == [f"replays:{config.replay_directory}"]
    assert list(COMPOSE["volumes"]) == ["replays"]


def test_compose_waits_longer_than_the_grace_period_before_it_kills() -> None:
    period = re.fullmatch(r"(\d+)s", COMPOSE["services"]["server"]["stop_grace_period"])
    assert period
    assert int(period[1]) >= 2 * Config().grace


# -- the whole image without a container --------------------------------------------------------------------------


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
