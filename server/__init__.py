"""The game server: a synchronous core that decides (lobby, room, clock), and a shell on trio that acts."""
