"""How Piranhas is shown."""
