"""How Penguins is shown."""
