"""The settings of the server and their sources."""
