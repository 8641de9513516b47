"""Contest packages: the ZIP file that holds a program, its inspection, and unpacking it."""
