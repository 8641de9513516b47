"""The Python interpreter that runs the tests, for the command lines of programs that tests start."""

from __future__ import annotations

import shlex
import sys
from typing import Final

PYTHON: Final = shlex.quote(sys.executable)
"""Quoted for a command line, since its path may contain spaces."""
