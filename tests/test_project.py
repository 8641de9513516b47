"""The project's own files are consistent: settings, locks, commands, layers, documents."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from spielleiter.cli.cli import cli
from spielleiter.server.editions import EDITIONS
from tests.commands import run
from tests.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).parents[1]
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WHEEL: dict[str, Any] = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
PACKAGES = [folder for folder, package in WHEEL["sources"].items() if package == f"spielleiter/{folder}"]
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))

RUNTIME: list[str] = PYPROJECT["project"]["dependencies"]
CLUSTER: list[str] = PYPROJECT["project"]["optional-dependencies"]["cluster"]
BUILD: list[str] = PYPROJECT["dependency-groups"]["build"]
DEVELOPMENT: list[str] = [each for each in PYPROJECT["dependency-groups"]["dev"] if isinstance(each, str)]
FUZZ: list[str] = PYPROJECT["dependency-groups"]["fuzz"]

TARGETS = dict(
    re.findall(r"^([a-z-]+):.*?## (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
)
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
CONFIGURATION = [
    ROOT / "Makefile",
    ROOT / "pyproject.toml",
    ROOT / ".dockerignore",
    ROOT / ".ci" / "run",
    ROOT / "action.yml",
    *sorted((ROOT / ".github" / "workflows").iterdir()),
    *sorted((ROOT / "requirements").iterdir()),
    *sorted((ROOT / "docker").iterdir()),
]


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


class Lock:
    """A lock file: the versions that it pins, and the number of hashes of each."""

    def __init__(self, name: str) -> None:
        self.text = (ROOT / "requirements" / f"{name}.lock").read_text(encoding="utf-8")
        self.hash_counts: dict[str, int] = {}
        self.pins: dict[str, set[Version]] = {}
        lines = [line for line in self.text.splitlines() if not line.startswith("#")]
        for line in "\n".join(lines).replace("\\\n", " ").splitlines():
            words = re.split(r"\s+(?=--hash=)", line.strip())
            requirement = Requirement(words[0])
            (pin,) = requirement.specifier
            assert pin.operator == "==", line
            name = canonicalize_name(requirement.name)
            self.pins.setdefault(name, set()).add(Version(pin.version))
            self.hash_counts[words[0]] = sum(bool(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", w)) for w in words[1:])


LOCKS = {name: Lock(name) for name in ("build", "runtime", "cluster", "development", "fuzz", "publishing")}


# -- locks --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lock", "dependency"),
    [
        *(("runtime", each) for each in RUNTIME),
        *(("build", each) for each in BUILD),
        *(("cluster", each) for each in [*RUNTIME, *CLUSTER]),
        *(("development", each) for each in [*RUNTIME, *BUILD, *DEVELOPMENT]),
    ],
)
def test_the_locks_satisfy_the_dependencies_of_the_project(lock: str, dependency: str) -> None:
    requirement = Requirement(dependency)
    versions = LOCKS[lock].pins[canonicalize_name(requirement.name)]
    assert all(requirement.specifier.contains(version) for version in versions)


@pytest.mark.parametrize("dependency", [*RUNTIME, *BUILD, *DEVELOPMENT])
def test_dependencies_have_a_lower_bound_and_no_other(dependency: str) -> None:
    assert [each.operator for each in Requirement(dependency).specifier] == [">="]


@pytest.mark.parametrize("name", LOCKS)
def test_every_locked_version_has_its_hashes(name: str) -> None:
    assert LOCKS[name].hash_counts
    assert [line for line, count in LOCKS[name].hash_counts.items() if not count] == []


def test_all_locks_can_be_installed_into_one_environment() -> None:
    development = LOCKS["development"].pins
    for name, lock in LOCKS.items():
        if name not in {"fuzz", "publishing"}:  # publishing has an environment of its own
            assert {name: development.get(name) for name in lock.pins} == lock.pins
    assert not development.keys() & LOCKS["fuzz"].pins.keys()


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("system", ["linux", "darwin", "win32"])
@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14", "3.15"])
def test_the_lock_for_fuzzing_has_one_version_wherever_there_is_a_wheel(
    python: str, system: str, machine: str
) -> None:
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "sys_platform": system,
        "platform_machine": machine,
        "implementation_name": "cpython",
    }
    locked = [Requirement(line) for line in LOCKS["fuzz"].hash_counts]
    chosen = [each for each in locked if each.marker is not None and each.marker.evaluate(environment)]
    assert len(chosen) == (system == "linux" and machine == "x86_64" and python != "3.15")
    wanted = [each for each in map(Requirement, FUZZ) if each.marker is None or each.marker.evaluate(environment)]
    assert [each.specifier.contains(next(iter(chosen[0].specifier)).version) for each in wanted] == [True] * len(chosen)


def test_the_build_group_is_that_of_the_build_system() -> None:
    assert PYPROJECT["build-system"]["requires"] == BUILD


@pytest.mark.parametrize("path", CONFIGURATION, ids=relative)
def test_no_file_names_a_package_index(path: Path) -> None:
    text = path.read_text(encoding="utf-8").replace("tls://", "")  # the addresses of a cluster's own services
    names = ("-".join(words) for words in [("index", "url"), ("find", "links"), ("trusted", "host")])
    assert [name for name in ("://", *names) if name in text] == []


# -- commands -----------------------------------------------------------------------------------------------------


def test_make_without_a_target_lists_all_targets() -> None:
    listing = run("make").stdout
    assert re.findall(r"^  make ([a-z-]+) +(\S.*)$", listing, flags=re.MULTILINE) == list(TARGETS.items())


@pytest.mark.parametrize("target", TARGETS)
def test_make_has_a_rule_for_each_target(target: str) -> None:
    done = run("make", "--dry-run", target)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("document", DOCUMENTS, ids=relative)
def test_documents_name_targets_of_make_that_exist(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    named = re.findall(r"(?:^|`)(?:\w+=\S+ )*make ([a-z-]+)", text, flags=re.MULTILINE)
    assert set(named) - set(TARGETS) == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=relative)
def test_links_in_documents_lead_to_files_that_exist(document: Path) -> None:
    links = re.findall(r"\]\((?![a-z]+:|#)([^)#]+)", document.read_text(encoding="utf-8"))
    assert [link for link in links if not (document.parent / link).exists()] == []


def shown_commands() -> list[str]:
    """Return the lines in code blocks of all documents that start with the command `spielleiter`."""
    text = "\n".join(document.read_text(encoding="utf-8") for document in DOCUMENTS)
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return sorted({line for line in lines if line.startswith("spielleiter ")})


@pytest.mark.parametrize("line", shown_commands())
def test_commands_in_documents_are_valid(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name: str | None
    command: click.Command | None = cli
    context: click.Context | None = None
    filled_in = re.sub(r"\$\(.*?\)|\$\w+", "1", line)
    name, *words = shlex.split(re.split(r"[|&;>]", filled_in)[0], comments=True)
    while isinstance(command, click.Group):
        context = click.Context(command, parent=context, info_name=name)
        name, command, words = command.resolve_command(context, words)
    assert command is not None
    for file in (word for word in words if word.endswith(".toml")):  # the command reads it while parsing its options
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text('[[program]]\ncommand = "builtin:first"\n' * 2)
        monkeypatch.chdir(tmp_path)
    command.make_context(name, words, parent=context)


def test_the_first_targets_in_the_readme_are_serve_and_test() -> None:
    commands = re.findall(r"^make ([a-z-]+)", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert commands[:2] == ["serve", "test"]


@pytest.mark.parametrize("inherited", [{}, {"PYTHON": sys.executable, "MAKEFLAGS": f" -- PYTHON={sys.executable}"}])
def test_a_python_that_is_too_old_is_reported(
    inherited: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in inherited.items():
        monkeypatch.setenv(name, value)
    make = shutil.which("make")
    assert make
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 1  # the answer of an old version to the check of its version\n")
    (tmp_path / "python3").chmod(0o755)
    made = run(make, "setup", f"VENV={tmp_path / 'venv'}", PATH=str(tmp_path))
    assert "needs Python 3.11 or newer" in made.stderr
    assert made.returncode == 2


# -- layers ---------------------------------------------------------------------------------------------------------


def test_every_folder_is_packaged_linked_and_bound_by_the_contracts() -> None:
    found = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    layers = PYPROJECT["tool"]["importlinter"]["contracts"][0]["layers"]
    assert found == set(PACKAGES)
    assert found < set(WHEEL["only-include"])
    assert found == {package for layer in layers for package in re.split(r"\W+", layer)}
    links = {path.name: path.resolve() for path in (ROOT / "src" / "spielleiter").iterdir() if path.is_symlink()}
    assert links == {package: ROOT / package for package in found}


def test_ruff_forbids_to_import_a_folder_by_its_bare_name() -> None:
    """The folders are on the import path of the tests; imported from there, every class would exist twice."""
    forms = ["import {0}", "import {0}.x", "from {0} import x", "from {0}.x import y"]
    lines = [form.format(folder) for folder in (*PACKAGES, "src") for form in forms]
    ruff = [sys.executable, "-m", "ruff", "check", "--output-format=concise", "--stdin-filename=tests/test_x.py", "-"]
    checked = subprocess.run(
        ruff, cwd=ROOT, input="\n".join(lines), capture_output=True, text=True, timeout=HANG_TIMEOUT, check=False
    )
    refused = re.findall(r"^tests/test_x\.py:(\d+):\d+: TID251 ", checked.stdout, re.MULTILINE)
    assert [int(number) for number in refused] == list(range(1, len(lines) + 1))


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_a_source_file_has_a_docstring(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


GAME_NAMES = tuple(path.parent.name for path in (ROOT / "game").glob("*/__init__.py"))
GAMES = tuple(f"spielleiter.game.{name}." for name in GAME_NAMES)
TABLES_OF_GAMES = {
    "server/editions.py",
    "client/evaluation.py",
    "client/levels/ladders.py",
    "client/strategies.py",
    "cli/board.py",
    "viewer/positions/describe.py",
}
PARTS_OF_GAMES = ("client/levels/", "viewer/positions/")  # a file is of the game whose name it begins with
RULES_AND_WIRE_FORMS = ("game/", "protocol/")
BRIDGES = ("client/gtp/",)  # translates one game for engines that play nothing else
SCRIPTED = ("bench/",)  # its scripted games are games of a certain season
OF_CERTAIN_GAMES = RULES_AND_WIRE_FORMS + BRIDGES + SCRIPTED


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in SOURCES
        if not relative(path).startswith(OF_CERTAIN_GAMES)
        and not (relative(path).startswith(PARTS_OF_GAMES) and path.name.startswith(GAME_NAMES))
        and relative(path) not in TABLES_OF_GAMES
    ],
    ids=relative,
)
def test_only_tables_of_games_import_concrete_games(path: Path) -> None:
    imported: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported |= {f"{node.module}.{alias.name}" for alias in node.names}
    assert [name for name in imported if name.startswith((*GAMES, "spielleiter.protocol.dialects."))] == []


SEASONS = {name for edition in EDITIONS.values() for name in (edition.game_type, edition.name)}
YEARS = set(re.findall(r"\d{4}", " ".join(SEASONS)))
MIN_PREFIX = 4
"""The length from which the beginning of a name counts as naming seasons: `swc_` does, a letter does not."""
NAMES_SEASONS = {"server/editions.py", "protocol/current_season.py", "cli/options.py"}


def comparands(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield the operands of comparisons, of `startswith` and `endswith`, and of `match` statements."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=left, comparators=others):
                yield from (left, *others)
            case ast.MatchValue(value=value):
                yield value
            case ast.Call(func=ast.Attribute(attr="startswith" | "endswith"), args=arguments):
                yield from arguments


def names_a_season(text: str) -> bool:
    """Whether this is a year, a gameType, the name of an edition, or the beginning of such a name."""
    return text in YEARS | SEASONS or any(len(text) >= MIN_PREFIX and name.startswith(text) for name in SEASONS)


def seasons_compared_with(text: str) -> list[object]:
    """Return the years, gameTypes and names of editions that this code compares something with."""
    constants = (each for value in comparands(ast.parse(text)) for each in ast.walk(value))
    return [each.value for each in constants if isinstance(each, ast.Constant) and names_a_season(str(each.value))]


@pytest.mark.parametrize(
    "path",
    [path for path in SOURCES if relative(path) not in NAMES_SEASONS],
    ids=relative,
)
def test_no_code_compares_with_a_season(path: Path) -> None:
    assert seasons_compared_with(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "code",
    [
        "if edition.name == 'blokus-2027': pass",
        "is_old = game_type in {'swc_2018_hase_und_igel'}",
        "if 2021 <= year: pass",
        "if name.startswith('swc_2021'): pass",
        "match name:\n    case 'hase-und-igel-2018':\n        pass",
    ],
)
def test_a_comparison_with_a_season_would_be_found(code: str) -> None:
    assert len(seasons_compared_with(code)) == 1


# -- documents ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dependency", [*RUNTIME, *BUILD, *DEVELOPMENT])
def test_contributing_gives_a_reason_for_each_dependency(dependency: str) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| `{re.escape(Requirement(dependency).name)}` \| \S", text, flags=re.MULTILINE)


def test_the_changelog_starts_with_unreleased_changes() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert headings[0] == "Unreleased"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="Git decides this")
def test_git_for_windows_keeps_the_ends_of_lines(tmp_path: Path) -> None:
    """It is installed with ``core.autocrlf=true``, and scripts and samples are compared or run as they are."""

    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "core.autocrlf=true", *words], cwd=tmp_path, capture_output=True, check=True)

    shutil.copy(ROOT / ".gitattributes", tmp_path)
    names = (".ci/run", "tests/sample.xml", "release/start.bat")
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"one\ntwo\n")
    git("init")
    git("add", ".")
    for name in names:
        (tmp_path / name).unlink()
    git("checkout-index", "--all")
    assert {name: (tmp_path / name).read_bytes().count(b"\r\n") for name in names} == dict(
        zip(names, (0, 0, 2), strict=True)
    )
