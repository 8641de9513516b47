"""Reads the values in parsed elements, with errors that say what is wrong and what is allowed.

A value that cannot be read raises UnreadableError. Its German text says exactly which element and attribute is wrong
and what is allowed; such texts become part of a game's result, like the German texts of the official server.

There are two ways. The functions `read_…` are lenient: they trim white space, and unknown attributes are ignored. An
`ObjectForm` reads the fields of an object exactly as the official server does. That server uses the library XStream.
Its rules are not obvious, and they decide whether a client plays on or is disconnected:

- A field is an attribute or a child element. Some fields are only the one or only the other.
- Unknown attributes, and text between child elements, are ignored.
- An unknown child element, and a field that occurs twice, make the packet unreadable. (Outside a strict dialect, or
  from a server, an unknown child is noted and skipped.)
- A value is the text before the first child element of its element; children of a value are ignored.
- Nothing is trimmed: white space is part of the value.
- A child element may have a `class` (or `resolves-to`, which has precedence); it must name the class of the field, or
  `null`, which stands for a missing value. `defined-in` must name the class to which the field belongs.
- A field that is missing is not in the result. The official server has null, 0 or false there.
- Names may be escaped (`decode_name`). An escaped attribute still has no value, since the official server looks for the
  value under the plain name. An escaped `class`, `resolves-to` or `defined-in` is not found at all.
"""

from __future__ import annotations

import enum
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final, Protocol, TypeAlias, TypeVar, overload

from msgspec import Struct, field

from spielleiter.protocol.errors import Refusal, RemoteProtocolError
from spielleiter.protocol.messages import Message, UnknownPacket

_E = TypeVar("_E", bound=enum.Enum)

_INTEGER: Final = re.compile(r"\s*([+-]?[0-9]+)\s*", re.ASCII)
_INT_MIN: Final = -(2**31)
_INT_MAX: Final = 2**31 - 1
_LONGEST_QUOTE: Final = 60

NULL: Final = "null"
"""The class that stands for no value."""
_LONG_MIN: Final = -(2**63)
_UNSIGNED_MAX: Final = 2**32 - 1
_LAST_OF_BMP: Final = "\uffff"
_ESCAPE: Final = re.compile(r"__|_-|_\.(?s:(.{0,4}))")
_ESCAPE_DIGITS: Final = 4
_HEX: Final = 16
_CHARACTERS: Final = 2**16
_FULL_WIDTH: Final = 0xFEE0
"""The distance of a full-width letter (`Ａ`) from its ASCII letter."""


class Element(Protocol):
    """The interface of a parsed element that is used here. Those of `PacketReader` and of lxml have it."""

    @property
    def tag(self) -> str: ...

    @property
    def text(self) -> str | None: ...

    @overload
    def get(self, key: str) -> str | None: ...

    @overload
    def get(self, key: str, default: str) -> str: ...

    def items(self) -> Iterable[tuple[str, str]]: ...

    def __iter__(self) -> Iterator[Element]: ...

    def __len__(self) -> int: ...


class UnreadableError(Exception):
    """Something in a packet could not be read.

    `problem` says what, in German. `original` is the packet as far as it was understood. `is_incomplete` says that
    every value could be read, but that one is missing without which the official server fails.
    """

    def __init__(self, problem: str, original: Message | None = None, *, is_incomplete: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.original = original
        self.is_incomplete = is_incomplete


def unknown_packet(tag: str) -> RemoteProtocolError:
    """Return the error for a packet that the dialect does not know."""
    text = f"<{quote(tag)}> is not a packet of this protocol"
    # the official server has no object for these two, and fails in the code after its parser
    refusal = Refusal.INCOMPLETE_PACKET if tag in {"", "null"} else Refusal.UNKNOWN_PACKET
    return RemoteProtocolError(refusal, text, UnknownPacket(tag))


def quote(text: str) -> str:
    """Return `text`, shortened to a length that fits into a message."""
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}…"


def read_boolean(element: Element, name: str, *, default: bool) -> bool:
    """Return the boolean attribute `name`, or `default` if it is missing; see `is_true`."""
    value = element.get(name)
    return default if value is None else is_true(value)


def is_true(text: str) -> bool:
    """Return whether `text` means true: `true` in upper or lower case does, everything else means false."""
    return text.strip().lower() == "true"


def read_text(element: Element) -> str:
    """Return the text of an element without the white space around it."""
    return (element.text or "").strip()


def read_enum(element: Element, name: str, values: dict[str, _E]) -> _E:
    """Return the one of `values` that the attribute `name` names exactly. Raises UnreadableError."""
    text = element.get(name)
    if text is None:
        raise UnreadableError(f"im Element {element.tag} fehlt das Attribut {name}; {allowed(values)}")
    value = values.get(text)
    if value is None:
        raise UnreadableError(f'{element.tag} {name}="{quote(text)}" gibt es nicht; {allowed(values)}')
    return value


def read_enum_text(element: Element, values: dict[str, _E]) -> _E:
    """Return the one of `values` that the text of an element names exactly. Raises UnreadableError."""
    text = read_text(element)
    value = values.get(text)
    if value is None:
        raise UnreadableError(f'"{quote(text)}" im Element {element.tag} gibt es nicht; {allowed(values)}')
    return value


def read_integer(element: Element, name: str) -> int:
    """Return the attribute `name` as a signed integer of 32 bits. Raises UnreadableError."""
    text = element.get(name)
    if text is None:
        raise UnreadableError(f"im Element {element.tag} fehlt das Attribut {name} (eine ganze Zahl)")
    return parse_integer(text, f'{element.tag} {name}="{quote(text)}"')


def read_count(element: Element, name: str) -> int:
    """Return the attribute `name` as an integer of 32 bits that is not negative. Raises UnreadableError."""
    value = read_integer(element, name)
    if value < 0:
        raise UnreadableError(f'{element.tag} {name}="{value}" ist kleiner als 0')
    return value


def read_integer_text(element: Element) -> int:
    """Return the text of an element as a signed integer of 32 bits. Raises UnreadableError."""
    text = read_text(element)
    return parse_integer(text, f'"{quote(text)}" im Element {element.tag}')


def parse_integer(text: str, where: str) -> int:
    """Return `text` as a signed integer of 32 bits. Raises UnreadableError, whose text names `where`."""
    match = _INTEGER.fullmatch(text)
    if match is None:
        raise UnreadableError(f"{where} ist keine ganze Zahl")
    value = int(match[1]) if len(match[1]) <= len(str(_INT_MIN)) else _INT_MAX + 1
    if not _INT_MIN <= value <= _INT_MAX:
        raise UnreadableError(f"{where} liegt nicht zwischen {_INT_MIN} und {_INT_MAX}")
    return value


def read_decimal_text(element: Element) -> Decimal:
    """Return the text of an element as a finite decimal number. Raises UnreadableError."""
    text = read_text(element)
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite():
        raise UnreadableError(f'"{quote(text)}" im Element {element.tag} ist keine Zahl')
    return value


def allowed(names: Iterable[str]) -> str:
    """Return the end of an error's text that lists the allowed `names`."""
    return f"erlaubt: {', '.join(names)}"


# -- objects, as the official server reads them -----------------------------------------------------------------------


class Skipping(Protocol):
    """The part of `Reading` that is needed here."""

    def skip(self, child: Element, parent: Element) -> None:
        """Skip an unknown child. Raises UnreadableError if the sender must not have it."""


Parser: TypeAlias = Callable[[str, str], Any]
"""Returns the value of a text. The second argument describes the text in errors. Raises UnreadableError."""
ChildReader: TypeAlias = Callable[[Element], Any]
"""Returns the value of a whole child element. Raises UnreadableError."""


class ValueForm(Struct, frozen=True):
    """A field whose value is a text.

    If `parse_text` or `parse_attribute` is None, the field cannot be a child element or an attribute. `class_names` are
    the names by which its class may be called. A primitive field cannot have the class `null`.
    """

    parse_text: Parser | None
    parse_attribute: Parser | None
    class_names: frozenset[str] = frozenset()
    is_primitive: bool = False
    if_escaped: tuple[object, ...] = ()
    """The only value of an attribute with an escaped name; empty: such an attribute cannot be read."""


class ObjectForm(Struct, frozen=True):
    """An object, or a field that is one and thus a child element.

    `items` are the tags of child elements that may occur any number of times, each with the name of the list in the
    result. `ignored` are the tags of known children whose content is not read.
    """

    class_names: frozenset[str]
    fields: Mapping[str, FieldForm]
    items: Mapping[str, tuple[str, FieldForm]] = field(default_factory=dict)
    ignored: frozenset[str] = frozenset()


FieldForm: TypeAlias = ValueForm | ObjectForm | ChildReader


def read_fields(element: Element, form: ObjectForm, reading: Skipping) -> dict[str, Any]:
    """Return the fields of an element by name; only those that it has. Objects and lists are nested.

    Raises UnreadableError.
    """
    values: dict[str, Any] = {}
    for written, text in element.items():
        name = decode_name(written)
        known = form.fields.get(name)
        if not isinstance(known, ValueForm) or known.parse_attribute is None:
            continue
        if name in values:
            raise UnreadableError(f"{name} steht im Element {element.tag} mehr als einmal")
        if name == written:
            values[name] = known.parse_attribute(text, f'{element.tag} {name}="{quote(text)}"')
        elif known.if_escaped:
            (values[name],) = known.if_escaped
        else:
            raise UnreadableError(f"{element.tag} {quote(written)}: so wird {name} nicht gefunden")
    for child in element:
        tag = decode_name(child.tag)
        if tag in form.ignored:
            continue
        if tag in form.items:
            name, item = form.items[tag]
            _check_owner(child, form)
            values.setdefault(name, []).append(_read_field(child, item, reading))
            continue
        known = form.fields.get(tag)
        if known is None or (isinstance(known, ValueForm) and known.parse_text is None):
            reading.skip(child, element)
            continue
        _check_owner(child, form)
        value = _read_field(child, known, reading)
        if tag in values:
            raise UnreadableError(f"{tag} steht im Element {element.tag} mehr als einmal")
        values[tag] = value
    return values


def class_attribute(element: Element) -> str | None:
    """Return the class that an element says it has; None if it says nothing."""
    resolved = element.get("resolves-to")
    return element.get("class") if resolved is None else resolved


def packet_class(packet: Element) -> str:
    """Return the class of a packet, which its tag is short for unless the packet says otherwise."""
    class_name = class_attribute(packet)
    return decode_name(packet.tag) if class_name is None else class_name


def decode_name(name: str) -> str:
    """Return the name that a tag or an attribute stands for. Raises UnreadableError for an escape without a character.

    >>> [decode_name(name) for name in ("room_.0049d", "a_-b", "a__b", "_shape")]
    ['roomId', 'a$b', 'a_b', '_shape']
    """
    return _ESCAPE.sub(_escaped, name) if "_" in name else name


def _escaped(match: re.Match[str]) -> str:
    digits = match[1]
    if digits is None:
        return "$" if match[0] == "_-" else "_"
    values = [_digit(digit) for digit in digits.removeprefix("-")]  # Java reads a sign as well
    if len(digits) < _ESCAPE_DIGITS or any(value >= _HEX for value in values):
        raise UnreadableError(f"{quote(match.string)}: nach _. müssen vier Hexadezimalziffern stehen")
    number = sum(value * _HEX**power for power, value in enumerate(reversed(values)))
    return chr((-number if digits.startswith("-") else number) % _CHARACTERS)


def _check_owner(child: Element, owner: ObjectForm) -> None:
    class_name = child.get("defined-in")
    if class_name is not None and class_name not in owner.class_names:
        raise UnreadableError(f'{child.tag} defined-in="{quote(class_name)}": dort gibt es dieses Element nicht')


def _read_field(child: Element, known: FieldForm, reading: Skipping) -> Any:
    if not isinstance(known, ValueForm | ObjectForm):
        return known(child)
    class_name = class_attribute(child)
    if class_name == NULL and not (isinstance(known, ValueForm) and known.is_primitive):
        return None
    if class_name is not None and class_name not in known.class_names:
        raise UnreadableError(f'{child.tag} class="{quote(class_name)}" ist hier nicht erlaubt')
    if isinstance(known, ObjectForm):
        return read_fields(child, known, reading)
    text = child.text or ""
    assert known.parse_text is not None, "such children are skipped"
    return known.parse_text(text, f'"{quote(text)}" im Element {child.tag}')


# -- values -----------------------------------------------------------------------------------------------------------


def parse_java_integer(text: str, where: str) -> int:
    """Return `text` as Java's `Long.decode` reads it, as a signed integer of 32 bits. Raises UnreadableError.

    So `+1`, `0x1`, `#1` and digits of other scripts are numbers, a leading 0 means octal, and the numbers from 2**31 to
    2**32 - 1 stand for the negative ones.

    >>> [parse_java_integer(text, "") for text in ("+1", "010", "0x1F", "#a", "-0", "4294967295")]
    [1, 8, 31, 10, 0, -1]
    """
    sign = -1 if text.startswith("-") else 1
    digits = text[1:] if text.startswith(("-", "+")) else text
    base = 10
    for prefix in ("0x", "0X", "#"):
        if digits.startswith(prefix):
            digits, base = digits[len(prefix) :], 16
            break
    else:
        if digits.startswith("0") and len(digits) > 1:
            digits, base = digits[1:], 8
    value = 0
    if not digits:
        raise UnreadableError(f"{where} ist keine ganze Zahl")
    for character in digits:
        digit = _digit(character)
        if digit >= base:
            hint = "; eine führende 0 bedeutet dort Oktalziffern" if base == 8 else ""
            raise UnreadableError(f"{where} ist keine ganze Zahl{hint}")
        value = min(value * base + digit, -_LONG_MIN)  # a longer number is out of range anyway
    value *= sign
    if not _INT_MIN <= value <= _UNSIGNED_MAX:
        raise UnreadableError(f"{where} liegt nicht zwischen {_INT_MIN} und {_UNSIGNED_MAX}")
    return (value - _INT_MIN) % (_UNSIGNED_MAX + 1) + _INT_MIN


def _digit(character: str) -> int:
    """Return the value of a digit or letter as Java's `Character.digit` does; a large number for anything else."""
    if character > _LAST_OF_BMP:  # Java looks at each half of a surrogate pair, and neither is a digit
        return _UNSIGNED_MAX
    if "Ａ" <= character <= "Ｚ" or "ａ" <= character <= "ｚ":
        character = chr(ord(character) - _FULL_WIDTH)
    if "a" <= character.lower() <= "z" and character.isascii():
        return ord(character.lower()) - ord("a") + 10
    return unicodedata.decimal(character, _UNSIGNED_MAX)


def parse_java_boolean(text: str, _where: str) -> bool:
    """Return whether `text` is `true` in upper or lower case, without any white space. Everything else is false."""
    return text.lower() == "true"


def parse_any_text(text: str, _where: str) -> str:
    """Return `text`."""
    return text


def equals_ignoring_case(first: str, second: str) -> bool:
    """Return whether two texts are equal as Java's `equalsIgnoreCase` compares them: character by character.

    >>> equals_ignoring_case("Right", "RIGHT"), equals_ignoring_case("rıght", "RIGHT"), equals_ignoring_case("ß", "SS")
    (True, True, False)
    """
    return [*map(_without_case, first)] == [*map(_without_case, second)]


def _without_case(character: str) -> str:
    upper = character.upper()
    return (upper if len(upper) == 1 else character).lower()[0]


INTEGER: Final = ValueForm(
    parse_java_integer, parse_java_integer, frozenset({"int", "java.lang.Integer"}), is_primitive=True
)
BOOLEAN: Final = ValueForm(
    parse_java_boolean,
    parse_java_boolean,
    frozenset({"boolean", "java.lang.Boolean"}),
    is_primitive=True,
    if_escaped=(False,),
)
TEXT: Final = ValueForm(parse_any_text, parse_any_text, frozenset({"string", "java.lang.String"}), if_escaped=(None,))


def enumeration(values: Mapping[str, _E], *class_names: str, is_attribute: bool = True) -> ValueForm:
    """Return the form of a field that has one of `values`, whose class has these names.

    An attribute must contain the exact name. In an element, upper and lower case do not matter.
    """

    def parse_attribute(text: str, where: str) -> _E:
        value = values.get(text)
        if value is None:
            raise UnreadableError(f"{where} gibt es nicht; {allowed(values)}")
        return value

    def parse_text(text: str, where: str) -> _E:
        name = next((each for each in values if equals_ignoring_case(each, text)), text)
        return parse_attribute(name, where)

    return ValueForm(parse_text, parse_attribute if is_attribute else None, frozenset(class_names))
