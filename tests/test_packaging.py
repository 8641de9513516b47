"""Wheel, sdist and editable install: what is in them, and what an installation of them brings.

Everything is built offline, with the hatchling of the environment that runs the tests.
"""

from __future__ import annotations

import fnmatch
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hatch_build
from tests.documents import ROOT, blocks
from tests.timeouts import HANG_TIMEOUT

PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TARGETS: dict[str, Any] = PYPROJECT["tool"]["hatch"]["build"]["targets"]
FOLDERS = [folder for folder, package in TARGETS["wheel"]["sources"].items() if package]
NAME = f"spielleiter-{PYPROJECT['project']['version']}"
DIST_INFO = f"{NAME}.dist-info"
IGNORED = [
    line.strip("/")
    for line in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    if not line.startswith("/")  # such a line is about the top folder, which has none of the sources
]


def files_below(folder: Path) -> Iterator[Path]:
    """The files in `folder` and its subfolders that Git does not ignore, without links."""
    for path in folder.iterdir():
        if path.is_symlink() or any(fnmatch.fnmatch(path.name, pattern) for pattern in IGNORED):
            continue
        if path.is_dir():
            yield from files_below(path)
        else:
            yield path


def copy_checkout(target: Path) -> Path:
    """Copy what the sdist is made of, and `src` as Git on Windows checks it out: a text file for each link."""
    for name in TARGETS["sdist"]["only-include"]:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns(*IGNORED))
        else:
            shutil.copy(ROOT / name, target / name)
    for folder in FOLDERS:
        (target / "src" / "spielleiter" / folder).write_text(f"../../{folder}", encoding="utf-8", newline="")
    return target


def build(project: Path, target: str, folder: Path) -> Path:
    """Build the wheel or the sdist of `project` into `folder`."""
    command = [sys.executable, "-P", "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    subprocess.run(command, cwd=project, check=True, capture_output=True, timeout=HANG_TIMEOUT)
    (built,) = folder.iterdir()
    return built


def pip_install(*arguments: str | Path, python: str = sys.executable) -> subprocess.CompletedProcess[str]:
    """Run the `pip install` of this environment for the environment of `python`, without a network."""
    options = ["--no-index", "--no-deps", "--no-build-isolation", "--no-compile", "--disable-pip-version-check"]
    pip = [sys.executable, "-P", "-m", "pip", "--python", python, "install"]
    command = [*pip, *options, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=HANG_TIMEOUT, check=False)


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist of this checkout, unpacked."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(build(ROOT, "sdist", folder / "built")) as archive:
        # the filter is the default from Python 3.14 on, and 3.11.2 does not have it
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, _path: member)
        archive.extractall(folder)
    return folder / NAME


# -- wheel --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_wheel_holds_every_source_file_and_nothing_else(wheel: Path) -> None:
    sources = {
        f"spielleiter/{path.relative_to(ROOT).as_posix()}" for name in FOLDERS for path in files_below(ROOT / name)
    }
    sources |= {f"spielleiter/{path.name}" for path in files_below(ROOT / "src" / "spielleiter")}
    metadata = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    files = contents(wheel)
    assert set(files) == sources | {f"{DIST_INFO}/{name}" for name in metadata}
    assert b"\nLicense-Expression: MIT\nLicense-File: LICENSE\n" in files[f"{DIST_INFO}/METADATA"]


@pytest.mark.slow
def test_an_installed_wheel_adds_one_package_to_site_packages_which_runs_and_is_typed(
    wheel: Path, tmp_path: Path
) -> None:
    venv.create(tmp_path / "venv", symlinks=os.name != "nt")
    python = tmp_path / "venv" / "bin" / "python"
    (site,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    before = set(site.iterdir())
    installed = pip_install(wheel, python=str(python))
    assert installed.returncode == 0, installed.stderr
    assert {path.name for path in set(site.iterdir()) - before} == {"spielleiter", DIST_INFO}

    # The dependencies are those of this environment.
    dependencies = Path(pytest.__file__).parents[1]
    (site / "dependencies.pth").write_text(f"{dependencies}\n", encoding="utf-8")
    user = tmp_path / "user"
    user.mkdir()

    def run_as_user(*command: str | Path) -> subprocess.CompletedProcess[str]:
        environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "MYPYPATH"}}
        return subprocess.run(
            command, cwd=user, env=environment, capture_output=True, text=True, timeout=HANG_TIMEOUT, check=False
        )

    for command in ([python.with_name("spielleiter")], [python, "-P", "-m", "spielleiter"]):
        done = run_as_user(*command, "--version")
        assert done.stdout.startswith("spielleiter "), done
    done = run_as_user(python.with_name("spielleiter"), "demo", "--seed", "1")
    assert re.match(r"(greedy|random) wins ", done.stdout.splitlines()[-1]), done
    done = run_as_user(python, "-c", "import spielleiter.cli; print(spielleiter.cli.__file__)")
    assert Path(done.stdout.strip()).is_relative_to(site), done

    script = (
        "from spielleiter.client import play_game\n"
        "from spielleiter.game.api import Move, State\n\n\n"
        "def strategy(state: State) -> Move:\n"
        "    return next(iter(state.generate_legal_moves()))\n\n\n"
        "is_won: bool = play_game(strategy).has_won\n"
        "moves: str = play_game(strategy).moves_played\n"
        "play_game(strategy, port='13050')\n"
    )
    (user / "script.py").write_text(script, encoding="utf-8")
    mypy = [sys.executable, "-m", "mypy", "--strict", "--no-color-output", "--cache-dir", str(tmp_path / "cache")]
    checked = run_as_user(*mypy, "--python-executable", python, "script.py")
    errors = re.findall(r"^script\.py:(\d+): error: .*\[([a-z-]+)\]$", checked.stdout, re.MULTILINE)
    assert errors == [("10", "assignment"), ("11", "arg-type")], checked.stdout
    assert "Found 2 errors in 1 file" in checked.stdout


# -- sdist --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_sdist_holds_everything_but_the_links(sdist: Path) -> None:
    git = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0:  # a clone
        names = {name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()}
    else:  # a copy of one, in which other files may lie at the top
        included = [ROOT / name for name in TARGETS["sdist"]["only-include"]]
        names = {
            path.relative_to(ROOT).as_posix()
            for each in included
            for path in (files_below(each) if each.is_dir() else [each])
        }
    names -= {f"src/spielleiter/{folder}" for folder in FOLDERS}
    assert {path.relative_to(sdist).as_posix() for path in sdist.rglob("*") if path.is_file()} == names | {"PKG-INFO"}
    for name in (".ci/run", "docker/try.sh"):
        assert os.access(sdist / name, os.X_OK)


@pytest.mark.slow
def test_the_wheel_of_the_sdist_is_that_of_the_checkout(sdist: Path, wheel: Path, tmp_path: Path) -> None:
    assert contents(build(sdist, "wheel", tmp_path)) == contents(wheel)


@pytest.mark.slow
def test_tests_run_in_an_unpacked_sdist(sdist: Path) -> None:
    """The editable installation makes the links that the sdist lacks."""
    site = sdist.parent / "site"
    installed = pip_install("--target", site, "--editable", sdist)
    assert installed.returncode == 0, installed.stderr
    script = (
        f"import pathlib, site, sys; site.addsitedir({str(site)!r}); sys.path.insert(0, {str(sdist / 'src')!r})\n"
        "import pytest, spielleiter.game.api\n"
        f"assert pathlib.Path(spielleiter.game.api.__file__).is_relative_to({str(sdist)!r})\n"
        "tests = ['tests/game/blokus/test_moves.py', 'tests/test_packaging.py', '-m', 'not slow']\n"
        "sys.exit(pytest.main(['-q', '-p', 'no:xdist', *tests]))\n"
    )
    links = {
        path.name: path.readlink().as_posix() for path in (sdist / "src/spielleiter").iterdir() if path.is_symlink()
    }
    assert links == {folder: f"../../{folder}" for folder in FOLDERS}
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        cwd=sdist,
        capture_output=True,
        text=True,
        timeout=HANG_TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


# -- a checkout without links -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_pip_installs_the_same_files_from_a_checkout_without_links(wheel: Path, tmp_path: Path) -> None:
    checkout, site = copy_checkout(tmp_path / "checkout"), tmp_path / "site"
    installed = pip_install("--target", site, checkout)
    assert installed.returncode == 0, installed.stderr
    assert {path.name for path in site.iterdir()} == {"spielleiter", DIST_INFO, "bin"}
    files = {path.relative_to(site).as_posix(): path.read_bytes() for path in (site / "spielleiter").rglob("*.*")}
    assert files == {name: content for name, content in contents(wheel).items() if name.startswith("spielleiter/")}
    assert not any((checkout / "src" / "spielleiter" / folder).is_symlink() for folder in FOLDERS)


@pytest.mark.slow
def test_an_editable_installation_that_cannot_make_the_links_says_why(tmp_path: Path) -> None:
    checkout = copy_checkout(tmp_path / "checkout")
    obstacle = checkout / "src" / "spielleiter" / "game"
    obstacle.write_text("something else", encoding="utf-8")
    installed = pip_install("--target", tmp_path / "site", "--editable", checkout)
    assert installed.returncode == 1
    assert f"{obstacle} is in the way of a link to ../../game: remove it and try again." in installed.stderr
    assert "Traceback" not in installed.stdout + installed.stderr
    assert obstacle.read_text(encoding="utf-8") == "something else"


# -- the links of an editable install -----------------------------------------------------------------------------


@pytest.fixture
def link(tmp_path: Path) -> Path:
    """Where the link to the folder `game` of a project belongs."""
    (tmp_path / "game").mkdir()
    (tmp_path / "src" / "spielleiter").mkdir(parents=True)
    return tmp_path / "src" / "spielleiter" / "game"


@pytest.mark.parametrize("text", [None, "../../game", "../../game\n"], ids=["nothing", "text", "text with a line end"])
def test_a_missing_link_is_made(text: str | None, link: Path, tmp_path: Path) -> None:
    if text is not None:
        link.write_text(text, encoding="utf-8")
    for _ in range(2):
        hatch_build.require_link(link, tmp_path / "game")
        assert link.readlink() == Path("../../game")


@pytest.mark.parametrize("kind", ["folder", "text", "link to nowhere"])
def test_nothing_else_is_replaced(kind: str, link: Path, tmp_path: Path) -> None:
    if kind == "folder":
        link.mkdir()
    elif kind == "text":
        link.write_text("my notes", encoding="utf-8")
    else:
        link.symlink_to("nowhere")
    before = link.lstat()
    with pytest.raises(hatch_build.LinkError, match=r"is in the way of a link to \.\./\.\./game: remove it"):
        hatch_build.require_link(link, tmp_path / "game")
    assert link.lstat() == before


@pytest.mark.parametrize("text", [None, "../../game"])
def test_a_system_that_makes_no_links_is_an_error_that_says_what_to_do(
    text: str | None, link: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object, **_more: object) -> None:
        raise OSError(1314, "A required privilege is not held by the client")

    if text is not None:
        link.write_text(text, encoding="utf-8")
    monkeypatch.setattr(Path, "symlink_to", refuse)
    with pytest.raises(hatch_build.LinkError, match=r"privilege is not held.*Developer Mode.*pip install \."):
        hatch_build.require_link(link, tmp_path / "game")
    assert (link.read_text(encoding="utf-8") if link.exists() else None) == text


# -- the first command of the READMEs --------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_first_command_works_in_a_checkout(tmp_path: Path) -> None:
    """What pip would download comes from the environment of the tests."""
    if sys.platform == "win32":
        pytest.skip("Windows has other commands")
    first = blocks("README.md", "sh", "Start it")[0]
    assert blocks("README.de.md", "sh", "Installieren und starten")[0].text == first.text
    assert "pip install .\n" in first.text
    folder = copy_checkout(tmp_path / "checkout")
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "python3").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', encoding="utf-8")
    (programs / "python3").chmod(0o755)
    offline = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0"}
    environment = {**os.environ, **offline, "PYTHONPATH": sysconfig.get_path("purelib")}
    environment["PATH"] = f"{programs}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", first.text],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=HANG_TIMEOUT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.search(r"^(greedy|random) wins|a draw", done.stdout, re.MULTILINE)
    assert (folder / ".venv" / "bin" / "spielleiter").is_file()
