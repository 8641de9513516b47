"""A configuration takes each value from the source of the highest precedence, and refuses what is wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec import structs

from spielleiter.protocol.defaults import DEFAULT_HOST, DEFAULT_PASSWORD, DEFAULT_PORT
from spielleiter.server.config import (
    MOST_BYTES,
    SETTINGS,
    Config,
    ConfigError,
    Options,
    load_config,
    read_properties,
)
from spielleiter.server.errors import StartError
from tests.documents import ROOT


def _load(
    directory: Path,
    *,
    properties: str | bytes | None = None,
    environ: Mapping[str, str] | None = None,
    options: Options | None = None,
) -> Config:
    if isinstance(properties, str):
        properties = properties.encode()
    if properties is not None:
        (directory / "server.properties").write_bytes(properties)
    return load_config(options or {}, environ or {}, directory)


def test_without_any_source_the_defaults_apply(tmp_path: Path) -> None:
    config = _load(tmp_path)
    assert config == Config()
    assert (config.host, config.port, config.password) == (DEFAULT_HOST, DEFAULT_PORT, DEFAULT_PASSWORD)
    assert (config.soft_timeout, config.hard_timeout, config.has_timeouts) == (2.0, 10.0, True)
    assert config.properties_file is None


def test_the_source_of_the_highest_precedence_wins(tmp_path: Path) -> None:
    properties = "port = 1\nsoftTimeout = 100\npaused: true\nseed 5\n"
    environ = {"SPIELLEITER_PORT": "2", "SPIELLEITER_SOFT_TIMEOUT": "200", "HOME": "/", "SPIELLEITER_SHARED": "/x"}
    config = _load(tmp_path, properties=properties, environ=environ, options={"port": "3", "host": None})
    assert (config.port, config.soft_timeout, config.is_paused, config.seed) == (3, 0.2, True, 5)
    assert config.properties_file == tmp_path / "server.properties"


def test_a_named_file_is_read_instead_of_the_one_in_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, third = tmp_path / "other.properties", tmp_path / "third.properties"
    (tmp_path / "server.properties").write_bytes(b"# a comment\r\nport: 6\\\r\n 6\r\nseed 5")
    other.write_text("port = 7\n")
    third.write_text("\ufeffport = 8\n")
    environ = {"SPIELLEITER_CONFIG": str(third)}
    assert load_config({"config": str(other)}, environ, tmp_path).port == 7
    assert load_config({}, environ, tmp_path).port == 8
    assert load_config({}, {"SPIELLEITER_CONFIG": ""}, tmp_path).port == 66, "an empty variable names no file"
    monkeypatch.chdir(tmp_path)
    assert load_config({}, {}).port == 66


def test_properties_of_the_official_releases_are_read(tmp_path: Path) -> None:
    config = _load(
        tmp_path,
        properties="password = geheim \npaused = false\nlocal = false\nplugins = ./plugins\nsaveReplay=true\n"
        "loadGameFile = game.xml\nturnToLoad = 12\ntimeout = false\ntestMode = true\n",
    )
    assert config.password == "geheim "
    assert config.host == "0.0.0.0"
    assert (config.replay_directory, config.load_game_file) == (Path("replays"), Path("game.xml"))
    assert (config.turn, config.has_timeouts, config.is_test_mode) == (12, False, True)
    assert config.ignored == (
        f"{tmp_path / 'server.properties'}:4: plugins (games are built in, no plugins are loaded)",
    )
    assert _load(tmp_path, options={"plugins": "x"}).ignored[-1].startswith("--plugins (games are built in")
    assert "geheim" not in repr(config)


def test_editions_of_several_sources_are_merged(tmp_path: Path) -> None:
    config = _load(
        tmp_path,
        properties="edition.one = a\nedition.two = b \n",
        environ={"SPIELLEITER_EDITION": "two=c, three=d"},
        options={"editions": ("three=e", "four=f")},
    )
    assert config.editions == {"one": "a", "two": "c", "three": "e", "four": "f"}
    assert Config().editions == Config().game_options == {}
    config = _load(tmp_path, options={"game_end": "noMovesLeft", "start_piece": "PENTO_V"})
    assert config.game_options == {"gameEnd": "noMovesLeft", "startPiece": "PENTO_V"}
    # neither limit applies, so they are not compared
    assert _load(tmp_path, options={"soft_timeout": "20000", "has_timeouts": "false"}).soft_timeout == 20.0


@pytest.mark.parametrize(
    ("properties", "environ", "options", "host"),
    [
        ("local = false", {}, {}, "0.0.0.0"),
        ("local = true", {}, {}, "127.0.0.1"),
        ("local = false", {}, {"host": "127.0.0.1"}, "127.0.0.1"),
        ("local = true", {"SPIELLEITER_HOST": "192.0.2.1"}, {}, "192.0.2.1"),
        ("host = 0.0.0.0", {"SPIELLEITER_LOCAL": "true"}, {}, "127.0.0.1"),
        ("host = 0.0.0.0", {}, {}, "0.0.0.0"),
        ("host = ::1\nlocal = true", {}, {}, "::1"),
        ("host = localhost\nlocal = true", {}, {}, "localhost"),
        ("host = example.org\nlocal = false", {}, {}, "example.org"),
    ],
)
def test_host_and_local_set_the_same_value(
    tmp_path: Path, properties: str, environ: Mapping[str, str], options: Options, host: str
) -> None:
    assert _load(tmp_path, properties=properties, environ=environ, options=options).host == host


@pytest.mark.parametrize(
    ("properties", "line"),
    [
        ("# x\nport \\\n = 99999\n", "2: port: '99999' cannot be used, expected a whole number from 0 to 65535"),
        ("\n\nsoftTimout = 1\n", "3: softTimout: there is no such property (did you mean 'softTimeout'?)"),
        ("blubb = 1", "1: blubb: there is no such property"),
        ("paused = maybe", "1: paused: 'maybe' cannot be used, expected true or false"),
        (
            "logFormat = jason",
            "1: logFormat: 'jason' cannot be used, expected auto, console or json (did you mean 'json'?)",
        ),
        (
            "edition.a = ",
            (
                "1: edition.a: 'a=' cannot be used, expected gameType=edition (several with commas between them, "
                "each gameType once)"
            ),
        ),
        (
            "edition.one = a\nedition.one = b\n",
            "2: edition.one: one is already played in a, expected one edition for each gameType",
        ),
        ("password =", "1: password: cannot be used, expected a text in UTF-8 that is not empty"),
        ("a = \\u00zz", "1: '\\\\u00zz' is not an escape, expected \\u and four digits"),
    ],
)
def test_a_mistake_in_the_file_is_reported_with_its_line(tmp_path: Path, properties: str, line: str) -> None:
    with pytest.raises(ConfigError) as refused:
        _load(tmp_path, properties=properties)
    assert str(refused.value) == f"{tmp_path / 'server.properties'}:{line}"


@pytest.mark.parametrize(
    ("environ", "options", "line"),
    [
        (
            {"SPIELLEITER_PROT": "1"},
            {},
            "SPIELLEITER_PROT: there is no such environment variable (did you mean 'SPIELLEITER_PORT'?)",
        ),
        (
            {"SPIELLEITER_PORT": "x"},
            {},
            "SPIELLEITER_PORT: 'x' cannot be used, expected a whole number from 0 to 65535",
        ),
        (
            {},
            {"soft_timeout": "2s"},
            "--soft-timeout: '2s' cannot be used, expected milliseconds as a whole number from 1 to 2147483647",
        ),
        (
            {"SPIELLEITER_SOFT_TIMEOUT": "20000"},
            {},
            (
                "the soft time limit (20000 ms) is above the hard one (10000 ms), at which the game is over already; "
                "lower the soft one or raise the hard one (softTimeout, hardTimeout), or switch both off (--no-timeout)"
            ),
        ),
        (
            {"SPIELLEITER_EDITION": "one=a,one=b"},
            {},
            (
                "SPIELLEITER_EDITION: 'one=a,one=b' cannot be used, expected gameType=edition (several with commas "
                "between them, each gameType once)"
            ),
        ),
        (
            {},
            {"editions": ("one=a,two=c", "one=b")},
            "--edition: one is already played in a, expected one edition for each gameType",
        ),
        ({}, {"turn": "3"}, "turn 3 needs a replay to start from, expected loadGameFile with it"),
        ({}, {"ply": "3"}, "ply 3 needs a replay to start from, expected loadGameFile with it"),
        (
            {},
            {"ply": "0", "turn": "3", "load_game_file": "a.xml"},
            "turn 3 and ply 0 both name a position, expected one of them",
        ),
        (
            {},
            {"host": "0.0.0.0", "is_local": "true"},
            "host 0.0.0.0 and local true contradict each other, expected one of them",
        ),
        (
            {},
            {"host": "localhost", "is_local": "false"},
            "host localhost and local false contradict each other, expected one of them",
        ),
    ],
)
def test_a_mistake_elsewhere_is_reported_with_its_source(
    tmp_path: Path, environ: Mapping[str, str], options: Options, line: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        _load(tmp_path, environ=environ, options=options)
    assert str(refused.value) == line
    assert isinstance(refused.value, StartError)


def test_an_unreadable_file_is_reported_with_its_name(tmp_path: Path) -> None:
    missing = tmp_path / "missing.properties"
    with pytest.raises(ConfigError) as refused:
        _load(tmp_path, options={"config": str(missing)})
    assert str(refused.value) == f"{missing}: cannot be read (No such file or directory)"
    with pytest.raises(ConfigError) as refused:
        _load(tmp_path, properties="# Umlaut: ü".encode("latin-1"))
    assert (
        str(refused.value) == f"{tmp_path / 'server.properties'}: byte 10 is not UTF-8, expected a text file in UTF-8"
    )


def refused(file: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        list(read_properties(file))
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
def test_devices_and_pipes_are_not_read(tmp_path: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("Windows has nothing like it")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    link = tmp_path / "link"
    link.symlink_to(pipe)
    for file in (Path("/dev/zero"), pipe, link):
        assert refused(file) == f"{file}: is a device or a pipe, expected a text file in UTF-8"


def test_a_directory_and_a_file_that_is_too_large_are_refused(tmp_path: Path) -> None:
    assert refused(tmp_path).startswith(f"{tmp_path}: cannot be read (")
    file = tmp_path / "large"
    file.write_bytes(b"#" * (MOST_BYTES + 1))
    assert refused(file) == f"{file}: has more than 1048576 bytes, expected a text file with settings"
    file.write_bytes(b"#" * MOST_BYTES)
    assert list(read_properties(file)) == []


def test_every_line_of_the_default_file_shows_a_setting_and_its_default(tmp_path: Path) -> None:
    written = (ROOT / "server.properties").read_text(encoding="utf-8")
    lines = [line[1:] for line in written.splitlines() if line.startswith("#") and line[1:2].isalpha()]
    names = [line.partition(" =")[0] for line in lines]
    assert names == [each.name if each.name != "edition" else "edition.<gameType>" for each in SETTINGS]
    for text in (written, "\n".join(line for line in lines if "<gameType>" not in line)):
        (tmp_path / "server.properties").write_text(text, encoding="utf-8")
        assert structs.replace(load_config({}, {}, tmp_path), properties_file=None) == Config()
