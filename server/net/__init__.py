"""Connections: sockets, sessions, limits on what a connection may send, and the scheduling of its packets."""
