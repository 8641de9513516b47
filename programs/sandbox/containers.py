"""A sandbox that is a container of Docker or Podman, made from an image that is already on this machine.

On Linux the container has no network, and ends with this process: the process inside is its first process and notices
that. Each container is removed by `--rm`, once more by its name when its run is over or this process is gone, and by
its label when the next sandbox is made. On other systems the engine runs in a virtual machine, out of which no socket
can be handed: the server listens on 127.0.0.1, and the container reaches it through the engine's gateway.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

from spielleiter.common.errors import SetupError
from spielleiter.programs.contest_conditions import Condition
from spielleiter.programs.platform_api import ProcessSpec
from spielleiter.programs.sandbox.pythons import PythonInside, python_inside
from spielleiter.programs.sandbox.sandbox import (
    DOCKER,
    MEMORY_LIMIT,
    PODMAN,
    PROCESS_LIMIT,
    PROGRAM_ADDRESS,
    PROGRAM_HOST,
    SERVER_ADDRESS,
    SLOWER,
    X86_64,
    Layout,
    Resources,
    Sandbox,
    mounted_folders,
    run_briefly,
)
from spielleiter.programs.sandbox.sandbox_run import UNREACHABLE_DNS
from spielleiter.programs.temporary_folders import is_stale

ENGINES: Final = (DOCKER, PODMAN)
LABEL: Final = "spielleiter.run"
"""The label of our containers; its value is the run's label."""

_TIMEOUT: Final = 60.0  # seconds for an engine to answer
_OOM_FILE: Final = "oom"
"""What Podman's monitor creates in its working directory if the program has exceeded the memory."""
_USER_PROCESS_LIMIT: Final = 4096
"""The processes that the user may have, wherever they run; `PROCESS_LIMIT` is for those of the program."""
_REMOVE: Final = 'read -r _; exec "$@" >/dev/null 2>&1'  # read ends when the pipe is closed


class ContainerSandbox(Sandbox):
    """Programs run in containers. Blocks for a moment. Raises SetupError if `engine` cannot run `image`."""

    shows_cgroup = True

    def __init__(self, engine: str, image: str, memory: int = MEMORY_LIMIT) -> None:
        super().__init__(memory)
        self.name = engine
        self.python_description = f"the Python of the image {image}"
        self.has_own_name_spaces = self.has_helper
        self._engine = engine
        self._image = image
        self._helper_python: PythonInside | None = python_inside() if self.has_helper else None
        if image.startswith("-"):
            raise SetupError(f"{image!r}: is not the name of an image, expected one such as python:3.12")
        code, output = run_briefly([engine, "image", "inspect", "--format", "{{.Architecture}}", image], _TIMEOUT)
        if code:
            raise SetupError(f"{engine} has no image {image!r} on this machine; fetch it first: {engine} pull {image}")
        architecture = output.strip()
        controllers: Any = ("cpu", "memory")
        if engine != DOCKER:
            code, output = run_briefly([engine, "info", "--format", "{{json .Host.CgroupControllers}}"], _TIMEOUT)
            try:
                controllers = json.loads(output) if code == 0 else ()
            except ValueError:
                controllers = ()
            controllers = controllers if isinstance(controllers, list) else ()
        self._limits_processor, self._limits_memory = "cpu" in controllers, "memory" in controllers
        self.gaps = {Condition.SPEED: SLOWER}
        if not self.has_helper:
            self.gaps[Condition.NETWORK] = (
                f"{engine} runs in a virtual machine here; a container that reaches the server reaches the Internet."
            )
            self.gaps[Condition.DISK] = f"{engine} runs in a virtual machine here; what is written is not watched."
        self.watches_memory = not self._limits_memory
        if architecture not in X86_64:
            self.gaps[Condition.PLATFORM] = f"The image {image} is not for x86-64 but for {architecture}."
        remove_stale(engine)

    def folders(self, layout: Layout) -> Layout:
        return mounted_folders(layout)

    def process_spec(
        self, spec: ProcessSpec, words: Sequence[str], variables: Mapping[str, str], layout: Layout
    ) -> ProcessSpec:
        inside = self.folders(layout)
        options = ["--rm", "--interactive", "--name", layout.label, "--label", f"{LABEL}={layout.label}"]
        options += ["--pull", "never", "--log-driver", "none"]
        options += ["--hostname", PROGRAM_HOST, "--add-host", f"{PROGRAM_HOST}:{PROGRAM_ADDRESS}"]
        if self.has_own_name_spaces:
            resolver = layout.root / "resolv.conf"
            resolver.write_text(UNREACHABLE_DNS, encoding="ascii")
            options += ["--network", "none", "--add-host", f"{self.host}:{SERVER_ADDRESS[0]}"]
            options += _mount(str(resolver), "/etc/resolv.conf", is_read_only=True)
        else:
            options += ["--add-host", f"{self.host}:host-gateway"]
        if self._limits_processor:
            options += ["--cpus", "1"]
        if self._limits_memory:
            options += ["--memory", f"{self.memory}b", "--memory-swap", f"{self.memory}b"]
        options += ["--read-only", "--pids-limit", str(PROCESS_LIMIT), "--cap-drop", "ALL"]
        options += ["--security-opt", "no-new-privileges", "--security-opt", "label=disable"]
        if sys.platform != "win32":  # the user who runs the match, so that the files of the run are the program's own
            keeps_user = self._engine == PODMAN and os.getuid() != 0
            options += ["--userns", "keep-id"] if keeps_user else ["--user", f"{os.getuid()}:{os.getgid()}"]
        options += limit_options()
        for name in ("program", "home", "temporary"):
            options += _mount(str(getattr(layout, name)), str(getattr(inside, name)))
        if self._helper_python:
            options += _mount(str(layout.control), str(inside.control), is_read_only=True)
        for path_inside, path_outside in (self._helper_python.mounts if self._helper_python else {}).items():
            options += _mount(path_outside, path_inside, is_read_only=True)
        arguments = [self._engine, "run", *options, "--workdir", str(inside.program)]
        if self._helper_python is None:
            command = list(words)
            for name, value in variables.items():
                arguments += ["--env", f"{name}={value}"]
        else:
            command = [*self._helper_python.command, *words]
        entry, *rest = command
        arguments += ["--entrypoint", entry, self._image, *rest]
        # The engine may need any variable of this process; none of them reaches the program. Podman's monitor creates
        # _OOM_FILE in its working directory; nothing inside can write there.
        environment = {**os.environ, **spec.environment}
        return dataclasses.replace(spec, arguments=arguments, cwd=str(layout.root), environment=environment)

    def open_resources(self, layout: Layout) -> Resources:
        return _Container(self._engine, layout)


class _Container(Resources):
    """Says whether the memory of a container was full, and removes it.

    A process of its own removes it, even if this one is killed.
    """

    def __init__(self, engine: str, layout: Layout) -> None:
        self._oom_file = layout.root / _OOM_FILE
        command = [engine, "rm", "--force", "--volumes", layout.label]
        self._command = command
        self._remover: subprocess.Popen[bytes] | None = None
        if os.name == "posix":
            self._remover = subprocess.Popen(  # noqa: S603 - a fixed script
                ["/bin/sh", "-c", _REMOVE, "sh", *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl+C in the terminal must not end it
            )

    def exceeded(self) -> str:
        # The kernel frees a killed program's memory late, and may also kill the process inside that would report it
        return Condition.MEMORY.key if self._oom_file.exists() else ""

    def release(self) -> None:
        if self._remover is None:
            run_briefly(self._command, _TIMEOUT)
            return
        assert self._remover.stdin is not None
        self._remover.stdin.close()
        try:
            self._remover.wait(_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._remover.kill()
            self._remover.wait()


def engine_problem(engine: str) -> str:
    """Return in one sentence why a container engine cannot be used; empty if it can. Blocks for a moment."""
    if shutil.which(engine) is None:
        return f"{engine} is not installed."
    code, output = run_briefly([engine, "info", "--format", "{{json .}}"], _TIMEOUT)
    if code:
        lines = output.strip().splitlines()
        error = lines[-1].strip().rstrip(".") if lines else "it gives no reason"
    elif engine == DOCKER:  # an older client exits with 0 although there is no server
        try:
            described: Any = json.loads(output)
        except ValueError:
            return ""
        errors = described.get("ServerErrors") if isinstance(described, dict) else None
        error = str(errors[0]) if errors else ""
    else:
        return ""
    if error and not error.endswith((".", "?", "!")):
        error += "."
    return f"{engine} does not work here: {error}" if error else ""


def remove_stale(engine: str) -> None:
    """Remove the containers of earlier runs whose process is gone."""
    code, output = run_briefly(
        [engine, "ps", "--all", "--filter", f"label={LABEL}", "--format", "{{.Names}}"], _TIMEOUT
    )
    names = [name for name in output.split() if is_stale(name)] if code == 0 else []
    if names:
        run_briefly([engine, "rm", "--force", "--volumes", *names], _TIMEOUT)


def limit_options() -> list[str]:
    """Return limits that this process may set; the engine's own may be higher, and are refused then."""
    if sys.platform != "linux":
        return []
    import resource

    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    processes = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    processes = _USER_PROCESS_LIMIT if processes == resource.RLIM_INFINITY else min(_USER_PROCESS_LIMIT, processes)
    return ["--ulimit", f"nofile={files}:{files}", "--ulimit", f"nproc={processes}:{processes}"]


def _mount(source: str, target: str, *, is_read_only: bool = False) -> list[str]:
    fields = ["type=bind", f"source={source}", f"target={target}"] + (["readonly"] if is_read_only else [])
    return ["--mount", ",".join(f'"{field}"' if "," in field else field for field in fields)]
