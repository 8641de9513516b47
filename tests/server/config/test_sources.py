"""Values are read from each source, and the source read last takes precedence."""

from __future__ import annotations

from pathlib import Path

import pytest

from spielleiter.server.config import EDITION_SETTING, IGNORED, SETTINGS, ConfigError, SettingReader


def test_every_source_replaces_the_values_of_those_before_it(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("port = 1\nseed = 1\nplugins = x\n", encoding="utf-8")
    reader = SettingReader(SETTINGS, EDITION_SETTING)
    reader.read_file(file)
    reader.read_environment({"SPIELLEITER_PORT": "2", "SPIELLEITER_CONFIG": "x", "HOME": "/"})
    assert reader.values == {"port": 2, "seed": 1}
    reader.read_options({"port": "3", "host": None})
    assert reader.values == {"port": 3, "seed": 1}
    assert reader.precedence["port"] > reader.precedence["seed"]
    assert reader.ignored == [f"{file}:3: plugins ({IGNORED['plugins']})"]


def test_an_unknown_variable_is_an_error() -> None:
    with pytest.raises(ConfigError, match="did you mean 'SPIELLEITER_PORT'"):
        SettingReader(SETTINGS, EDITION_SETTING).read_environment({"SPIELLEITER_PROT": "1"})
