"""The settings of a league are kept with their types, and a wrong one is refused."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from spielleiter.league.database import open_database
from spielleiter.league.settings import Anchor, LeagueSettings, change_settings, load_settings


def test_settings_are_kept_and_others_keep_their_defaults(tmp_path: Path) -> None:
    database = open_database(tmp_path)
    assert database.read_now(load_settings) == LeagueSettings()
    anchors = (Anchor("builtin:greedy", 0.0),)
    database.write_now(change_settings, name="7b", freeze_at=1e9, anchors=anchors, stage="frozen")
    expected = LeagueSettings(name="7b", freeze_at=1e9, anchors=anchors, stage="frozen")
    assert database.read_now(load_settings) == expected
    database.write_now(change_settings, freeze_at=None)
    assert database.read_now(load_settings).freeze_at is None
    database.close()


@pytest.mark.parametrize("wrong", [{"stage": "summer"}, {"uploads_per_hour": "many"}, {"colour": "red"}])
def test_a_wrong_setting_changes_nothing(tmp_path: Path, wrong: dict[str, object]) -> None:
    database = open_database(tmp_path)
    with pytest.raises(msgspec.ValidationError):
        database.write_now(change_settings, **{"name": "7b", **wrong})
    assert database.read_now(load_settings) == LeagueSettings()
    database.close()
