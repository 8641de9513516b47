"""The commented lines of the `server.properties` in the repository name every setting with its default."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from spielleiter.server.config import SETTINGS, Config, load_config
from tests.documents import ROOT


def test_every_line_of_the_default_file_shows_a_setting_and_its_default(tmp_path: Path) -> None:
    written = (ROOT / "server.properties").read_text(encoding="utf-8")
    lines = [line[1:] for line in written.splitlines() if line.startswith("#") and line[1:2].isalpha()]
    names = [line.partition(" =")[0] for line in lines]
    assert names == [each.name if each.name != "edition" else "edition.<gameType>" for each in SETTINGS]
    for text in (written, "\n".join(line for line in lines if "<gameType>" not in line)):
        (tmp_path / "server.properties").write_text(text, encoding="utf-8")
        assert dataclasses.replace(load_config({}, {}, tmp_path), properties_file=None) == Config()
