"""What helps to add a season: official servers as a reference, their rules, recordings, tables of their wire form."""
