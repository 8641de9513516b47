"""Containers: what an engine is asked for. The engine is a script that records its arguments.

Real engines run in tests/programs/sandbox/test_sandbox_run.py and test_games.py, where this machine has them.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from spielleiter.common.errors import SetupError
from spielleiter.programs.contest_conditions import Condition
from spielleiter.programs.platform_api import ProcessSpec
from spielleiter.programs.sandbox.containers import ContainerSandbox, engine_problem
from spielleiter.programs.sandbox.sandbox import Layout
from spielleiter.programs.temporary_folders import new_label

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the engine is a shell script")

Engine = Callable[..., Path]

DOCKER_INFO = json.dumps({"ServerErrors": None})
PODMAN_CONTROLLERS = '["cpu","memory","pids"]'


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Return a function that puts an engine on the PATH, and returns the file with its command lines."""
    programs, log = tmp_path / "programs", tmp_path / "log"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")

    def make(
        name: str = "docker",
        info: str = DOCKER_INFO,
        controllers: str = PODMAN_CONTROLLERS,
        architecture: str = "amd64",
        names: str = "",
        status: int = 0,
    ) -> Path:
        """`status` is the exit code of `info`; without an architecture, there is no image."""
        script = f"""#!/bin/sh
echo "$@" >>{shlex.quote(str(log))}
case "$*" in
info*Controllers*) echo {shlex.quote(controllers)} ;;
info*) echo {shlex.quote(info)}; [ {status} = 0 ] || echo 'no daemon here' >&2; exit {status} ;;
image*) [ -n "{architecture}" ] || exit 1; echo "{architecture}" ;;
ps*) echo "{names}" ;;
esac
"""
        (programs / name).write_text(script)
        (programs / name).chmod(0o755)
        return log

    return make


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    root = tmp_path / "run"
    folders = [root / name for name in ("program", "home", "tmp", "control")]
    for folder in folders:
        folder.mkdir(parents=True)
    program, home, temporary, control = folders
    return Layout(root, program, home, temporary, control, "spielleiter-1-2-ab")


def spec_of(sandbox: ContainerSandbox, layout: Layout, inner: tuple[str, ...] = ("inner",)) -> list[str]:
    spec = sandbox.process_spec(ProcessSpec(["./bot"], "/elsewhere", {"A": "b"}), inner, {"B": "c"}, layout)
    assert (spec.cwd, spec.environment) == (str(layout.root), {**os.environ, "A": "b"})  # the engine's own
    return list(spec.arguments)


def values_of(arguments: list[str], option: str) -> list[str]:
    return [value for name, value in itertools.pairwise(arguments) if name == option]


@pytest.mark.parametrize(("name", "info", "user"), [("docker", DOCKER_INFO, "1000:100"), ("podman", "{}", "keep-id")])
def test_a_container_has_the_contests_limits(
    name: str, info: str, user: str, engine: Engine, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.getuid", lambda: 1000)
    monkeypatch.setattr("os.getgid", lambda: 100)
    engine(name, info)
    sandbox = ContainerSandbox(name, "python:3.12")
    arguments = spec_of(sandbox, layout, ("first", "socket"))
    assert arguments[:2] == [name, "run"]
    assert {"--rm", "--interactive", "--read-only"} < set(arguments)
    expected = {
        "--name": [layout.label],
        "--label": [f"spielleiter.run={layout.label}"],
        "--network": ["none"],
        "--hostname": ["player"],
        "--add-host": ["player:127.0.1.1", "gameserver:127.0.0.2"],
        "--cpus": ["1"],
        "--memory": [f"{1536 * 1024 * 1024}b"],
        "--memory-swap": [f"{1536 * 1024 * 1024}b"],
        "--pids-limit": ["512"],
        "--cap-drop": ["ALL"],
        "--security-opt": ["no-new-privileges", "label=disable"],
        "--pull": ["never"],
        "--workdir": ["/player"],
        "--user" if name == "docker" else "--userns": [user],
    }
    assert {option: values_of(arguments, option) for option in expected} == expected
    mounts = values_of(arguments, "--mount")
    assert f"type=bind,source={layout.program},target=/player" in mounts
    assert f"type=bind,source={layout.temporary},target=/tmp" in mounts
    assert all(mount.endswith(",readonly") for mount in mounts if "/.spielleiter/python" in mount)
    image = arguments.index("python:3.12")
    assert arguments[image - 2] == "--entrypoint"
    assert arguments[-2:] == ["first", "socket"]
    assert set(sandbox.gaps) == {Condition.SPEED}
    assert not sandbox.watches_memory


def test_full_memory_is_known_even_if_nothing_inside_can_report_it(engine: Engine, layout: Layout) -> None:
    """The kernel may also kill the process inside that would report it. Podman's monitor leaves a file then."""
    engine("podman", "{}")
    container = ContainerSandbox("podman", "python:3.12").open_resources(layout)
    assert container.exceeded() == ""
    (layout.root / "oom").touch()
    assert container.exceeded() == "memory"
    container.release()


def test_what_the_engine_cannot_limit_is_watched_and_another_processor_is_a_gap(engine: Engine, layout: Layout) -> None:
    engine("podman", "{}", controllers="null", architecture="arm64")
    sandbox = ContainerSandbox("podman", "image")
    odd = dataclasses.replace(layout, program=Path("/a,b"))
    arguments = spec_of(sandbox, odd)
    assert sandbox.watches_memory
    assert not {"--cpus", "--memory", "--memory-swap"} & set(arguments)
    assert 'type=bind,"source=/a,b",target=/player' in arguments
    assert sandbox.gaps[Condition.PLATFORM] == "The image image is not for x86-64 but for arm64."


def test_a_virtual_machine_reaches_the_server_through_its_gateway(
    engine: Engine, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine()
    monkeypatch.setattr(ContainerSandbox, "has_helper", False)
    sandbox = ContainerSandbox("docker", "image")
    arguments = spec_of(sandbox, layout, ("./bot", "-h", "gameserver"))
    assert values_of(arguments, "--network") == []
    assert values_of(arguments, "--add-host") == ["player:127.0.1.1", "gameserver:host-gateway"]
    assert [each for each in arguments if ".spielleiter" in each] == []
    assert arguments[-5:] == ["--entrypoint", "./bot", "image", "-h", "gameserver"]
    assert values_of(arguments, "--env") == ["B=c"]
    assert not sandbox.has_own_name_spaces
    assert "the Internet" in sandbox.gaps[Condition.NETWORK]


@pytest.mark.slow
def test_a_container_is_removed_after_its_run_or_by_a_later_process(engine: Engine, layout: Layout) -> None:
    stale, running = new_label().replace(f"-{os.getpid()}-", "-999999999-"), new_label()
    of_another_name_space = "spielleiter-1-999999999-5-ab"
    log = engine(names=f"{stale} {running} {of_another_name_space} other")
    sandbox = ContainerSandbox("docker", "image")
    assert log.read_text().splitlines()[-1] == f"rm --force --volumes {stale}"
    resources = sandbox.open_resources(layout)
    assert layout.label not in log.read_text()
    resources.release()
    assert log.read_text().splitlines()[-1] == f"rm --force --volumes {layout.label}"


@pytest.mark.parametrize(
    ("info", "status", "problem"),
    [
        (DOCKER_INFO, 0, ""),
        (json.dumps({"ServerErrors": ["Cannot connect to the daemon."]}), 0, "Cannot connect to the daemon."),
        ("{}", 1, "no daemon here."),
        ("nonsense", 0, ""),
    ],
)
def test_an_engine_that_does_not_work_says_why(info: str, status: int, problem: str, engine: Engine) -> None:
    engine("docker", info, status=status)
    assert engine_problem("docker") == (f"docker does not work here: {problem}" if problem else "")


@pytest.mark.parametrize(
    ("image", "problem"),
    [
        ("missing", "docker has no image 'missing' on this machine; fetch it first: docker pull missing"),
        ("--privileged", "'--privileged': is not the name of an image, expected one such as python:3.12"),
    ],
)
def test_an_image_has_to_be_there(image: str, problem: str, engine: Engine) -> None:
    engine(architecture="")
    with pytest.raises(SetupError) as refused:
        ContainerSandbox("docker", image)
    assert str(refused.value) == problem
