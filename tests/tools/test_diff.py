"""What changed between two releases: their sources, their rules on an oracle's positions, what their servers say."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path
from typing import Any

from tests.tools.test_oracle import Nim
from tools.season.diff import recording_differences, rule_differences, source_differences
from tools.season.oracle import play_games

SOURCE = "plugin2026/src/main/kotlin/Game.kt"


def test_a_changed_source_is_named_with_its_functions(tmp_path: Path) -> None:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=A", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run([*git, "init", "-q"], check=True)
    file, other = tmp_path / SOURCE, tmp_path / "docs" / "notes.md"
    for tag, limit in (("26.0.7", 30), ("26.1.0", 25)):
        for path in (file, other):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(
                f"class Game {{\n    val a = 1\n    val b = 2\n    val c = 3\n    val limit = {limit}\n}}\n", "utf-8"
            )
        for command in (["add", "."], ["commit", "-q", "-m", tag], ["tag", tag]):
            subprocess.run([*git, *command], check=True)
    assert list(source_differences(tmp_path, "26.0.7", "26.1.0")) == [f"{SOURCE} (+1 -1) in class Game"]


class OtherNim(Nim):
    """The same game, in which at most two may be taken, and who takes the last one loses."""

    def ask(self, *words: str) -> dict[str, Any]:
        if words[0] == "play" and words[1] not in self.legal():
            return {"verdict": "Mistake.NO"}
        answer = super().ask(*words)
        if words[0] == "result":
            answer["winner"] = "TWO" if answer["winner"] == "ONE" else "ONE"
        return answer

    def legal(self) -> list[str]:
        return super().legal()[:2]


def test_rules_are_compared_in_the_positions_of_an_oracle(tmp_path: Path) -> None:
    oracle = tmp_path / "oracle.jsonl.gz"
    lines = list(play_games(Nim(), 2, 0))
    for line in lines:
        line.pop("exact", None)
    with gzip.open(oracle, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    found = list(rule_differences(oracle, OtherNim()))
    assert found[0] == f"{len(lines)} positions compared"
    text = "\n".join(found[1:])
    assert "other legal moves: " in text
    assert "first in game 0, ply 0" in text
    assert "another verdict: OK → Mistake.NO" in text
    assert "another result: LAST" in text
    assert "another state after a move" in text  # taking three is refused: the heap is as before


def test_conversations_are_compared_connection_by_connection_and_without_times(tmp_path: Path) -> None:
    lines = {
        "old": ["0.001  a      ->  <protocol>", "0.002  a      <-  <protocol>", "0.003  b      <-  \\n  <left/>"],
        "new": ["0.001  a      ->  <protocol>", "0.007  b      <-  \\n  <left/>", "0.009  a      <-  <protocol>"],
    }
    for folder, said in lines.items():
        (tmp_path / folder).mkdir()
        for name in ("same", "other"):
            text = "\n".join(f"    {line}" for line in said)
            if (folder, name) == ("new", "other"):
                text = text.replace("<left/>", "<gone/>")
            (tmp_path / folder / f"{name}.txt.gz").write_bytes(gzip.compress(f"# {name}\n{text}\n".encode()))
    found = list(recording_differences(tmp_path / "old", tmp_path / "new"))
    assert found == ["2 conversations compared", "other.txt.gz, b: …\\n  <left/>… → …\\n  <gone/>…"]
