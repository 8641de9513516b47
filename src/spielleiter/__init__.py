"""A local game server for the Software-Challenge, with clients, matches and a command line."""
