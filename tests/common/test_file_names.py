"""Names of files that every common system accepts."""

from __future__ import annotations

from pathlib import Path, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.common.file_names import MAX_BYTES, portable_name

names = st.text(max_size=300) | st.builds(
    str.__add__,
    st.sampled_from(["con", "AUX", "nul", "com1", "LPT9", "com¹", "CON ", "prn.", "a" * 239, "ä" * 120]),
    st.text(st.sampled_from('.xml :con\\/*?"<>|\ud800ü'), max_size=8),
)
"""Any texts, and those that are close to what systems refuse."""


@pytest.mark.parametrize(
    ("name", "portable"),
    [
        ("replay_swc_2027_blokus_2026-11-22_20-15-00_a_b.xml", "replay_swc_2027_blokus_2026-11-22_20-15-00_a_b.xml"),
        ("Jörgs Spiel (2).xml", "Jörgs Spiel (2).xml"),
        ("con", "_con"),
        ("Con.xml", "_Con.xml"),
        ("com1 .txt", "_com1 .txt"),
        ("conductor", "conductor"),
        ("console.log", "console.log"),
        ("a:b/c\\d", "a_b_c_d"),
        ("end.", "end_"),
        ("end ", "end_"),
        ("..", "._"),
        ("", "_"),
        ("\ud83d", "_"),
        ("x" * 300 + ".xml", "x" * (MAX_BYTES - 4) + ".xml"),
    ],
)
def test_only_what_a_system_refuses_is_replaced(name: str, portable: str) -> None:
    assert portable_name(name) == portable


@given(names)
def test_every_name_becomes_portable(name: str) -> None:
    portable = portable_name(name)
    assert 0 < len(portable.encode()) <= MAX_BYTES
    assert not set(portable) & set('/\\:*?"<>|\0\n\x7f')
    assert portable[-1] not in {" ", "."}
    assert not PureWindowsPath(portable).drive
    stem = portable.partition(".")[0].rstrip().casefold()
    assert stem not in {"con", "prn", "aux", "nul", "conin$", "conout$"}
    assert not (len(stem) == 4 and stem[:3] in {"com", "lpt"} and stem[3] in "0123456789¹²³")


@given(names)
def test_a_portable_name_is_not_changed(name: str) -> None:
    portable = portable_name(name)
    assert portable_name(portable) == portable


@given(name=names)
def test_a_file_with_a_portable_name_can_be_written(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "portable"
    path.mkdir(exist_ok=True)
    file = Path(path, portable_name(name))
    file.touch()
    assert file.parent == path
    file.unlink()
