"""What changed from one official release to another: forms, sources, verdicts and results, what the servers say."""

import gzip
import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.season.rules import Rules, RulesError

_HUNK = re.compile(r"^@@ .*? @@ ?(.*)$")
_FILE = re.compile(r"^\+\+\+ b/(.*)$")
_SOURCES = ("sdk/src/main", "server/src/main", "plugin*/src/main", "plugin*/src/shared", "games/*/src/main")
_TIMES = re.compile(r"^ +\d+\.\d+ +", re.MULTILINE)
_WHERE = re.compile(r"(\w+) +(->|<-) +")
_MOST_POSITIONS = 1500


def source_differences(repository: Path, old: str, new: str) -> Iterator[str]:
    """Yield a line for each source file that differs between two tags: how much, and in which functions and classes."""
    git = ["git", "-C", str(repository), "diff", "--unified=0", "--no-renames", f"refs/tags/{old}", f"refs/tags/{new}"]
    places = [f":(glob){place}/**" for place in _SOURCES]
    shown = subprocess.run([*git, "--", *places], capture_output=True, check=True).stdout.decode("utf-8", "replace")
    counts: Counter[tuple[str, str]] = Counter()
    functions: dict[str, list[str]] = {}
    file = ""
    for line in shown.splitlines():
        if found := _FILE.match(line):
            file = found[1]
            functions[file] = []
        elif file and (found := _HUNK.match(line)):
            name = re.sub(r"[{(:=].*", "", found[1]).strip()
            if name and name not in functions[file]:
                functions[file].append(name)
        elif file and line[:1] in {"+", "-"} and not line.startswith("---"):
            counts[file, line[0]] += 1
    for file, names in functions.items():
        where = f" in {', '.join(names[:6])}" if names else ""
        yield f"{file} (+{counts[file, '+']} -{counts[file, '-']}){where}"


def rule_differences(oracle: Path, new: Rules) -> Iterator[str]:
    """Yield the kinds of differences between an oracle's lines and another release's rules: how many, and one case.

    The games are followed move by move. After a difference the position of the oracle is taken, as it is on the wire.
    """
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    compared = 0
    with gzip.open(oracle, "rt", encoding="utf-8") as file:
        for line in map(json.loads, file):
            if compared >= _MOST_POSITIONS and line["ply"] == 0:
                break
            compared += 1
            for kind in _kinds(line, new):
                counts[kind] += 1
                examples.setdefault(kind, f"game {line['game']}, ply {line['ply']}")
    yield f"{compared} positions compared"
    for kind, count in counts.most_common():
        yield f"{kind}: {count}, first in {examples[kind]}"


def _kinds(line: dict[str, Any], new: Rules) -> Iterator[str]:
    """The differences in one position; the move that follows it is played."""
    try:
        if line["ply"] == 0:
            new.load(line.get("exact") or line["state"])
        elif (state := new.position()["state"]) != line["state"]:
            yield f"another state after a move{_added_names(line['state'], state)}"
            if not line.get("end"):
                new.load(line["state"])
    except RulesError as error:
        yield f"the state cannot be read ({str(error)[:100]})"
        return
    position = new.position()
    if position["points"] != line["points"]:
        yield "other points"
    if line.get("end"):
        result = new.result()
        if not result["over"]:
            yield f"the game that ended by {line['reason']} is not over"
        elif (result["winner"], result["reason"]) != (line["winner"], line["reason"]):
            yield f"another result: {line['reason']} {line['winner']} → {result['reason']} {result['winner']}"
        elif result.get("packet") != line.get("packet"):
            yield "the packet of the result has another form"
        return
    if position["over"]:
        yield f"the game is over: {new.result()['reason']}"
    moves = new.moves(line["count"])
    if moves["count"] != line["count"] or not set(line["moves"]) <= set(moves["moves"]):
        yield "other legal moves"
    for probe, verdict in zip(line["probes"], new.judge([each["move"] for each in line["probes"]]), strict=True):
        if probe["verdict"] != verdict["verdict"]:
            yield f"another verdict: {probe['verdict']} → {verdict['verdict']}"
        elif probe.get("text") != verdict.get("text"):
            yield f"another text: {probe.get('text')} → {verdict.get('text')}"
    new.play(line["move"])


def _added_names(old: str, new: str) -> str:
    """Which elements and attributes only one of two states has."""
    names = [set(re.findall(r"<(\w+)|(\w+)=", state)) for state in (old, new)]
    different = sorted("".join(pair) for pair in names[0] ^ names[1])
    return f" ({', '.join(different)})" if different else ""


def recording_differences(old: Path, new: Path) -> Iterator[str]:
    """Yield the first difference of each conversation that is recorded in both folders; times do not count.

    Only what was said to one connection has an order: the packets of each are compared by themselves.
    """
    names = sorted({path.name for path in old.rglob("*.txt*")} & {path.name for path in new.rglob("*.txt*")})
    yield f"{len(names)} conversations compared"
    for name in names:
        before, after = (_said(next(folder.rglob(name))) for folder in (old, new))
        for peer in before.keys() | after.keys():
            pairs = zip(before.get(peer, []), after.get(peer, []), strict=False)
            if different := next(((one, other) for one, other in pairs if one != other), None):
                yield f"{name}, {peer}: {_brief(*different)}"
                break


def _said(path: Path) -> dict[str, list[str]]:
    """What each connection got."""
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    said: dict[str, list[str]] = {}
    for line in _TIMES.sub("", text).splitlines():
        found = _WHERE.match(line)
        if found and found[2] == "<-":
            said.setdefault(found[1], []).append(line[found.end() :])
    return said


def _brief(one: str, other: str) -> str:
    """Two texts around the place where they begin to differ."""
    start = next((index for index, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    begin = max(0, start - 40)
    return f"…{one[begin : start + 80]}… → …{other[begin : start + 80]}…"
