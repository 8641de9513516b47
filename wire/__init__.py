"""Between client and server: a proxy that records a conversation, and the means to send one again."""
