"""How long it takes until a page of `match --live` has what a program thinks, from the moment that the program says it.

Run it as `python -m benchmarks.thinking_delay`. A program says the present instant several times before each of its
moves; the event stream of a page gets it. `--load N` lets N further processes compute meanwhile.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

_URL: Final = re.compile(r"(http://\S+) shows the running games")
_TIMEOUT: Final = 60.0  # seconds
_LONG_ENOUGH: Final = 0.5  # seconds
_PROGRAM: Final = """
import argparse, json, sys, time
from spielleiter.client import play_game

def choose(state):
    for _ in range(3):
        print(json.dumps({"thinking": 1, "turn": state.turn, "text": repr(time.time())}), file=sys.stderr, flush=True)
        time.sleep(0.15)
    return next(iter(state.generate_legal_moves()))

parser = argparse.ArgumentParser(add_help=False)
for option in ("-h", "-p", "-r"):
    parser.add_argument(option)
options = parser.parse_args()
play_game(choose, host=options.h, port=int(options.p), reservation_code=options.r)
"""


def delays(url: str) -> Iterator[float]:
    """Yield the delay in seconds of each text that the page of the first game gets, until that game is over."""
    rooms: list[dict[str, str]] = []
    while not rooms:
        with urllib.request.urlopen(f"{url}api/rooms", timeout=_TIMEOUT) as answer:  # noqa: S310 - it is our own page
            rooms = json.load(answer)["rooms"]
    seen = set[str]()
    events = f"{url}api/rooms/{rooms[0]['id']}/events"
    with urllib.request.urlopen(events, timeout=_TIMEOUT) as stream:  # noqa: S310
        for line in stream:
            now = time.time()
            if not line.startswith(b"data: "):
                continue
            data = json.loads(line.removeprefix(b"data: "))
            texts = {text for thought in data.get("thinking", ()) for text in thought["texts"]}
            if seen or not data.get("from"):
                yield from (now - float(text) for text in texts - seen)
            seen |= texts
            if data.get("end"):
                return


def main() -> None:
    """Measure one game, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--load", type=int, default=0, metavar="N", help="processes that compute meanwhile")
    options = parser.parse_args()
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(options.load)]
    try:
        with TemporaryDirectory() as name:
            (Path(name) / "program.py").write_text(_PROGRAM, encoding="utf-8")
            command = [
                sys.executable,
                "-m",
                "spielleiter",
                "match",
                "--live",
                "--no-browser",
                "--no-timeout",
                "-n",
                "1",
            ]
            command += ["--player1", f"{sys.executable} program.py", "--player2", "builtin:first", "--out", "out"]
            with subprocess.Popen(
                command, cwd=name, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            ) as match:
                assert match.stderr is not None
                url = next(found[1] for line in match.stderr if (found := _URL.match(line)))
                measured = sorted(delays(url))
                match.wait()
    finally:
        for process in busy:
            process.kill()
    late = sum(delay > _LONG_ENOUGH for delay in measured)
    figures = (measured[0], measured[len(measured) // 2], measured[-1])
    print(
        f"{len(measured)} texts: shortest, median and longest delay {' / '.join(f'{each:.3f}' for each in figures)} s"
    )
    print(f"{late} later than {_LONG_ENOUGH} s")


if __name__ == "__main__":
    main()
