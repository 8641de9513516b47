"""How Nim is shown."""
