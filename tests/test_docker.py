"""The image, read instead of built: the steps of the Dockerfile and the lines of the compose file fit the project."""

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
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[1]
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
HATCH: dict[str, Any] = PYPROJECT["tool"]["hatch"]["build"]
INCLUDED: list[str] = HATCH["targets"]["wheel"]["only-include"]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Step:
    """One instruction; `stage` counts from 0, arguments before the first FROM are in stage -1."""

    stage: int
    keyword: str
    text: str

    @property
    def words(self) -> list[str]:
        """The JSON form if it is one, else the words as a shell would see them."""
        is_json = self.text.startswith("[")
        words: list[str] = json.loads(self.text) if is_json else shlex.split(self.text)
        return words


def read_steps() -> list[Step]:
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


def all_of(keyword: str) -> list[Step]:
    return [step for step in STEPS if step.keyword == keyword]


def only(keyword: str) -> Step:
    (step,) = (step for step in FINAL if step.keyword == keyword)
    return step


COPIES = [step.words for step in all_of("COPY")]
COPIED = [source for words in COPIES if not words[0].startswith("--") for source in words[:-1]]
COMMANDS = [command.split() for step in all_of("RUN") for command in step.text.split("&&")]
SETTINGS = dict(word.split("=", 1) for word in only("ENV").words if word.startswith("SPIELLEITER_"))
HEALTH_CHECK = json.loads(re.sub(r"^.*?CMD ", "", only("HEALTHCHECK").text))


# -- how it is made -----------------------------------------------------------------------------------------------


def test_every_stage_stands_on_one_precise_release_of_a_supported_python() -> None:
    (base,) = all_of("ARG")
    release = re.fullmatch(r"PYTHON_IMAGE=python:(3\.\d+)\.\d+-slim-[a-z]+", base.text)
    assert release
    assert f"Programming Language :: Python :: {release[1]}" in PYPROJECT["project"]["classifiers"]
    assert {step.words[0] for step in all_of("FROM")} == {"${PYTHON_IMAGE}"}


def test_the_files_of_the_wheel_are_copied() -> None:
    assert set(COPIED) == {
        *INCLUDED,
        *("pyproject.toml", HATCH["targets"]["wheel"]["hooks"]["custom"]["path"]),
        *(PYPROJECT["project"]["readme"], *PYPROJECT["project"]["license-files"]),
        *("requirements/build.lock", "requirements/runtime.lock"),
    }


@pytest.mark.parametrize("source", COPIED)
def test_what_is_copied_is_there_and_let_through(source: str) -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    first, *deeper = Path(source).parts
    assert (ROOT / source).exists()
    assert f"!{first}/" in ignored if deeper or (ROOT / source).is_dir() else f"!{first}" in ignored


def test_nothing_else_is_let_through() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    let_through = {line.strip("!/") for line in ignored if line.startswith("!")}
    assert "*" in ignored
    assert let_through == {Path(source).parts[0] for source in COPIED}


def test_whatever_is_installed_is_locked_or_ours() -> None:
    installing = [command for command in COMMANDS if "install" in command and Path(command[0]).name == "pip"]
    assert installing
    for command in installing:
        options = command[command.index("install") + 1 :]
        is_locked = options[:2] == ["--require-hashes", "-r"] and options[2] in COPIED
        assert is_locked or options == ["--no-deps", "dist/*.whl"]


def test_only_the_servers_environment_is_in_the_image() -> None:
    copied = [words for words in COPIES if words[0] == "--from=build"]
    assert copied == [["--from=build", "/opt/spielleiter", "/opt/spielleiter"]]
    assert [step.words[0] for step in FINAL if step.keyword == "COPY"] == ["--from=build"]
    assert ["python3", "-m", "venv", "--without-pip", "/opt/spielleiter"] in COMMANDS


# -- what it does -------------------------------------------------------------------------------------------------


def test_it_runs_as_a_user_that_owns_the_replays_and_nothing_else() -> None:
    user, group = only("USER").text.split(":")
    assert int(user) > 0
    assert int(group) > 0
    assert [step.text for step in FINAL if step.keyword == "RUN"] == [f"install -d -o {user} -g {group} /replays"]
    keywords = [step.keyword for step in FINAL]
    assert keywords.index("USER") > keywords.index("RUN")


def test_its_settings_are_known_and_open_it_to_all_interfaces(tmp_path: Path) -> None:
    config = load_config({}, SETTINGS, tmp_path)
    assert config.host == "0.0.0.0"
    assert str(config.port) == only("EXPOSE").text


def test_its_command_reaches_the_server_without_a_shell_between() -> None:
    (script,) = only("ENTRYPOINT").words
    assert script in PYPROJECT["project"]["scripts"]
    assert only("ENTRYPOINT").text.startswith("[")
    assert only("CMD").words == ["serve"]


@pytest.fixture
def listener() -> Any:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def health_of(port: int) -> int:
    assert HEALTH_CHECK[0] == "python3"
    environment = {**os.environ, "SPIELLEITER_PORT": str(port)}
    command = [sys.executable, *HEALTH_CHECK[1:]]
    return subprocess.run(command, env=environment, stderr=subprocess.DEVNULL, timeout=PATIENCE, check=False).returncode


def test_the_health_check_finds_an_open_port(listener: socket.socket) -> None:
    assert health_of(listener.getsockname()[1]) == 0


def test_the_health_check_finds_a_closed_port(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    listener.close()
    assert health_of(port) != 0


def test_the_health_check_looks_at_the_default_port() -> None:
    assert f"'SPIELLEITER_PORT', '{Config().port}'" in HEALTH_CHECK[-1]


# -- compose ------------------------------------------------------------------------------------------------------


def test_compose_builds_this_image() -> None:
    build = COMPOSE["services"]["server"]["build"]
    context = (ROOT / "docker" / build["context"]).resolve()
    assert context == ROOT
    assert (context / build["dockerfile"]).is_file()


def test_compose_publishes_on_this_machine_unless_told_otherwise() -> None:
    assert COMPOSE["services"]["server"]["ports"] == [f"${{PUBLISH:-127.0.0.1:{Config().port}}}:{only('EXPOSE').text}"]


def test_compose_takes_the_password_from_the_environment_and_keeps_replays_in_a_volume(tmp_path: Path) -> None:
    server = COMPOSE["services"]["server"]
    settings = server["environment"]
    assert settings["SPIELLEITER_PASSWORD"].startswith("${SPIELLEITER_PASSWORD:?")
    config = load_config({}, {**SETTINGS, **settings}, tmp_path)
    assert config.password != DEFAULT_PASSWORD
    assert server["volumes"] == [f"replays:{config.replay_directory}"]
    assert list(COMPOSE["volumes"]) == ["replays"]


def test_compose_waits_longer_than_the_server_needs_to_stop() -> None:
    period = re.fullmatch(r"(\d+)s", COMPOSE["services"]["server"]["stop_grace_period"])
    assert period
    assert int(period[1]) >= 2 * Config().grace


# -- all of it, but for the container -----------------------------------------------------------------------------


@pytest.mark.slow
def test_the_wheel_of_the_copied_files_serves_and_stops_as_in_the_image(tmp_path: Path) -> None:
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
    subprocess.run([sys.executable, *hatchling[1:]], cwd=build, check=True, capture_output=True, timeout=PATIENCE)
    (wheel,) = (build / "dist").glob("*.whl")
    install = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", str(site), str(wheel)]
    subprocess.run(install, check=True, capture_output=True, timeout=PATIENCE)

    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SPIELLEITER_")}
    environment = {**inherited, **SETTINGS, "SPIELLEITER_PORT": "0", "PYTHONPATH": str(site)}
    command = [str(site / "bin" / only("ENTRYPOINT").words[0]), *only("CMD").words]
    with subprocess.Popen(
        command, cwd=home, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        try:
            assert server.stdout
            said = []
            for line in server.stdout:
                said.append(line)
                if "server_started" in line:
                    break
            port = re.search(r"0\.0\.0\.0:(\d+)", said[-1])
            assert port, said
            assert health_of(int(port[1])) == 0
            server.send_signal(signal.SIGTERM)
            said += server.stdout
            assert server.wait(timeout=PATIENCE) == 0, said
        finally:
            server.kill()
    assert "server_stopped" in said[-1]
