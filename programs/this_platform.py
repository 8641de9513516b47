"""The operating system of this process."""

from __future__ import annotations

import sys
from typing import Final

from spielleiter.programs.platform_api import Platform

if sys.platform == "linux":
    from spielleiter.programs.linux import LinuxPlatform as _ThisPlatform
elif sys.platform == "win32":
    from spielleiter.programs.windows import WindowsPlatform as _ThisPlatform
else:
    from spielleiter.programs.macos import MacPlatform as _ThisPlatform

PLATFORM: Final[Platform] = _ThisPlatform()
"""The operating system of this process."""
