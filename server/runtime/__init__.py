"""The process and its event loop: timers, garbage collection, signals and file descriptors."""
