"""Text for users: escaping, width, numbers with their nouns."""
