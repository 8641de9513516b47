"""Do the tests find planted bugs? One changed line at a time, in a copy of the project.

`python -m benchmarks.planted_bugs game` plants the bugs of planted_bugs.json that are in this part, and prints those
that no test finds. `--base REVISION` tries these with the tests of an earlier revision as well, and prints only what
they find: what a change of the tests has lost. The bugs were drawn at random from those that cosmic-ray can make.

Only the tests that run the line are run, or all of the part if its line runs at the import. A bug whose line is gone is
printed as such. A bug in what starts and ends programs may end other processes, so the tests run in a process name
space of their own (Linux, as root).
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import coverage

PROJECT = Path(__file__).parents[1]
TESTS = {
    "game": ("tests/game", "tests/protocol", "tests/players"),
    "protocol": ("tests/protocol", "tests/wire"),
    "server": ("tests/server",),
    "match": ("tests/match",),
    "programs": ("tests/programs",),
}
FIRST_TESTS = 60
"""So many of the quickest tests that run the line are tried before the others."""
TIMEOUT = 400
"""Seconds; a bug that makes a test hang is found."""
_SEPARATE = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
_LIST = ("git", "ls-files", "-z")
_ARCHIVE = ("git", "archive")
_PACK = ("tar", "-c", "--null", "--files-from=-")
_UNPACK = ("tar", "-x", "-C")
_CONTINUATION_LINES = 4
_PLAUSIBLE = 3


@dataclasses.dataclass(frozen=True)
class Bug:
    """A line of a function that is replaced; `near` are the lines before and after it."""

    part: str
    file: str
    function: str
    before: str
    after: str
    near: tuple[str, str]


class Tree:
    """A copy of one revision of the project, or of its present files, in which bugs are planted."""

    def __init__(self, folder: Path, revision: str | None) -> None:
        self.folder = folder
        if revision is None:
            names = subprocess.run(_LIST, cwd=PROJECT, check=True, stdout=subprocess.PIPE).stdout
            packed = subprocess.run(_PACK, cwd=PROJECT, input=names, check=True, stdout=subprocess.PIPE).stdout
        else:
            packed = subprocess.run([*_ARCHIVE, revision], cwd=PROJECT, check=True, stdout=subprocess.PIPE).stdout
        subprocess.run([*_UNPACK, str(folder)], input=packed, check=True)
        self._seconds: dict[str, float] = {}
        self._lines = coverage.CoverageData(str(folder / "lines"))

    def measure(self, part: str) -> None:
        """Run all tests of a part, and note which of them run which line, and how long they take."""
        settings = "[run]\nsource = game,protocol,server,match,programs\nconcurrency = thread\n"
        (self.folder / "lines.cfg").write_text(f"{settings}data_file = {self.folder / 'lines'}\n")
        report = self.folder / "tests.xml"
        options = ("--cov", "--cov-config=lines.cfg", "--cov-context=test", "--cov-report=", f"--junitxml={report}")
        _, output = self.run([*options, *self.tests(part)], 3600)
        print(f"{part}, without a bug: {output.splitlines()[-1]}", flush=True)
        for name, seconds in re.findall(r'<testcase [^>]*name="([^"]*)" time="([^"]*)"', report.read_text()):
            self._seconds[name] = float(seconds)
        self._lines.read()

    def tests(self, part: str) -> list[str]:
        return [name for name in TESTS[part] if (self.folder / name).exists()]

    def run(self, arguments: list[str], timeout: float) -> tuple[int, str]:
        shared = os.environ.get("SPIELLEITER_SHARED", str(PROJECT.parent / "shared"))
        environment = os.environ | {"PYTHONPATH": str(self.folder / "src"), "SPIELLEITER_SHARED": shared}
        environment["PYTHONDONTWRITEBYTECODE"] = "1"  # an old compiled file could hide a bug
        # what runs outside the name space seems dead to the tests, which would remove its folders
        environment["TMPDIR"] = tempfile.mkdtemp(dir=self.folder)
        pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-m", "not extended", "--tb=no"]
        done = subprocess.run(
            [*_SEPARATE, "timeout", str(timeout), *pytest, f"--basetemp={self.folder / 'temporary'}", *arguments],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    def place_of(self, bug: Bug) -> tuple[Path, int] | None:
        """Return the file and the index of the line that is most like that of the bug; None if there is none."""
        own = self.folder / bug.file
        rooms = {Path(name).parts[0] for name in (bug.file, *(f"{part}/" for part in TESTS))}
        others = [path for room in sorted(rooms) for path in sorted((self.folder / room).rglob("*.py")) if path != own]
        best: tuple[int, Path, int] | None = None
        for path in ([own] if own.exists() else []) + others:
            lines = [line.strip() for line in path.read_text().splitlines()]
            for index, line in enumerate(lines):
                if line != bug.before:
                    continue
                around = (lines[index - 1] if index else "", lines[index + 1] if index + 1 < len(lines) else "")
                heads = (each for each in reversed(lines[:index]) if re.match(r"(async )?def |class ", each))
                likeness = 4 * (path == own) + 3 * sum(a == b for a, b in zip(around, bug.near, strict=True))
                likeness += 3 * bool(re.search(rf"\b{re.escape(bug.function)}\b", next(heads, "")))
                if best is None or likeness > best[0]:
                    best = likeness, path, index
        return best[1:] if best is not None and best[0] >= _PLAUSIBLE else None

    def is_found(self, bug: Bug) -> bool | None:
        """Plant a bug, and return whether a test fails; None if its line is gone."""
        place = self.place_of(bug)
        if place is None:
            return None
        path, index = place
        text = path.read_text()
        lines = text.splitlines(keepends=True)
        lines[index] = lines[index].replace(bug.before, bug.after)
        by_line = self._lines.contexts_by_lineno(str(path))
        running: set[str] = set()
        for number in range(index + 1, max(0, index - _CONTINUATION_LINES), -1):
            running = {name.split("|")[0] for name in by_line.get(number, ()) if name}
            if running:
                break
        quickest = sorted(running, key=lambda name: self._seconds.get(name.rpartition("::")[2], 1.0))
        rounds = [quickest[:FIRST_TESTS], quickest[FIRST_TESTS:]] if quickest else [self.tests(bug.part)[:1]]
        path.write_text("".join(lines))
        try:
            return any(self.run(["-x", *names], TIMEOUT)[0] != 0 for names in rounds if names)
        finally:
            path.write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(description="Say which planted bugs no test finds.")
    parser.add_argument("part", choices=TESTS)
    parser.add_argument("--base", help="say only what the tests of this revision find")
    parser.add_argument("--only", help="the numbers of some bugs, such as 3,17")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = json.loads(Path(__file__).with_suffix(".json").read_text())
    only = {int(number) for number in options.only.split(",")} if options.only else None
    bugs = {
        number: Bug(**row | {"near": tuple(row["near"])})
        for number, row in enumerate(rows)
        if row["part"] == options.part and (only is None or number in only)
    }
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as now, tempfile.TemporaryDirectory() as before:
        tree, base = Tree(Path(now), None), None
        tree.measure(options.part)
        for number, bug in bugs.items():
            is_found = tree.is_found(bug)
            if is_found is False and options.base:
                if base is None:
                    base = Tree(Path(before), options.base)
                    base.measure(options.part)
                if not base.is_found(bug):
                    counts["found by neither"] += 1
                    continue
            result = {True: "found", False: "not found", None: "line is gone"}[is_found]
            counts[result] += 1
            if not is_found:
                print(f"{number}: {result}: {bug.file}, {bug.function}: {bug.before}  →  {bug.after}", flush=True)
    print(f"{options.part}: " + ", ".join(f"{count} {result}" for result, count in sorted(counts.items())))


if __name__ == "__main__":
    main()
