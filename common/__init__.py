"""What several parts need: text, errors, files, numbers."""
