"""The game server: a synchronous core that decides (lobby, room, clock) in a trio shell that acts."""
