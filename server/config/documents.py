"""Documents that are generated from the settings: the README's table and the default `server.properties`.

Invariants: every setting appears exactly once, with its default. The generated file can be read back.
"""

from __future__ import annotations

from spielleiter.server.config.config import EDITION_SETTING, SETTINGS


def render_table() -> str:
    """Return all settings as a Markdown table, for the README."""
    rows = ["| property | option | default | meaning |", "|---|---|---|---|"]
    for each in SETTINGS:
        spellings = list(each.options)
        if each.kind.is_switch:
            spellings.append(each.negative_option)
        option = ", ".join(f"`{spelling}`" for spelling in spellings)
        default = f"`{each.default_text}`" if each.default_text else ""
        name = "edition.<gameType>" if each is EDITION_SETTING else each.name
        names = ", ".join(f"`{name}`" for name in (name, *each.other_names))
        rows.append(f"| {names} | {option} | {default} | {each.help} |")
    return "\n".join(rows) + "\n"


def render_properties() -> str:
    """Return the text of the default `server.properties`: every key with its default, commented out."""
    lines = [
        "# The settings of spielleiter serve. Every line shows the default: remove the # and change the value.",
        "# Environment variables (SPIELLEITER_SOFT_TIMEOUT for softTimeout) take precedence over this file, and the",
        "# command's options (--soft-timeout) over both.",
    ]
    group = ""
    for each in SETTINGS:
        if each.group != group:
            group = each.group
            lines += ["", f"## {group}"]
        name = "edition.<gameType>" if each is EDITION_SETTING else each.name
        lines += ["", f"# {each.help}", f"#{name} = {each.default_text}".rstrip()]
    return "\n".join(lines) + "\n"
