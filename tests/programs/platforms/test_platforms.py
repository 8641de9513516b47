"""The platforms: what each of them can do, and what the reports say about the rest."""

from __future__ import annotations

import os
import sys

from spielleiter.programs.platforms import PLATFORM
from spielleiter.programs.process import Platform, common_gaps
from spielleiter.programs.windows import WindowsPlatform

NAMES = {"linux": "Linux", "win32": "Windows", "darwin": "macOS"}


def test_the_platform_is_that_of_this_machine() -> None:
    assert PLATFORM.name == NAMES[sys.platform]
    assert PLATFORM.usable_cores()
    assert PLATFORM.start_stamp(os.getpid()) is not None


def test_every_platform_but_linux_says_what_it_cannot_do() -> None:
    platforms: list[Platform] = [PLATFORM, WindowsPlatform()]
    if sys.platform != "win32":
        from spielleiter.programs.macos import MacPlatform

        platforms.append(MacPlatform())
    for platform in platforms:
        assert (platform.gaps == ()) == (platform.name == "Linux")
        assert set(common_gaps(platform.name)) <= set(platform.gaps) or not platform.gaps
        assert all(gap.startswith(f"{platform.name} does not ") and gap.endswith(".") for gap in platform.gaps)


def test_a_process_that_does_not_exist_has_no_stamp() -> None:
    for platform in (PLATFORM, WindowsPlatform()):
        assert platform.start_stamp(2**22 + 1) is None  # more than any system gives out
