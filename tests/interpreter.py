"""The interpreter that runs the tests, for programs that tests start."""

from __future__ import annotations

import shlex
import sys
from typing import Final

PYTHON: Final = shlex.quote(sys.executable)
"""As a word of a command line: its path may hold blanks."""
