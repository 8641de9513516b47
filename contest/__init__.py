"""The check whether a program is fit for the contest (`spielleiter check`)."""
