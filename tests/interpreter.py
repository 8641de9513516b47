"""The Python interpreter that runs the tests, for the command lines of programs that tests start."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Final

import spielleiter

PYTHON: Final = shlex.quote(sys.executable)
"""Quoted for a command line, since its path may contain spaces."""

PACKAGES: Final = str(Path(spielleiter.__file__).parents[1])
"""The folder that `spielleiter` is imported from: `src`, or site-packages if the wheel is installed."""
