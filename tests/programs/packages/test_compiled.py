"""Programs for other systems and processors, and what programs and classes need of Linux and Java."""

from __future__ import annotations

import shutil
import struct
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spielleiter.programs.packages import archive
from tests.programs.packages.binaries import (
    LOADER,
    WINDOWS_PROGRAM,
    elf,
    jar,
    java_class,
)
from tests.programs.packages.making import BOT, codes, inspected, program, python, shell, zipped

PROGRAM = elf(loader=LOADER, libraries=("libc.so.6", "libx.so"), versions=("GLIBC_2.2.5", "GLIBC_2.40"))


def test_a_program_needs_what_its_headers_say(tmp_path: Path) -> None:
    libraries, glibc = inspected(tmp_path, program(PROGRAM)).findings
    assert (libraries.code, glibc.code) == ("missing-library", "newer-glibc")
    assert "(libx.so)" in libraries.text
    assert "needs glibc 2.40," in glibc.text
    assert codes(tmp_path, program(PROGRAM, {"lib/libx.so": elf(kind=3, entry=0)})) == ["newer-glibc"]
    assert codes(tmp_path, program(elf(), {"tools/second": PROGRAM})) == ["missing-library", "newer-glibc"]


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        (("GLIBC_2.4", "GLIBC_2.9"), []),
        (("GLIBC_2.36",), []),
        (("GLIBC_2.37", "OTHER_9"), ["newer-glibc"]),
        (("GLIBC_2.37.1", "XGLIBC_2.99", "GLIBC_PRIVATE"), []),
    ],
)
def test_versions_are_compared_as_numbers(versions: tuple[str, ...], expected: list[str], tmp_path: Path) -> None:
    assert codes(tmp_path, program(elf(loader=LOADER, libraries=("libc.so.6",), versions=versions))) == expected


@pytest.mark.parametrize(
    ("order", "machine", "processor"), [(1, 183, "64-bit ARM"), (1, 999, "type 999"), (2, 22, "S390")]
)
def test_other_processors_are_named(order: int, machine: int, processor: str, tmp_path: Path) -> None:
    """Also those with the other byte order."""
    content = bytearray(elf(machine=machine))
    content[5] = order
    struct.pack_into("<HH" if order == 1 else ">HH", content, 16, 2, machine)
    (finding,) = inspected(tmp_path, program(bytes(content))).findings
    assert finding.code == "other-processor"
    assert processor in finding.text


def test_a_second_program_for_another_system_is_a_warning_if_there_is_no_other(tmp_path: Path) -> None:
    files = {"player": elf(machine=183), "tools/player-windows": WINDOWS_PROGRAM}
    (finding,) = inspected(tmp_path, shell('./player "$@" || ./tools/player-windows "$@"', files)).findings
    assert (finding.code, finding.file) == ("foreign-program", "player")
    assert "player (and 1 more)" in finding.text
    assert codes(tmp_path, shell('./player "$@"', {**files, "player-x86": elf()})) == []


@pytest.mark.parametrize("length", range(4, len(PROGRAM), 50))
def test_a_part_of_a_program_is_damaged(length: int, tmp_path: Path) -> None:
    assert codes(tmp_path, program(PROGRAM[:length])) == ["damaged-program"]


@pytest.mark.skipif(sys.platform != "linux", reason="the interpreter is an ELF file on Linux only")
def test_real_programs_can_be_read(tmp_path: Path) -> None:
    for path in (Path(sys.executable).resolve(), shutil.which("sh")):
        assert path is not None
        found = codes(tmp_path, program(Path(path).read_bytes()))
        assert set(found) <= {"missing-library", "newer-glibc", "other-processor", "unusual-loader"}


@pytest.mark.slow
@example([(39, 255)])  # the place of the program headers has 64 bits
@given(st.lists(st.tuples(st.integers(4, len(PROGRAM) - 1), st.sampled_from([0, 1, 8, 127, 255])), max_size=6))
def test_any_changed_program_can_be_examined(changes: list[tuple[int, int]]) -> None:
    content = bytearray(PROGRAM)
    for place, value in changes:
        content[place] = value
    with tempfile.TemporaryDirectory() as folder:
        assert "uninspectable" not in codes(Path(folder), program(bytes(content), {"second": bytes(content)}))


NEWER = {"bot/Main.class": java_class(22)}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"Main.class": java_class(21)}, []),
        ({"Main.class": java_class(22)}, ["newer-java"]),
        ({"META-INF/versions/26/Main.class": java_class(26)}, []),
        # read as Java reads it: a line that begins with a blank continues the last one, and an empty line ends it
        ({"bot.jar": jar("MAIN-CLASS: bot.\r\n Main\r\n\r\nMain-Class: x\n", NEWER)}, ["newer-java"]),
        ({"bot.jar": jar(files={"bot/Other.class": java_class(22)})}, []),
        ({"bot.jar": jar("Main-Class:\n", NEWER)}, []),
        ({"bot.jar": jar(None, NEWER)}, []),
        ({"bot.jar": jar(files={"bot/Main.class": b"no class"})}, []),
        ({"bot.jar": jar().replace(b"\x08\x00", b"\x0e\x00")}, []),  # an unknown compression
        ({"a.jar": jar(files={"bot/Main.class": java_class(26)}), "B.class": java_class(26)}, ["newer-java"]),
    ],
)
def test_the_release_of_classes_is_compared(files: dict[str, bytes | str], expected: list[str], tmp_path: Path) -> None:
    assert codes(tmp_path, zipped({**BOT, **files})) == expected


def test_a_large_jar_file_is_not_examined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    newer = {"bot/Main.class": java_class(26)}
    assert codes(tmp_path, zipped({**BOT, "bot.jar": jar(files=newer)})) == ["newer-java"]
    many = jar(files={**newer, "x" * 60_000: b"", "y" * 60_000: b""})
    monkeypatch.setattr("spielleiter.programs.packages.archive._BoundedFile.limit", 70_000)
    assert codes(tmp_path, zipped({**BOT, "bot.jar": many})) == []
    monkeypatch.setattr(archive, "MAX_INNER", 10)
    assert codes(tmp_path, zipped({**BOT, "bot.jar": jar(files=newer)})) == []


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 500), st.binary(max_size=4), st.integers(0, 4)), min_size=1, max_size=4))
def test_any_changed_jar_file_can_be_examined(changes: list[tuple[int, bytes, int]]) -> None:
    content = bytearray(jar())
    for place, new, length in changes:
        content[place : place + length] = new
    with tempfile.TemporaryDirectory() as folder:
        assert set(codes(Path(folder), zipped({**BOT, "bot.jar": bytes(content)}))) <= {"newer-java"}


@pytest.mark.parametrize(
    ("files", "version"),
    [
        ({"wheels/numpy-2.0-cp312-cp312-manylinux_2_17_x86_64.whl": "", "wheels/x-1-py3-none-any.whl": ""}, "3.12"),
        ({"a.cpython-310-x86_64-linux-gnu.so": "x"}, "3.10"),
        ({"numpy-2.0-cp38-abi3-manylinux_2_17_x86_64.whl": ""}, ""),
        ({"a.cpython-310-x86_64-linux-gnu.so": "x", "b.cpython-312-x86_64-linux-gnu.so": "x"}, ""),
        ({"a.py": ""}, ""),
    ],
)
def test_the_version_of_compiled_modules_is_known(files: dict[str, bytes | str], version: str, tmp_path: Path) -> None:
    assert inspected(tmp_path, python("import a", files)).python_version == version


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("numpy-2.0-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", None),
        ("numpy-2.0-1-cp312-cp312-macosx_11_0_arm64.whl", "wheel-platform"),
        ("numpy-2.0-cp312-cp312-manylinux_2_17_aarch64.whl", "wheel-platform"),
        ("six-1.0-py2.py3-none-any.whl", None),
        ("numpy-1.0-cp36-cp36m-manylinux1_x86_64.whl", "wheel-python"),
        ("lib/fast.cpython-312-darwin.so", "extension-platform"),
        ("lib/fast.cpython-312-aarch64-linux-gnu.so", "extension-platform"),
        ("lib/fast.cpython-312-x86_64-linux-gnu.so", None),
    ],
)
def test_the_platform_is_in_the_name(name: str, code: str | None, tmp_path: Path) -> None:
    found = [(each.code, each.file) for each in inspected(tmp_path, zipped({**BOT, name: "x"})).findings]
    assert found == ([] if code is None else [(code, name)])
