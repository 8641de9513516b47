"""Every fault is named by its own code, and a sound package raises no alarm."""

from __future__ import annotations

import random
import stat
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Any

import pytest

from spielleiter.programs.packages.faults import FAULTS, Level, PackageError, finding_of, shortened
from spielleiter.programs.packages.package import Package, unpack_package
from tests.programs.packages.binaries import LOADER, elf, jar
from tests.programs.packages.broken_packages import BROKEN, SOUND
from tests.programs.packages.making import BOT, SHELL_BOT, inspected, zipped
from tests.programs.packages.official_packages import (
    FOLDER,
    java_player,
    java_project,
    java_sources,
    python_package,
    rust_player,
    rust_sources,
)
from tests.timeouts import HANG_TIMEOUT

LARGE = {"too many files", "ZIP bomb", "ZIP bomb of smaller files"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in LARGE else ()) for name in BROKEN]
)
def test_a_planted_fault_is_found_and_no_other(name: str, tmp_path: Path) -> None:
    sample = BROKEN[name]
    inspection = inspected(tmp_path, sample.content, sample.main)
    assert [each.code for each in inspection.findings] == [sample.code], inspection.findings
    (finding,) = inspection.findings
    assert finding.level is FAULTS[sample.code][0]
    assert finding.text.isprintable()
    assert "{" not in finding.text
    assert inspection.is_startable == (finding.level is not Level.RED)


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_package_raises_no_alarm(name: str, tmp_path: Path) -> None:
    inspection = inspected(tmp_path, SOUND[name])
    assert inspection.findings == ()
    assert inspection.main is not None
    assert inspection.is_startable


# Packages in the layouts of the official templates and builders are accepted as the contest accepts them.
PYTHON = python_package("from socha.starter import Starter\nStarter()\n", {"socha/starter.py": "def Starter(): pass\n"})


@pytest.mark.parametrize(
    ("content", "main", "codes"),
    [
        (PYTHON, f"{FOLDER}/start.sh", ["main-in-folder"]),
        (java_player(), "blokus_2027_client.jar", ["jar-main-file"]),
        (java_project(), "blokus_2027_client.jar", ["jar-main-file"]),
        (java_project(folder="bot/"), "bot/blokus_2027_client.jar", ["jar-main-file", "main-in-folder"]),
        (rust_player(), "start.sh", []),
    ],
    ids=["Python", "Java", "Java project", "Java project in a folder", "Rust"],
)
def test_what_the_official_builders_make_can_be_started(
    content: bytes, main: str, codes: list[str], tmp_path: Path
) -> None:
    inspection = inspected(tmp_path, content)
    assert inspection.is_startable
    assert str(inspection.main) == main
    assert [each.code for each in inspection.findings] == codes


@pytest.mark.parametrize("content", [java_sources(), rust_sources()], ids=["Java", "Rust"])
def test_the_templates_themselves_are_sources(content: bytes, tmp_path: Path) -> None:
    inspection = inspected(tmp_path, content)
    assert [each.code for each in inspection.findings] == ["source-only"]
    assert inspection.main is None


def test_a_main_file_in_a_folder_can_be_named_and_several_are_listed(tmp_path: Path) -> None:
    inspection = inspected(tmp_path, PYTHON, f"{FOLDER}/start.sh")
    assert (inspection.findings, str(inspection.main)) == ((), f"{FOLDER}/start.sh")
    [finding] = inspected(tmp_path, zipped({f"{n}/start.sh": "#!/bin/sh\n" for n in "fedcba"})).findings
    assert finding.code == "several-main-files"
    assert "(a/start.sh, b/start.sh, c/start.sh, d/start.sh, e/start.sh); choose one with --main" in finding.text


def test_there_is_a_broken_package_for_every_fault() -> None:
    made_elsewhere = {"unreadable-file", "too-large", "uninspectable", "newer-syntax"}
    assert {each.code for each in BROKEN.values()} == set(FAULTS) - made_elsewhere


@pytest.mark.parametrize("error", [RecursionError("too deep"), MemoryError(), KeyError("x")])
def test_whatever_goes_wrong_is_a_finding(error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("spielleiter.programs.packages.package.choose_main", fail)
    [finding] = inspected(tmp_path, zipped(BOT)).findings
    assert (finding.code, finding.level) == ("uninspectable", Level.RED)
    assert type(error).__name__ in finding.text


_LIBRARIES = elf(loader=LOADER, libraries=["x" * 200] * 100)


def _imports(number: int) -> str:
    """A source that imports 600 modules, and 3000 others that are not there."""
    names = random.Random(number).randbytes(3000 * 7).hex("_", 7).split("_")
    return "\n".join([*(f"import m{each}" for each in range(600)), *(f"import x{each}" for each in names)])


def _long_name() -> bytes:
    """A program with 400,000 entries that name the same library, whose name has 6 million characters."""
    name = random.Random(1).randbytes(3_000_000).hex()
    content = elf(loader=LOADER, libraries=[name])
    header = content.find(struct.pack("<II", 2, 5), 64)
    entry = struct.pack("<QQ", 1, 1) * 400_000
    start, base = len(content), 0x400000
    dynamic = entry + content[struct.unpack_from("<Q", content, header + 8)[0] :]
    changed = bytearray(content + dynamic)
    struct.pack_into("<QQQQQ", changed, header + 8, start, base + start, 0, len(dynamic), len(dynamic))
    return bytes(changed)


HOSTILE: dict[str, Callable[[], dict[str, bytes | str]]] = {  # made when a test runs, since it takes seconds
    "script": lambda: {"start.sh": f"#!/bin/sh\n{'./a.jar;' * 30_000}", **{f"{n}.jar": jar() for n in range(300)}},
    "libraries": lambda: {f"lib{n}.so": _LIBRARIES for n in range(3000)},
    "long name": lambda: {"player": _long_name()},
    "requirements": lambda: {"requirements.txt": "absent\n" * 100_000},
    "foreign programs": lambda: {f"{n}": elf(machine=183) for n in range(15_000)},
    "imports": lambda: {f"{n % 5}/m{n}.py": _imports(n) for n in range(600)},
}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot limit the memory of a process so")
@pytest.mark.parametrize(
    "names",
    [("script", "libraries", "long name", "requirements"), ("foreign programs", "imports")],
    ids=["seconds", "tens of seconds"],
)
def test_hostile_contents_take_limited_time_and_memory(names: Sequence[str], tmp_path: Path) -> None:
    for name in names:
        content = {"start.sh": SHELL_BOT.replace("bot.py", "m0.py"), **HOSTILE[name]()}
        (tmp_path / name).write_bytes(zipped(content, zipfile.ZIP_STORED))  # what is packed makes no difference
    code = """
import resource, sys
from pathlib import Path
from spielleiter.programs.packages.package import inspect_package
resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))
for name in sys.argv[1:]:
    started = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    assert "uninspectable" not in [each.code for each in inspect_package(Path(name)).findings], name
    assert sum(resource.getrusage(resource.RUSAGE_SELF)[:2]) - started < 20, name
"""
    command = [sys.executable, "-c", code, *names]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=HANG_TIMEOUT, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_names_and_values_are_escaped_shortened_and_counted() -> None:
    finding = finding_of("unusual-loader", ["a\x1b", "b", "c"], loader="b\n{file}")
    assert finding.text.startswith(r"a\x1b (and 2 more) needs the loader b\n{file}, which")
    assert finding.file == "a\x1b"
    assert len(shortened("x" * 5000)) == 121
    [one, two] = error = [finding, finding_of("no-main-file")]
    assert str(PackageError(Path("a\n.zip"), [one])) == rf"a\n.zip: {one.text}"
    assert str(PackageError(Path("a.zip"), error)) == f"a.zip: (1) {one.text} (2) {two.text}"


def unpacked(tmp_path: Path, content: bytes, main: str | None = None) -> Package:
    tmp_path.mkdir(exist_ok=True)
    path = tmp_path / "player.zip"
    path.write_bytes(content)
    return unpack_package(path, tmp_path / "new" / "folder", main, ["--level", "3"])


def test_only_the_main_file_may_be_executed(tmp_path: Path) -> None:
    made = unpacked(tmp_path, zipped({"lib/": "", "data/book/": "", **BOT, "lib/helper.sh": "#!/bin/sh\n"}))
    assert made.main == PurePosixPath("start.sh")
    assert made.words == (str(tmp_path / "new" / "folder" / "start.sh"), "--level", "3")
    modes = {
        str(each.relative_to(made.folder)): stat.S_IMODE(each.stat().st_mode)
        for each in made.folder.rglob("*")
        if each.is_file()
    }
    assert modes == {"start.sh": 0o755, "bot.py": 0o644, "lib/helper.sh": 0o644}
    assert (made.folder / "bot.py").read_text() == BOT["bot.py"]
    assert (made.folder / "data" / "book").is_dir()


@pytest.mark.parametrize(
    ("content", "codes"),
    [
        (BROKEN["path with .. inside"].content, ["leaves-folder"]),
        (BROKEN["symbolic link"].content, ["symbolic-link"]),
        (b"Hello", ["not-a-zip"]),
        (zipped({"start.sh": '\n#!/bin/sh\r\n./player "$@"\r\n'}), ["blank-before-first-line", "crlf"]),
    ],
)
def test_a_broken_package_is_not_unpacked(content: bytes, codes: list[str], tmp_path: Path) -> None:
    with pytest.raises(PackageError) as caught:
        unpacked(tmp_path, content)
    assert [each.code for each in caught.value.findings] == codes
    assert list((tmp_path / "new" / "folder").iterdir()) == []


def test_windows_does_not_unpack_a_package_with_a_name_that_it_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = zipped({**BOT, "aux.txt": "x", "data/a:b": "y"})
    if sys.platform != "win32":
        assert unpacked(tmp_path / "here", content).folder.is_dir()
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(PackageError, match=r"has a name that Windows does not allow"):
        unpacked(tmp_path / "there", content)
    assert list((tmp_path / "there" / "new" / "folder").iterdir()) == []


def test_a_folder_with_files_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "new" / "folder").mkdir(parents=True)
    (tmp_path / "new" / "folder" / "start.sh").write_text("mine")
    with pytest.raises(FileExistsError):
        unpacked(tmp_path, zipped(BOT))
    assert (tmp_path / "new" / "folder" / "start.sh").read_text() == "mine"


def test_names_that_the_file_system_does_not_distinguish_are_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Path.open

    def open_file(path: Path, mode: str = "r", *rest: Any, **options: Any) -> IO[Any]:
        if mode == "xb" and path.name == "bot.py":
            raise FileExistsError
        return original(path, mode, *rest, **options)

    monkeypatch.setattr(Path, "open", open_file)
    with pytest.raises(PackageError) as caught:
        unpacked(tmp_path, zipped(BOT))
    assert [each.code for each in caught.value.findings] == ["duplicate-name"]
