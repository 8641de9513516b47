"""Figures of server, rules and protocol beside the bare wire, and the loads they are taken under."""
