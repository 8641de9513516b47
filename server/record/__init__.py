"""What is kept: results, replays and the log."""
