"""The decisions of the server: lobby, rooms, clocks and policies. Synchronous code without sockets."""
