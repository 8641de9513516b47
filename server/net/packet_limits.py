"""What a connection may send, by what it is: a stranger, a player, an administrator.

Invariants: limits only grow: who has joined a game keeps a player's limits, who has authenticated an administrator's.
A player needs room for a move with its hints; only administrators send longer packets.
"""

from __future__ import annotations

from spielleiter.protocol.limits import Limits
from spielleiter.server.config.config import Config
from spielleiter.server.core.peer import Peer


def stranger_limits(config: Config) -> Limits:
    """Of a connection that has neither joined nor authenticated."""
    return _limits(config, config.packet_bytes_before, config.packet_children_player)


def limits_of(peer: Peer, config: Config) -> Limits:
    """Of a player, or of an administrator."""
    if peer.is_admin:
        return _limits(config, config.packet_bytes, config.packet_children)
    return player_limits(config)


def player_limits(config: Config) -> Limits:
    """Of somebody who plays."""
    return _limits(config, config.packet_bytes_player, config.packet_children_player)


def _limits(config: Config, packet_bytes: int, children: int) -> Limits:
    return Limits(
        packet_bytes=packet_bytes, depth=config.packet_depth, attributes=config.packet_attributes, children=children
    )
