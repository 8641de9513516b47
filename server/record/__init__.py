"""What the server writes to files: results, replays and the log."""
