"""Choosing the sandbox for a program: the one that was asked for, or else the best one that this machine has."""

from __future__ import annotations

from spielleiter.common.errors import SetupError
from spielleiter.programs.sandbox.bubblewrap import BubblewrapSandbox, bubblewrap_problem
from spielleiter.programs.sandbox.containers import ENGINES, ContainerSandbox, engine_problem
from spielleiter.programs.sandbox.plain import PlainSandbox
from spielleiter.programs.sandbox.sandbox import AUTO, BUBBLEWRAP, KINDS, NONE, Sandbox
from spielleiter.programs.temporary_folders import remove_stale_folders


def choose_sandbox(image: str | None = None, kind: str = AUTO, python_version: str = "") -> Sandbox:
    """Return a sandbox of this `kind`, one of KINDS.

    With an `image`, "auto" means Docker or else Podman; without one, bubblewrap or else plain limits, whose `gaps` say
    why there is nothing better. `python_version` is the version of Python that the program is built for;
    empty if it does not matter. Blocks for up to some seconds. Raises SetupError if there is no such sandbox here.
    """
    if kind not in KINDS:
        raise SetupError(f"sandbox {kind!r}: expected {', '.join(KINDS)}")
    remove_stale_folders()
    if kind in ENGINES:
        return _container((kind,), image)
    if image is not None:
        if kind != AUTO:
            raise SetupError(f"sandbox {kind}: has no images, expected --sandbox docker or podman for {image}")
        return _container(ENGINES, image)
    if kind == NONE:
        return PlainSandbox(python_version=python_version)
    assert kind in {AUTO, BUBBLEWRAP}, kind
    problem = bubblewrap_problem()
    if not problem:
        try:
            return BubblewrapSandbox(python_version=python_version)
        except OSError as error:
            problem = f"bubblewrap cannot run this Python: {error}."
    if kind == BUBBLEWRAP:
        raise SetupError(f"sandbox bubblewrap: {problem}")
    return PlainSandbox(problem, python_version=python_version)


def _container(engines: tuple[str, ...], image: str | None) -> Sandbox:
    if image is None:
        raise SetupError(f"sandbox {engines[0]}: expected an image, such as --image python:3.12")
    problems = []
    for engine in engines:
        if problem := engine_problem(engine):
            problems.append(problem)
            continue
        try:
            return ContainerSandbox(engine, image)
        except SetupError as error:
            problems.append(f"{error}.")
        except OSError as error:
            problems.append(f"{engine} cannot run this Python: {error}.")
    raise SetupError(f"image {image}: {' '.join(problems).rstrip('.')}")
