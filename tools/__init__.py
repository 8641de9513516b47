"""Tools for those who work on this project. They are not in the wheel; run them from the root of the repository."""
