"""The options that play a match on several machines, and matches on workers that the command starts itself."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from spielleiter.cli.cli import cli
from spielleiter.match.records import read_journal

Invoke = Callable[..., Result]
MATCH = ("match", "--player1", "builtin:first", "--player2", "builtin:random", "-n", "2", "--seed", "1")


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(cli, words)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--cluster", "pc01:8786"), "cluster 'pc01:8786': expected tcp://HOST:PORT"),
        (
            ("--cluster", "tcp://pc01:8786"),
            "cluster 'tcp://pc01:8786': not encrypted, and everybody in its network can",
        ),
        (("--cluster", "tcp://10.0.0.7:8786"), "use tls:// (docs/cluster.md), or add --unencrypted"),
        (("--ship", "."), "--ship has no effect without --cluster"),
        (("--unencrypted",), "--unencrypted has no effect without --cluster"),
        (("--max-slowdown", "2"), "--max-slowdown has no effect without --cluster"),
        (("--max-slowdown", "0.5"), "'--max-slowdown'"),
        (("--cluster", "local:1", "--ship", "nothing"), "--ship nothing: there is no such file or folder"),
        (("--cluster", "local:1", "--server", "127.0.0.1:1"), "on a cluster each machine has a server of its own"),
    ],
)
def test_misuse_is_refused_before_anything_is_started(words: tuple[str, ...], text: str, invoke: Invoke) -> None:
    result = invoke(*MATCH, *words)
    assert result.exit_code == 2
    assert text in result.stderr


def test_without_the_extra_one_line_says_what_to_install(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    for words in (MATCH, ("tournament", "file.toml")):
        Path("file.toml").write_text('[[program]]\nname="a"\ncommand="builtin:first"\n' * 2, encoding="utf-8")
        Path("file.toml").write_text(Path("file.toml").read_text().replace('"a"', '"b"', 1), encoding="utf-8")
        result = invoke(*words, "--cluster", "tcp://127.0.0.1:1")
        assert result.exit_code == 2
        [line] = [each for each in result.stderr.splitlines() if "install" in each]
        assert "pip install 'spielleiter[cluster]'" in line
        assert "Traceback" not in result.stderr


def test_dask_is_not_loaded_without_the_option() -> None:
    code = "import sys; from spielleiter.cli.cli import cli; cli(sys.argv[1:], standalone_mode=False); "
    code += "assert not {'dask', 'distributed'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code, "match", "--help"], check=True, capture_output=True)


@pytest.mark.slow
def test_a_scheduler_that_cannot_be_reached_is_named(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "spielleiter", *MATCH, "--cluster", "tcp://127.0.0.1:1", "--out", str(tmp_path)]
    patch = "import spielleiter.cluster.engine as engine; engine.CONNECT_TIMEOUT = 0.5; "
    patch += "from spielleiter.cli.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", patch, *command[3:]], capture_output=True, text=True, check=False)
    assert done.returncode == 4
    [line] = done.stderr.splitlines()
    assert line.startswith("spielleiter match: tcp://127.0.0.1:1: no Dask scheduler can be reached there")


@pytest.mark.slow
def test_an_unencrypted_scheduler_on_another_machine_needs_an_option_that_says_so(tmp_path: Path) -> None:
    """The address is one that nobody has, so that the command goes on to look for a scheduler there."""
    words = (*MATCH, "--cluster", "tcp://192.0.2.1:8786", "--unencrypted", "--out", str(tmp_path))
    patch = "import spielleiter.cluster.engine as engine; engine.CONNECT_TIMEOUT = 0.5; "
    patch += "from spielleiter.cli.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", patch, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert "tcp://192.0.2.1:8786: no Dask scheduler can be reached there" in done.stderr


@pytest.mark.slow
def test_a_match_and_its_end_on_workers_that_the_command_starts(tmp_path: Path) -> None:
    folder = tmp_path / "match"
    command = [sys.executable, "-m", "spielleiter", *MATCH, "--cluster", "local:1", "--out", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if not line.startswith("game ")] == []  # nothing of Dask
    machine = {record.machine for record in read_journal(folder)}
    assert len(machine) == 1
    assert f"machines: {machine.pop()} 2 games" in done.stdout
    assert json.loads((folder / "summary.json").read_text())["machines"][0]["games"] == 2
    assert "<caption>Machines</caption>" in (folder / "report.html").read_text()


@pytest.mark.slow
def test_a_tournament_keeps_its_workers_for_all_matches(tmp_path: Path) -> None:
    file = tmp_path / "file.toml"
    programs = [f'[[program]]\nname = "{name}"\ncommand = "builtin:first"\n' for name in "abc"]
    file.write_text("games = 2\n" + "".join(programs), encoding="utf-8")
    folder = tmp_path / "tournament"
    command = [sys.executable, "-m", "spielleiter", "tournament", str(file), "--cluster", "local:1"]
    done = subprocess.run([*command, "--out", str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if not line.startswith("game ")] == []  # nothing of Dask
    journals = list(folder.rglob("games.jsonl"))
    assert len(journals) == 3
    machines = {json.loads(line)["machine"] for each in journals for line in each.read_text().splitlines()}
    assert len(machines) == 1
    assert machines != {""}
