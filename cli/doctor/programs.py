"""What `spielleiter doctor` finds out for matches: supervision of programs, sandboxes, Java and Python for players.

Invariants: what can be tried is tried with the functions that a match uses. Each line says what a match, or the check
of a ZIP for the contest, does without it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Final

from spielleiter.cli.commands import run_async
from spielleiter.cli.doctor.finding import Finding, Level
from spielleiter.common.errors import SupervisorError
from spielleiter.common.own_python import is_frozen, own_python
from spielleiter.programs.process import ProcessSpec
from spielleiter.programs.sandbox.bubblewrap import bubblewrap_problem
from spielleiter.programs.sandbox.containers import ENGINES, engine_problem
from spielleiter.programs.windows import JobObject, open_job

Which = Callable[[str], str | None]

_VERSION_TIMEOUT: Final = 30.0  # seconds
_UNSUPERVISED: Final = (
    "What a program starts is measured and ended only as far as it is found. End leftovers by hand, or play on Linux."
)


def find_programs() -> Iterator[Finding]:
    """Yield all findings for matches and checks."""
    yield find_supervision()
    yield find_bubblewrap()
    yield find_containers()
    yield find_java()
    yield find_player_python()


def job_problem(open_job: Callable[[], JobObject] = open_job) -> str:
    """Return why this process cannot have a Job Object of Windows; empty if it can."""
    try:
        open_job().close()
    except OSError as error:
        return f"Windows refuses a Job Object ({error})"
    return ""


def supervision_problem() -> str:
    """Return why the system does not keep together what a program starts; empty if it does, as was tried."""
    if sys.platform == "win32":
        return job_problem()
    if sys.platform == "linux":
        from spielleiter.programs.linux import start_supervised_process

        spec = ProcessSpec([*own_python(), "-I", "-S", "-c", ""], None, dict(os.environ))
        try:
            process = start_supervised_process(spec)
        except (OSError, ValueError, SupervisorError) as error:
            return str(error)
        if process is not None:
            with process.stdout, process.stderr:
                run_async(process.end)
            return ""
    return "there are no supervisors on this system"


def find_supervision(problem: Callable[[], str] = supervision_problem) -> Finding:
    """Return whether everything that a program starts is measured and ended."""
    name = ("processes", "processes")
    if text := problem():
        return Finding(*name, Level.LIMITED, f"not supervised: {text}", _UNSUPERVISED)
    return Finding(*name, Level.OK, "supervised", "A match measures and ends everything that a program starts.")


def find_bubblewrap(problem: Callable[[], str] = bubblewrap_problem) -> Finding:
    """Return whether a ZIP can be checked in name spaces of its own."""
    name = ("bubblewrap", "bubblewrap")
    if text := problem():
        meaning = "`spielleiter check` of a ZIP cannot cut it off from network and files, unless an --image is given."
        return Finding(*name, Level.LIMITED, text, meaning)
    meaning = "`spielleiter check` of a ZIP runs it without a network, as the contest does."
    return Finding(*name, Level.OK, "works", meaning)


def find_containers(problem: Callable[[str], str] = engine_problem) -> Finding:
    """Return which container engines can run a program in the contest's image."""
    name = ("containers", "containers")
    problems = {engine: problem(engine) for engine in ENGINES}
    if working := [engine for engine, text in problems.items() if not text]:
        meaning = "`spielleiter check --image NAME` runs a ZIP in a container, as the contest does."
        return Finding(*name, Level.OK, f"{' and '.join(working)} can be used", meaning)
    meaning = "`spielleiter check --image NAME` needs one of them: install Docker or Podman, or start it."
    return Finding(*name, Level.LIMITED, " ".join(problems.values()), meaning)


def version_line(program: str, option: str) -> str:
    """Return the first line that a program prints about its version.

    Raises OSError or subprocess.SubprocessError if it does not run.
    """
    done = subprocess.run(  # noqa: S603 - the program that players are started with
        [program, option],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=_VERSION_TIMEOUT,
        check=True,
    )
    return done.stdout.decode("utf-8", "replace").split("\n")[0].strip()


def find_java(which: Which = shutil.which) -> Finding:
    """Return whether players that are .jar files can be started."""
    name = ("java", "Java")
    program = which("java")
    if program is None:
        meaning = (
            "Players that are .jar files cannot be started; install a Java runtime for those. Nothing else needs it."
        )
        return Finding(*name, Level.LIMITED, "not found", meaning)
    try:
        state = version_line(program, "-version")
    except (OSError, subprocess.SubprocessError) as error:
        meaning = "Players that are .jar files cannot be started; install Java again."
        return Finding(*name, Level.LIMITED, f"{program} does not run: {error}", meaning)
    return Finding(*name, Level.OK, f"{state}, {program}", "Players that are .jar files can be started.")


def find_player_python(which: Which = shutil.which, system: str = sys.platform) -> Finding:
    """Return whether players that are Python programs can be started as people write it.

    A program of this name may be there without a Python: on Windows it opens the Store, on macOS it offers the
    developer tools.
    """
    name = ("player_python", "player's Python")
    words = ("py", "python") if system == "win32" else ("python3",)
    problem = f"{' and '.join(words)} not found"
    for word in words:
        if program := which(word):
            try:
                state = f"{version_line(program, '--version')}, {program}"
            except (OSError, subprocess.SubprocessError) as error:
                problem = f"{program} does not run: {error}"
            else:
                return Finding(*name, Level.OK, state, f"Players in Python can be started with `{word} FILE`.")
    meaning = f"Players in Python cannot be started with `{words[0]} FILE`; "
    meaning += "install Python for those." if is_frozen() else f"write `{sys.executable} FILE` instead."
    return Finding(*name, Level.LIMITED, problem, meaning)
