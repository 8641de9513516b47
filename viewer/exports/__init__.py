"""A game as a file: pictures, an animation, and pages for a browser."""
