"""Print how long a program takes to start in each sandbox: python -m tests.programs.sandbox.measure_start [IMAGE]"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import trio

from spielleiter.common.errors import SetupError
from spielleiter.programs.program import Program
from spielleiter.programs.sandbox.choice import choose_sandbox
from spielleiter.programs.sandbox.run import open_run
from spielleiter.programs.sandbox.sandbox import AUTO, KINDS, Sandbox

RUNS = 10


async def measure(sandbox: Sandbox, folder: Path) -> tuple[float, float]:
    """Return the seconds until the program runs, and until everything is removed again."""
    started = time.perf_counter()
    async with open_run(sandbox, folder) as run, trio.open_nursery() as nursery:
        program = Program(
            ["sh", "-c", "exit 0"], "measure", folder / "out", folder / "error", cwd=str(folder), confinement=run
        )
        await nursery.start(program.run)
        running = time.perf_counter() - started
    return running, time.perf_counter() - started


def main() -> None:
    """Measure every kind; an image for containers may be the argument."""
    image = sys.argv[1] if len(sys.argv) > 1 else None
    for kind in KINDS:
        try:
            sandbox = choose_sandbox(image if kind not in {"none", "bubblewrap", AUTO} else None, kind)
        except SetupError as error:
            print(f"{kind:12} {error}")  # noqa: T201
            continue
        with tempfile.TemporaryDirectory() as folder:
            times = [trio.run(measure, sandbox, Path(folder)) for _ in range(RUNS)]
        starts, totals = zip(*times, strict=True)
        print(f"{kind:12} {1000 * median(starts):6.0f} ms until it runs, {1000 * median(totals):6.0f} ms in all")  # noqa: T201


if __name__ == "__main__":
    main()
