"""The documents that are made from the settings are complete, and what they show can be used."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from spielleiter.server.config.config import SETTINGS, Config, load_config
from spielleiter.server.config.documents import render_properties, render_table

ROOT = Path(__file__).parents[3]


def with_properties(directory: Path, text: str) -> Path:
    (directory / "server.properties").write_text(text, encoding="utf-8")
    return directory


def test_the_shipped_file_is_made_from_the_settings_and_changes_nothing(tmp_path: Path) -> None:
    shipped = (ROOT / "server.properties").read_text(encoding="utf-8")
    assert shipped == render_properties()
    config = load_config({}, {}, with_properties(tmp_path, shipped))
    assert dataclasses.replace(config, properties_file=None) == Config()


def test_every_line_of_the_shipped_file_can_be_used(tmp_path: Path) -> None:
    lines = [line[1:] for line in render_properties().splitlines() if line.startswith("#") and line[1:2].isalpha()]
    assert len(lines) == len(SETTINGS)
    usable = "\n".join(line for line in lines if "<gameType>" not in line)
    config = load_config({}, {}, with_properties(tmp_path, usable))
    assert dataclasses.replace(config, properties_file=None) == Config()


def test_the_table_has_a_row_for_every_setting() -> None:
    rows = render_table().splitlines()
    assert len(rows) == len(SETTINGS) + 2
    assert "| `softTimeout` | `--soft-timeout` | `2000` | " in rows[11]
    assert "| `saveReplay` | `--save-replay`, `--saveReplay` | `false` | " in render_table()
    assert "| `timeout` | `--timeout`, `--no-timeout` | `true` | " in render_table()
    assert "| `turn`, `turnToLoad` | `--turn` | `0` | " in render_table()
