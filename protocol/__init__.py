"""Bytes to typed messages and back, for both ends of the wire: no sockets, no clock, no event loop."""
