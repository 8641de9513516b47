"""The German sentences about faults."""

from __future__ import annotations

import string
from pathlib import Path

import pytest

from spielleiter.contest.runtime_faults import FAULTS as RUNTIME_FAULTS
from spielleiter.contest.runtime_faults import fault
from spielleiter.league.fault_texts import codes, fault_of, german_reason
from spielleiter.programs.packages.faults import FAULTS as PACKAGE_FAULTS
from spielleiter.programs.packages.faults import finding_of
from spielleiter.programs.packages.package import inspect_package


def values_of(sentence: str) -> dict[str, str]:
    return {name: f"<{name}>" for _, name, _, _ in string.Formatter().parse(sentence) if name}


@pytest.mark.parametrize("code", sorted(codes()))
def test_every_fault_has_a_german_sentence_with_the_same_facts(code: str) -> None:
    if code in RUNTIME_FAULTS:
        values = values_of(RUNTIME_FAULTS[code].sentence)
        finding = fault(code, **values)
    else:
        values = values_of(PACKAGE_FAULTS[code][1])
        files = [values.pop("file")] if "file" in values else []
        finding = finding_of(code, files, **values)
    found = fault_of(finding)
    assert found.code == code
    assert found.de != found.en
    for value in values.values():
        assert found.de.count(value) >= 1


@pytest.mark.parametrize(
    ("english", "german"),
    [
        ("ended with exit code 3 and had not connected; its last words: no idea",
         "beendet mit Exitcode 3, ohne sich verbunden zu haben; letzte Ausgabe: no idea"),
        ("2.314 s, allowed are 2 s", "2.314 s, erlaubt sind 2 s"),
        ("game 2 as second player", "Spiel 2 als zweiter Spieler"),
        ("something unknown", "something unknown"),
    ],
)  # fmt: skip
def test_reasons_are_translated_as_far_as_they_are_known(english: str, german: str) -> None:
    assert german_reason(english) == german


@pytest.mark.parametrize(
    "head", [b"", b"7z\xbc\xaf\x27\x1c", b"Rar!", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x7fELF", b"MZ", b"#!", b"?"]
)
def test_file_of_another_kind_is_named_in_german(head: bytes, tmp_path: Path) -> None:
    path = tmp_path / "bot.zip"
    path.write_bytes(head + bytes(100) if head else b"")
    [finding] = inspect_package(path).red
    german = fault_of(finding).de
    assert not any(f" {word} " in german for word in ("a", "an", "but", "it", "is", "such"))
