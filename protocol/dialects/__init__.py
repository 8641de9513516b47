"""The dialects of the editions, and the readers and writers that they are made of."""
