"""What decides: lobby, rooms, clocks and policies, synchronous and without sockets."""
