"""How Blokus is shown."""
