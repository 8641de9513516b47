"""What a running server shows: its status, metrics and health."""
