"""The viewer's web application: pages, live data, replays, administration and seats for people, over HTTP."""
