"""The sandboxes of this machine, and programs that run in them, for tests.

Containers are made from an image that these tests build from one static program (busybox), without a network.
"""

from __future__ import annotations

import copy
import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest
import trio

from spielleiter.programs.program import Program
from spielleiter.programs.sandbox.bubblewrap import BubblewrapSandbox, bubblewrap_problem
from spielleiter.programs.sandbox.containers import ENGINES, ContainerSandbox, engine_problem, limit_options
from spielleiter.programs.sandbox.plain import PlainSandbox
from spielleiter.programs.sandbox.pythons import python_inside, python_outside
from spielleiter.programs.sandbox.sandbox import BUBBLEWRAP, MEMORY_LIMIT, NONE, Sandbox
from spielleiter.programs.sandbox.sandbox_run import Observations, SandboxRun, open_run
from spielleiter.programs.this_platform import PLATFORM
from tests.timeouts import HANG_TIMEOUT

KINDS: Final = (NONE, BUBBLEWRAP, *ENGINES)
ISOLATED: Final = (BUBBLEWRAP, *ENGINES)

_COMMANDS: Final = ("sh", "cat", "echo", "sleep", "touch", "id", "kill", "ls", "env")
_HELPER: Final = "helper.py"


def make_sandbox(kind: str, memory: int = MEMORY_LIMIT) -> Sandbox:
    """Return the sandbox of this kind, or skip the test and say what this machine lacks."""
    if kind == NONE:
        return PlainSandbox(memory=memory)
    if kind == BUBBLEWRAP:
        if problem := bubblewrap_problem():
            pytest.skip(f"no bubblewrap: {problem}")
        return BubblewrapSandbox(memory)
    container = copy.copy(_container(kind))
    container.memory = memory
    return container


@functools.cache
def _container(engine: str) -> ContainerSandbox:
    """What is found out of an engine takes half a second of processor time."""
    return ContainerSandbox(engine, image_of(engine))


_images: dict[str, str] = {}


def image_of(engine: str) -> str:
    """Return the image of these tests, or skip the test and say why there is none."""
    if engine not in _images:
        if problem := engine_problem(engine):
            pytest.skip(f"no container: {problem}")
        busybox = shutil.which("busybox")
        if busybox is None:
            pytest.skip("no container: busybox is not installed")
        _images[engine] = _build_image(engine, Path(busybox))
    return _images[engine]


def _build_image(engine: str, busybox: Path) -> str:
    image = f"spielleiter-test-{os.getpid()}"
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        (root / "bin").mkdir(parents=True)
        shutil.copy(busybox, root / "bin" / "busybox")
        for name in _COMMANDS:
            (root / "bin" / name).symlink_to("busybox")
        for name in ("proc", "sys", "dev", "tmp", "etc"):
            (root / name).mkdir()
        tar = Path(folder, "image.tar")
        subprocess.run(["tar", "-C", str(root), "-cf", str(tar), "."], check=True)
        done = subprocess.run([engine, "import", str(tar), image], check=False, capture_output=True, text=True)
    if done.returncode:  # such as Podman for a user without subordinate ids
        pytest.skip(f"no container: {engine} cannot import an image here: {done.stderr.strip()}")
    run = [engine, "run", "--rm", "--network", "none", *limit_options(), image, "sh", "-c", "exit 0"]
    done = subprocess.run(run, check=False, capture_output=True, text=True)
    if done.returncode:
        subprocess.run([engine, "rmi", "--force", image], check=False, capture_output=True)
        pytest.skip(f"no container: {engine} cannot run one here: {done.stderr.strip()}")
    return image


def remove_images() -> None:
    """Remove the images that this process has built."""
    for engine, image in _images.items():
        subprocess.run([engine, "rmi", "--force", image], check=False, capture_output=True)
    _images.clear()


def python(sandbox: Sandbox, code: str) -> list[str]:
    """Return the command line that runs Python code inside the sandbox, with the folder of the program as sys.path."""
    command = python_inside().command if sandbox.name != NONE else tuple(python_outside())
    end = next(index for index, word in enumerate(command) if word == "-I")
    return [*command[:end], "-S", "-B", "-c", code]


@dataclass
class Ran:
    """A program that has ended in its sandbox."""

    program: Program
    observations: Observations
    output: list[str]
    error: list[str]
    received: list[bytes] = field(default_factory=list)


async def run_in(
    sandbox: Sandbox,
    folder: Path,
    arguments: Sequence[str],
    while_running: Callable[[SandboxRun, Program], Awaitable[None]] | None = None,
) -> Ran:
    """Run a program that lies in `folder / "package"`; assert that nothing of it is left."""
    package = folder / "package"
    package.mkdir(exist_ok=True)
    out, error = folder / "out", folder / "error"
    async with open_run(sandbox, package) as run:
        scratch = run.folder
        program = Program(arguments, str(folder), out, error, cwd=str(package), confinement=run)
        with trio.fail_after(HANG_TIMEOUT):
            async with trio.open_nursery() as nursery:
                await nursery.start(program.run)
                if while_running is not None:
                    await while_running(run, program)
        observations = run.observe((out, error), program.output_size)
    assert not scratch.exists()
    assert PLATFORM.find_tagged(str(folder)) == ()
    return Ran(program, observations, _lines(out), _lines(error))


def _lines(path: Path) -> list[str]:
    return [line[11:] for line in path.read_text().splitlines()]
