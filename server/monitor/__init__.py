"""The status, metrics and health of a running server."""
