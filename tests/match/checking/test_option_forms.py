"""The orders and forms of the options."""

from __future__ import annotations

from spielleiter.match.checking.option_check import option_forms

VALUES = {"host": "gameserver", "port": "13050", "reservation": "590e"}


def test_all_orders_of_the_short_options_come_first() -> None:
    forms = option_forms()[:6]
    assert forms[0].text() == "-h HOST -p PORT -r CODE"
    assert len({each.text() for each in forms}) == 6
    assert all(sorted(each.arguments(VALUES)[::2]) == ["-h", "-p", "-r"] for each in forms)
    assert not any(each.is_long for each in forms)


def test_long_options_follow() -> None:
    forms = option_forms()[6:]
    assert forms[0].arguments(VALUES) == ["--reservation", "590e", "--host", "gameserver", "--port", "13050"]
    assert all(each.is_long for each in forms)
    assert forms[-1].text() == "--port PORT -r CODE -h HOST"


def test_every_form_gives_each_option_its_own_value() -> None:
    for form in option_forms(["--level", "3"]):
        words = form.arguments(VALUES, ["--level", "3"])
        given = {words[index].lstrip("-")[0]: words[index + 1] for index in range(0, len(words), 2)}
        assert given == {"h": "gameserver", "p": "13050", "r": "590e", "l": "3"}


def test_further_parameters_come_first_or_last() -> None:
    *others, last = option_forms(["fast"])
    assert all(each.text(["fast"]).startswith("fast -") for each in others)
    assert last.text(["fast"]) == "-h HOST -p PORT -r CODE fast"
    assert len(others) == len(option_forms())
