"""Blokus for two players with two colours each: rules on integer bitboards."""
