"""The man page is made from the help, and the systemd unit starts the server with options that exist."""

from __future__ import annotations

import configparser
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from spielleiter.cli.cli import cli
from spielleiter.cli.manual import commands, line, render, roff
from spielleiter.cli.serve import serve
from tests.documents import ROOT
from tests.timeouts import HANG_TIMEOUT

UNIT = ROOT / "docs" / "spielleiter.service"


def test_every_command_and_every_option_is_in_the_page() -> None:
    page = render()
    found = list(commands(cli, click.Context(cli, info_name="spielleiter")))
    names = [context.command_path.removeprefix("spielleiter ") for _, context in found]
    assert {"serve", "play", "admin", "admin prepare", "admin status", "bench"} < set(names)
    for (command, _), name in zip(found, names, strict=True):
        section = page.partition(f".SS {roff(name)}\n")[2].partition("\n.SS ")[0]
        options = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]
        for option in options:
            assert roff(option.opts[0]) in section


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a-b", "a\\-b\n"),
        (".so this", "\\&.so this\n"),
        ('say "x"', "say \\(dqx\\(dq\n"),
    ],
)
def test_text_is_escaped_for_roff(text: str, written: str) -> None:
    assert line(text) == written


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("groff") is None, reason="there is no groff here to read the page")
def test_groff_reports_nothing() -> None:
    command = ["groff", "-man", "-Tutf8", "-ww", "-P-cbou"]
    done = subprocess.run(
        command, input=render(), capture_output=True, encoding="utf-8", check=True, timeout=HANG_TIMEOUT
    )
    assert done.stderr == ""
    assert "spielleiter serve [OPTIONS]" in done.stdout


def unit() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=False, delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(UNIT.read_text(encoding="utf-8"))
    return parser


def test_the_unit_starts_the_server_with_options_that_exist() -> None:
    service = unit()["Service"]
    program, command, *options = shlex.split(service["ExecStart"])
    assert (Path(program).name, command) == ("spielleiter", "serve")
    serve.make_context("serve", options)  # raises an error for an unknown option


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here to verify the unit")
def test_systemd_reports_nothing(tmp_path: Path) -> None:
    program = shlex.split(unit()["Service"]["ExecStart"])[0]
    copy = tmp_path / "spielleiter.service"
    text = UNIT.read_text(encoding="utf-8").replace(f"ExecStart={program}", f'ExecStart="{sys.executable}"')
    copy.write_text(text, encoding="utf-8")
    command = ["systemd-analyze", "verify", "--man=no", str(copy)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=HANG_TIMEOUT)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
