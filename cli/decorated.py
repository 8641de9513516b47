"""The type of what a decorator of options gets and returns: a command's function.

Invariants: this module imports no other module of the project, so every module with options can use it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
