"""Which streams act on escape sequences; consoles of Windows are stand-ins."""

from __future__ import annotations

import ctypes
import io
from typing import Any

import pytest

from spielleiter.common.terminal import enable_escapes, shows_colours, understands_escapes

OUTPUT, ESCAPES = 0x0003, 0x0004
"""Modes of a console: those that are on from the start, and virtual terminal processing."""


class Kernel32:
    """A stand-in for the library. `mode` is that of the console with handle 70, `knows` the modes that it has."""

    def __init__(self, mode: int = OUTPUT, knows: int = OUTPUT | ESCAPES) -> None:
        self.mode, self.knows = mode, knows

    def GetConsoleMode(self, handle: ctypes.c_void_p, mode: Any) -> int:  # noqa: N802
        if handle.value != 70:
            return 0
        ctypes.cast(mode, ctypes.POINTER(ctypes.c_uint32)).contents.value = self.mode
        return 1

    def SetConsoleMode(self, handle: ctypes.c_void_p, mode: ctypes.c_uint32) -> int:  # noqa: N802
        assert handle.value == 70
        if mode.value & ~self.knows:
            return 0
        self.mode = mode.value
        return 1


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return 7


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


def enabled(kernel: Kernel32, descriptor: int = 7) -> bool:
    return enable_escapes(descriptor, kernel, lambda number: number * 10)


def test_a_console_of_windows_is_made_to_act_on_escapes() -> None:
    kernel = Kernel32()
    assert enabled(kernel)
    assert kernel.mode == OUTPUT | ESCAPES
    assert enabled(kernel)


def test_a_console_before_windows_10_cannot() -> None:
    kernel = Kernel32(knows=OUTPUT)
    assert not enabled(kernel)
    assert kernel.mode == OUTPUT


def test_a_file_is_no_console() -> None:
    assert not enabled(Kernel32(), 8)


def test_a_descriptor_without_a_handle_is_no_console() -> None:
    def refuse(_: int) -> int:
        raise OSError("bad file descriptor")

    assert not enable_escapes(7, Kernel32(), refuse)


@pytest.mark.parametrize("answer", [True, False])
def test_a_terminal_acts_on_escapes_if_its_console_does(answer: bool) -> None:
    descriptors = []

    def enable(descriptor: int) -> bool:
        descriptors.append(descriptor)
        return answer

    assert understands_escapes(Terminal(), enable) is answer
    assert descriptors == [7]


def test_a_stream_without_a_descriptor_does_not() -> None:
    replacement = type("Replacement", (), {"isatty": lambda _: True})()
    assert not understands_escapes(replacement, lambda _: True)


@pytest.mark.parametrize("stream", [None, io.StringIO()])
def test_what_is_no_terminal_does_not(stream: io.StringIO | None) -> None:
    assert not understands_escapes(stream, lambda _: True)


def test_the_environment_can_refuse_escapes_and_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spielleiter.common.terminal.enable_escapes", lambda _: True)  # on Windows
    assert shows_colours(Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    assert understands_escapes(Terminal())
    assert not shows_colours(Terminal())
    monkeypatch.setenv("TERM", "dumb")
    assert not understands_escapes(Terminal())
