"""Connections: sockets, sessions, what a connection may send, and how its packets are scheduled."""
