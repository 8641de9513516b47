"""How Mississippi Queen is shown: page, pictures, terminal."""
