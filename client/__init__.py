"""The other side of the wire: administrators, players and built-in strategies."""
