"""The same simple player of Blokus 2027 in several languages; `evening_packages` makes packages of them."""
