"""`spielleiter doctor`: what this machine can and cannot do, and what that means for games and matches."""
