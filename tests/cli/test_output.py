"""Every command works in every locale and output encoding, and its lines fit into the terminal."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.cli.options import PASSWORD, TEXT, recovered
from spielleiter.cli.output import fitted, json_text, prepare_streams, print_line
from spielleiter.common.text import printable, text_width, wrapped
from tests.cli.background import background_server, misuse
from tests.cli.terminal import pty, seen
from tests.timeouts import HANG_TIMEOUT
from tests.viewer.replay_files import replay_of

PYTHON_ALONE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}  # arguments are ASCII then
NAME = "Jörg ∞ Škoda 小"
LONG = "lost as player 1, 0:10; player 1: RULE_VIOLATION the piece is placed already"


def spielleiter(*arguments: str | bytes, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run the real command without the locale of the surrounding process."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHON"))}
    if not sys.prefix.isascii():
        # before 3.13, Python reads the paths of installed packages in the locale's encoding
        started = subprocess.run(
            [sys.executable, "-c", ""], capture_output=True, env={**inherited, **environment}, check=False
        )
        if b"addpackage" in started.stderr:
            pytest.skip("Python itself cannot start from a folder of this name under this locale")
    return subprocess.run(
        [sys.executable, "-m", "spielleiter", *arguments],
        capture_output=True,
        env={**inherited, **environment},
        check=False,
        cwd=Path(__file__).parents[2],
    )


def assert_well(done: subprocess.CompletedProcess[bytes], exit_code: int = 0) -> None:
    assert (done.returncode, b"Traceback" in done.stderr) == (exit_code, False), done.stderr.decode("utf-8", "replace")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("locale", "given_name", "kept_name", "encoding"),
    [
        ({"LC_ALL": "C"}, NAME.encode(), NAME, "utf-8"),
        (PYTHON_ALONE, NAME.encode(), NAME, "utf-8"),
        ({"LC_ALL": "C.UTF-8"}, NAME.encode() + "ö".encode("latin-1"), f"{NAME}\ufffd", "cp850:strict"),
    ],
    ids=["coerced", "by Python alone", "not UTF-8"],
)
def test_a_match_keeps_names_in_every_locale_and_can_be_printed_in_every_encoding(
    locale: dict[str, str], given_name: bytes, kept_name: str, encoding: str, tmp_path: Path
) -> None:
    folder = tmp_path / "match"
    players = ("--player1", "builtin:first", "--player2", "builtin:random", "--name1", given_name)
    options = ("--games", "2", "--pages", "none", "--out", str(folder))
    done = spielleiter("match", *players, *options, **locale, PYTHONIOENCODING=encoding)
    assert_well(done)
    spelt = done.stdout.decode(encoding.partition(":")[0])
    assert "Elo " in spelt
    assert ("∞" in spelt) == (encoding == "utf-8")
    assert "J" in spelt.splitlines()[0]
    # what the locale cannot decode is decoded as UTF-8
    assert json.loads((folder / "summary.json").read_text(encoding="utf-8"))["names"] == [kept_name, "random"]
    for file in ("games.csv", "junit.xml", "summary.md", "report.html"):
        assert "Jörg" in (folder / file).read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_slots_name_reaches_the_server_as_it_was_typed_and_can_be_printed() -> None:
    with background_server() as server:
        port = ("--port", str(server.port))
        assert_well(spielleiter("admin", "prepare", *port, "--slot", NAME.encode(), "--slot", "Zwei", **PYTHON_ALONE))
        as_text = spielleiter("admin", "status", *port, PYTHONIOENCODING="cp1252")
        as_json = server.run("admin", "status", "--json")
    assert_well(as_text)
    assert "Jörg " in as_text.stdout.decode("cp1252")
    assert NAME in str(json.loads(as_json.stdout))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "is_option", "message"),
    [
        (("serve", "--port", "0"), True, b"cannot be used, expected a text in UTF-8"),
        (("serve", "--port", "0"), False, b"cannot be used, expected a text in UTF-8"),
        (("admin", "status"), True, b"the password is not UTF-8"),
        (("match", "--server", "127.0.0.1:1", "--player1", "builtin:first"), False, b"the password is not UTF-8"),
    ],
)
def test_a_password_that_is_not_utf_8_is_refused_at_once(
    arguments: tuple[str, ...], is_option: bool, message: bytes
) -> None:
    password = b"secret\xff"
    if is_option:
        done = spielleiter(*arguments, "--password", password)
    else:
        done = spielleiter(*arguments, SPIELLEITER_PASSWORD=os.fsdecode(password))
    assert_well(done, 2)
    assert message in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert b"secret" not in done.stderr


@pytest.mark.parametrize(
    ("line", "message"),
    [(b"password = \xff", "is not UTF-8, expected a text file"), (b"password = \\ud8ff", "expected a text in UTF-8")],
)
def test_a_password_in_a_file_that_is_not_utf_8_is_refused(line: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "server.properties").write_bytes(line)
    assert message in misuse("serve", "--port", "0", "--config", str(tmp_path / "server.properties"))


@pytest.mark.slow
def test_an_invalid_host_is_one_line() -> None:
    done = spielleiter("play", "-h", b"\xff")
    assert_well(done, 1)
    assert done.stderr.count(b"\n") == 1
    assert b"no such host" in done.stderr


@given(raw=st.binary(max_size=20).filter(lambda raw: b"\0" not in raw))
def test_every_argument_can_be_encoded_as_utf_8(raw: bytes) -> None:
    text = recovered(os.fsdecode(raw))
    assert text == raw.decode("utf-8", "replace")


def test_surrogates_are_replaced_except_in_passwords() -> None:
    assert TEXT("J\udcf6rg \ud800") == "J\ufffdrg \ufffd"
    assert PASSWORD("gehe\ufffdim ö") == "gehe\ufffdim ö"
    assert PASSWORD("geh\udcc3\udca4im") == "gehäim"  # the bytes of UTF-8 in a locale without it
    with pytest.raises(click.BadParameter) as refused:
        PASSWORD("geheim\udcff")
    assert "geheim" not in str(refused.value)


@pytest.fixture
def narrow_output(monkeypatch: pytest.MonkeyPatch) -> io.TextIOWrapper:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "stderr", None)
    prepare_streams()
    return stream


def test_no_stream_is_left_open_in_place_of_a_missing_one() -> None:
    code = "import sys; from spielleiter.cli.output import prepare_streams; "
    code += (
        "errors, sys.stderr = sys.stderr, None; prepare_streams(); print('lost', file=sys.stderr); sys.stderr = errors"
    )
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", code], capture_output=True, timeout=HANG_TIMEOUT, check=True
    )
    assert done.stdout + done.stderr == b""


def test_missing_characters_are_replaced_by_similar_ones(narrow_output: io.TextIOWrapper) -> None:
    narrow_output.write("ö ½ +∞ Š ć 小 \udcff")
    narrow_output.flush()
    assert isinstance(narrow_output.buffer, io.BytesIO)
    assert narrow_output.buffer.getvalue().decode("cp1252") == "ö ½ +inf Š c ? ?"
    with pytest.raises(UnicodeDecodeError):
        b"\xff".decode("utf-8", "spielleiter.nearest")


def test_json_escapes_control_characters() -> None:
    value = {"name": "ü \x7f\x9b2J\u202e"}
    assert json_text(value) == r'{"name": "\u00fc \u007f\u009b2J\u202e"}'
    assert json.loads(json_text(value)) == value


def test_json_loses_nothing(narrow_output: io.TextIOWrapper) -> None:
    assert json_text({"name": "Jörg"}, narrow_output) == '{"name": "Jörg"}'
    assert json_text({"name": "∞"}, narrow_output) == '{"name": "\\u221e"}'
    assert json_text("∞", io.TextIOWrapper(io.BytesIO(), encoding="utf-8")) == '"∞"'


@pytest.mark.slow
@pytest.mark.parametrize("closed", [1, 2])
def test_a_command_without_one_of_its_streams_does_its_work(closed: int, tmp_path: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("Windows has no such redirections")
    saved = tmp_path / "replay.xml"
    saved.write_bytes(replay_of("blokus-2027", plies=4))
    command = f'exec "$1" -P -m spielleiter replay "$2" --text {closed}>&-'
    done = subprocess.run(
        ["sh", "-c", command, "sh", sys.executable, str(saved)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert bool(done.stdout) is (closed == 2)


def test_control_characters_are_escaped() -> None:
    assert printable("a\033[2Jb\nc\td") == r"a\x1b[2Jb\nc\td"
    assert printable("wide\u3000blank, private \ue000") == "wide blank, private ?"


@pytest.mark.parametrize(
    ("text", "columns", "lines"),
    [
        ("over: nobody wins against (12, 3) at all", 30, ["over: nobody wins against", "  (12, 3) at all"]),
        ("turn   1  a", 30, ["turn   1  a"]),
        ("a-very-long-word-that-is-one", 10, ["a-very-long-word-that-is-one"]),
        ("", 10, [""]),
        ("日本語 日本語 日本語 日本語", 20, ["日本語 日本語 日本語", "  日本語"]),
        ("Jo\u0308rg Jo\u0308rg Jo\u0308rg Jo\u0308rg", 19, ["Jo\u0308rg Jo\u0308rg Jo\u0308rg Jo\u0308rg"]),
    ],
)
def test_lines_are_split_between_words(text: str, columns: int, lines: list[str]) -> None:
    assert wrapped(text, columns) == lines


@given(st.lists(st.text("a日\u0308-", min_size=1, max_size=8), min_size=1).map(" ".join), st.integers(12, 60))
def test_no_line_is_too_long_and_no_word_is_lost(text: str, columns: int) -> None:
    lines = wrapped(text, columns)
    assert " ".join(line.strip() for line in lines) == text
    assert all(text_width(line) <= columns or " " not in line.strip() for line in lines)


# -- lines ------------------------------------------------------------------------------------------------------------


def test_a_line_that_is_too_wide_for_the_terminal_is_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    with pty(columns=40) as terminal:
        monkeypatch.setattr(sys, "stdout", terminal.file)
        print_line(LONG)
        print_line("        got: the process ended with exit code 1")
        print_line("a short line")
        assert seen(terminal.end(), 40, 24) == [
            "lost as player 1, 0:10; player 1:",
            "  RULE_VIOLATION the piece is placed",
            "  already",
            "        got: the process ended with",
            "          exit code 1",
            "a short line",
        ]


def test_text_in_backticks_is_not_split() -> None:
    with pty(columns=40) as terminal:
        line = fitted("nobody listens there; start a server with `spielleiter serve --port 1`", terminal.file)
    assert line.splitlines() == ["nobody listens there; start a server", "  with `spielleiter serve --port 1`"]


def test_without_a_terminal_nothing_is_wrapped(capsys: pytest.CaptureFixture[str]) -> None:
    print_line(LONG * 5)
    assert capsys.readouterr().out == LONG * 5 + "\n"
