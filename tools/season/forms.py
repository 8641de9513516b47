"""The wire form of a release, its texts and constants, as its classes say, and how those of two releases differ."""

import re
from collections.abc import Iterator
from typing import Any

from tools.season.rules import Rules

Forms = dict[str, dict[str, Any]]
"""`forms`, `texts` and `constants` of a release, each by the name of a class; driver/Forms.java makes them."""

_SEASON = re.compile(r"sc\.plugin(\d+)\.")


def read_forms(rules: Rules) -> Forms:
    """Return what the classes of a release say, without the seasons before it, which the sources keep."""
    forms: Forms = rules.ask("forms")
    seasons = {match[1] for name in forms["forms"] if (match := _SEASON.match(name))}
    old = {f"sc.plugin{season}." for season in seasons - {max(seasons, default="")}}
    forms["forms"] = {name: form for name, form in forms["forms"].items() if not name.startswith(tuple(old))}
    return forms


def forms_as_markdown(forms: Forms) -> Iterator[str]:
    """Yield the lines of a document: a table for each class in the order in which its parts are written."""
    for name, form in forms["forms"].items():
        converter = f", converter {form['converter']}" if "converter" in form else ""
        yield f"## `{form['name']}` ({name.removeprefix('sc.')}{converter})\n"
        if "values" in form:
            yield f"One of {', '.join(form['values'])}.\n"
        elif form["parts"]:
            yield "| part | as | type |\n|---|---|---|"
            for part in form["parts"]:
                yield f"| `{part['name']}` | {_as(part)} | `{part['type']}` |"
            yield ""
        else:
            yield "Empty.\n"
    for title in ("texts", "constants"):
        for name, values in forms[title].items():
            yield f"## {name}\n\n| name | value |\n|---|---|"
            yield from (f"| `{constant}` | {value} |" for constant, value in values.items())
            yield ""


def _as(part: dict[str, str]) -> str:
    return part["as"] + (f", {part['converter']}" if "converter" in part else "")


def form_differences(old: Forms, new: Forms) -> Iterator[str]:
    """Yield a line for each element, attribute, value, text and constant that is in only one release, or differs."""
    old_lines, new_lines = (dict(_facts(forms)) for forms in (old, new))
    for name in sorted(old_lines.keys() | new_lines.keys()):
        before, after = old_lines.get(name), new_lines.get(name)
        if before is None:
            yield f"+ {name}: {after}"
        elif after is None:
            yield f"- {name}: {before}"
        elif before != after:
            yield f"~ {name}: {before} → {after}"
    old_orders, new_orders = (dict(_orders(forms)) for forms in (old, new))
    for name in sorted(old_orders.keys() & new_orders.keys()):
        common = [part for part in old_orders[name] if part in new_orders[name]]
        order = [part for part in new_orders[name] if part in common]
        if common != order:
            yield f"~ {name}, order: {' '.join(common)} → {' '.join(order)}"


def _orders(forms: Forms) -> Iterator[tuple[str, list[str]]]:
    for name, form in forms["forms"].items():
        yield _without_year(name), [part["name"] for part in form.get("parts", [])]


def _facts(forms: Forms) -> Iterator[tuple[str, str]]:
    """Each fact, with a name that it has in every release."""
    for name, form in forms["forms"].items():
        short = _without_year(name)
        yield short, f"`{form['name']}`" + (f", {form['converter']}" if "converter" in form else "")
        if "values" in form:
            yield f"{short} values", " ".join(form["values"])
        for part in form.get("parts", []):
            yield f"{short}.{part['name']}", f"{part['type']}, {_as(part)}"
    for title in ("texts", "constants"):
        for name, values in forms[title].items():
            for constant, value in values.items():
                yield f"{name}.{constant}", str(value)


def _without_year(name: str) -> str:
    """The name of a class without the year of the season in it."""
    return _SEASON.sub("sc.plugin.", name).removeprefix("sc.")
