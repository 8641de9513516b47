"""Text for people: escaping, width, numbers with their nouns."""
