"""The operating systems that programs run on: one interface, and one module for each of them."""

from __future__ import annotations

import sys
from typing import Final

from spielleiter.programs.platforms.platform import Platform

if sys.platform == "linux":
    from spielleiter.programs.platforms.linux import LinuxPlatform as _ThisPlatform
elif sys.platform == "win32":
    from spielleiter.programs.platforms.windows import WindowsPlatform as _ThisPlatform
else:
    from spielleiter.programs.platforms.macos import MacPlatform as _ThisPlatform

PLATFORM: Final[Platform] = _ThisPlatform()
"""The operating system of this process."""
