"""Noticing attempts to open a window in what toolkits write."""

from __future__ import annotations

from pathlib import Path

import pytest

from spielleiter.programs.outputs import MAX_WINDOW_LINES, find_window_attempts

TEXTS = [
    'Exception in thread "main" java.awt.HeadlessException:',
    "No X11 DISPLAY variable was set, but this program performed an operation which requires it.",
    "java.lang.UnsupportedOperationException: Unable to open DISPLAY",
    "_tkinter.TclError: no display name and no $DISPLAY environment variable",
    '_tkinter.TclError: couldn\'t connect to display ":0"',
    "(bot:12): Gtk-WARNING **: 10:00:00.000: cannot open display: ",
    "qt.qpa.xcb: could not connect to display ",
    "pygame.error: No available video device",
    "GLFWError: (65544) b'X11: The DISPLAY environment variable is missing'",
    "xterm: Xt error: Can't open display: ",
    'pyglet.display.xlib.NoSuchDisplayException: Cannot connect to "None"',
]
HARMLESS = [
    "I display the board:",
    "DISPLAY is not needed",
    "java.awt.headless=true",
    "opening move 3",
    "pygame 2.5.2 (SDL 2.28.2, Python 3.12.3)",
]


@pytest.mark.parametrize("text", TEXTS)
def test_the_errors_of_toolkits_are_known(text: str, tmp_path: Path) -> None:
    (tmp_path / "error").write_text(f"    0.001  start\n    0.002  {text}\n")
    assert find_window_attempts(tmp_path / "missing", tmp_path / "error") == (" ".join(text.split()),)


@pytest.mark.parametrize("text", HARMLESS)
def test_other_lines_are_no_attempts(text: str, tmp_path: Path) -> None:
    (tmp_path / "error").write_text(f"    0.002  {text}\n")
    assert find_window_attempts(tmp_path / "error") == ()


def test_each_line_is_returned_once_and_not_too_many(tmp_path: Path) -> None:
    lines = [f"    0.002  cannot open display: {number // 2}\n" for number in range(100)]
    (tmp_path / "error").write_text("".join(lines))
    assert find_window_attempts(tmp_path / "error") == tuple(
        f"cannot open display: {i}" for i in range(MAX_WINDOW_LINES)
    )
