"""Programs for other systems and processors, and what a Linux program needs."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spielleiter.match.packages.compiled import is_class_file, is_machine_code, program_findings
from tests.match.packages.binaries import LOADER, MACOS_PROGRAM, MACOS_UNIVERSAL, WINDOWS_PROGRAM, elf, java_class

PROGRAM = elf(loader=LOADER, libraries=("libc.so.6", "libx.so"), versions=("GLIBC_2.2.5", "GLIBC_2.40"))


def codes(content: bytes, *file_names: str) -> list[str]:
    return [each.code for each in program_findings("bot", content, file_names)]


def test_programs_and_classes_are_told_apart() -> None:
    assert all(map(is_machine_code, (elf(), WINDOWS_PROGRAM, MACOS_PROGRAM, MACOS_UNIVERSAL)))
    assert not any(map(is_machine_code, (java_class(1), java_class(), b"#!/bin/sh\n", b"", b"\xca\xfe\xba\xbe")))
    assert is_class_file(java_class())
    assert not is_class_file(MACOS_UNIVERSAL)


def test_a_program_needs_what_its_headers_say() -> None:
    libraries, glibc = program_findings("bot", PROGRAM, [])
    assert (libraries.code, glibc.code) == ("missing-library", "newer-glibc")
    assert "(libx.so)" in libraries.text
    assert "needs glibc 2.40," in glibc.text
    assert codes(PROGRAM, "libx.so") == ["newer-glibc"]


def test_versions_are_compared_as_numbers() -> None:
    assert codes(elf(loader=LOADER, libraries=("libc.so.6",), versions=("GLIBC_2.4", "GLIBC_2.9"))) == []
    assert codes(elf(loader=LOADER, libraries=("libc.so.6",), versions=("GLIBC_2.36",))) == []
    assert codes(elf(loader=LOADER, libraries=("libc.so.6",), versions=("GLIBC_2.37", "OTHER_9"))) == ["newer-glibc"]


@pytest.mark.parametrize(
    ("machine", "processor"), [(183, "64-bit ARM"), (40, "32-bit ARM"), (243, "RISC-V"), (999, "type 999")]
)
def test_other_processors_are_named(machine: int, processor: str) -> None:
    (finding,) = program_findings("bot", elf(machine=machine), [])
    assert finding.code == "other-processor"
    assert processor in finding.text


def test_a_processor_with_the_other_byte_order_is_recognised() -> None:
    content = bytearray(elf(machine=22))
    content[5] = 2
    struct.pack_into(">HH", content, 16, 2, 22)
    (finding,) = program_findings("bot", bytes(content), [])
    assert "S390" in finding.text


@pytest.mark.parametrize("length", range(4, len(PROGRAM), 7))
def test_a_part_of_a_program_is_damaged(length: int) -> None:
    assert codes(PROGRAM[:length]) == ["damaged-program"]


@pytest.mark.skipif(sys.platform != "linux", reason="the interpreter is an ELF file on Linux only")
def test_a_real_program_can_be_read() -> None:
    content = Path(sys.executable).resolve().read_bytes()
    assert set(codes(content)) <= {"missing-library", "newer-glibc", "other-processor", "unusual-loader"}


@pytest.mark.slow
@example([(39, 255)])  # the place of the program headers has 64 bits
@given(st.lists(st.tuples(st.integers(4, len(PROGRAM) - 1), st.sampled_from([0, 1, 8, 127, 255])), max_size=6))
def test_any_changed_program_can_be_examined(changes: list[tuple[int, int]]) -> None:
    content = bytearray(PROGRAM)
    for place, value in changes:
        content[place] = value
    assert isinstance(codes(bytes(content)), list)
