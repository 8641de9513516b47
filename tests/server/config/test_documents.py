"""The generated documents list every setting, and their values can be read back."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from spielleiter.server.config.config import SETTINGS, Config, load_config
from spielleiter.server.config.documents import render_properties, render_table
from tests.documents import ROOT


def with_properties(directory: Path, text: str) -> Path:
    (directory / "server.properties").write_text(text, encoding="utf-8")
    return directory


def test_the_default_file_is_generated_and_changes_no_default(tmp_path: Path) -> None:
    written = (ROOT / "server.properties").read_text(encoding="utf-8")
    assert written == render_properties()
    config = load_config({}, {}, with_properties(tmp_path, written))
    assert dataclasses.replace(config, properties_file=None) == Config()


def test_every_commented_line_of_the_default_file_is_valid(tmp_path: Path) -> None:
    lines = [line[1:] for line in render_properties().splitlines() if line.startswith("#") and line[1:2].isalpha()]
    assert len(lines) == len(SETTINGS)
    uncommented = "\n".join(line for line in lines if "<gameType>" not in line)
    config = load_config({}, {}, with_properties(tmp_path, uncommented))
    assert dataclasses.replace(config, properties_file=None) == Config()


def test_the_table_has_a_row_for_every_setting() -> None:
    rows = render_table().splitlines()
    assert len(rows) == len(SETTINGS) + 2
    assert "| `softTimeout` | `--soft-timeout` | `2000` | " in rows[11]
    assert "| `saveReplay` | `--save-replay`, `--saveReplay` | `false` | " in render_table()
    assert "| `timeout` | `--timeout`, `--no-timeout` | `true` | " in render_table()
    assert "| `turn`, `turnToLoad` | `--turn` | `0` | " in render_table()
