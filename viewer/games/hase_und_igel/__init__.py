"""How Hase und Igel is shown."""
