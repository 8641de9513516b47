"""The size limits for what a connection may send, by its role: stranger, player or administrator.

Invariants: limits only grow. A peer that has joined a game keeps a player's limits, and one that has authenticated
keeps an administrator's. A player's longest packet is a move with hints; only administrators send longer ones.
"""

from __future__ import annotations

from spielleiter.protocol.limits import Limits
from spielleiter.server.config import Config
from spielleiter.server.core.lobby import Member


def stranger_limits(config: Config) -> Limits:
    """Return the limits for a connection that has neither joined a game nor authenticated."""
    return _limits(config, config.packet_bytes_before, config.packet_children_player)


def limits_of(member: Member, config: Config) -> Limits:
    """Return the limits for a player or an administrator."""
    if member.is_admin:
        return _limits(config, config.packet_bytes, config.packet_children)
    return player_limits(config)


def player_limits(config: Config) -> Limits:
    """Return the limits for a player."""
    return _limits(config, config.packet_bytes_player, config.packet_children_player)


def _limits(config: Config, packet_bytes: int, children: int) -> Limits:
    return Limits(
        packet_bytes=packet_bytes, depth=config.packet_depth, attributes=config.packet_attributes, children=children
    )
