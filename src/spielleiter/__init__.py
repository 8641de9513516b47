"""A local game server for the Software-Challenge, with clients, matches and a command line.

The subpackages are the folders at the top of the repository. Public interfaces for scripts are `spielleiter.client`,
`spielleiter.match` and `spielleiter.game`.
"""
