"""What can go wrong with an engine.

Invariants: every error's text is a part of a sentence that begins with "the engine: ", without a line break.
"""

from __future__ import annotations

from spielleiter.client.errors import StrategyError


class EngineError(StrategyError):
    """The base class of these errors."""


class EngineStartError(EngineError):
    """The engine cannot be started, or is not an engine for this game."""


class EngineRefusalError(EngineError):
    """The engine answered a command with a failure."""


class EngineProtocolError(EngineError):
    """The engine wrote something that is not GTP."""


class EngineGoneError(EngineError):
    """The engine has ended, or its output has."""
