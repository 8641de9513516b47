"""What is kept of a match: records, journal, logs."""
