"""The files that the server writes: results, replays and the log."""
