"""The public names of `spielleiter.client`, and their documentation."""

from __future__ import annotations

import ast
import inspect
import pydoc
import re
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import spielleiter.client
from spielleiter.client import errors

FOLDER = Path(spielleiter.client.__file__).parent
PUBLIC: dict[str, Any] = {name: getattr(spielleiter.client, name) for name in spielleiter.client.__all__}
OURS = {
    name: value
    for name, value in PUBLIC.items()
    if isinstance(value, type | types.FunctionType) and value.__module__.startswith("spielleiter.client.")
}


def imported_for_type_checkers() -> dict[str, str]:
    """The module of each name, as a type checker reads it from the package's file."""
    tree = ast.parse((FOLDER / "__init__.py").read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    return {
        alias.name: str(node.module) for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }


def test_type_checkers_see_the_names_that_are_imported_at_runtime() -> None:
    found = imported_for_type_checkers()
    assert sorted(found) == sorted(spielleiter.client.__all__)
    for name, module in found.items():
        assert PUBLIC[name] is getattr(sys.modules[module], name)


def test_every_error_is_public() -> None:
    assert [name for name in vars(errors) if name.endswith("Error") and name not in spielleiter.client.__all__] == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"^module 'spielleiter.client' has no attribute 'play'$"):
        spielleiter.client.play  # noqa: B018 - raises
    assert set(spielleiter.client.__all__) <= set(dir(spielleiter.client))


def test_importing_the_package_loads_none_of_its_modules() -> None:
    roots = ("spielleiter.client.", "trio", "lxml")
    code = f"import sys, spielleiter.client; print([name for name in sys.modules if name.startswith({roots})])"
    done = subprocess.run([sys.executable, "-c", code], cwd=FOLDER.parent, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# -- help -----------------------------------------------------------------------------------------------------------


def _documented() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions of the package and the public methods that its classes define themselves."""
    for name, value in OURS.items():
        if isinstance(value, types.FunctionType):
            yield name, value
            continue
        for method_name, method in vars(value).items():
            function = method.__func__ if isinstance(method, classmethod | staticmethod) else method
            if isinstance(function, types.FunctionType) and not method_name.startswith("_"):
                yield f"{name}.{method_name}", function


DOCUMENTED = dict(_documented())
RAISING = [name for name in DOCUMENTED if "Client" in name or "Player" in name]


@pytest.mark.parametrize("name", DOCUMENTED)
def test_the_docstring_names_every_parameter(name: str) -> None:
    function = DOCUMENTED[name]
    text = inspect.getdoc(function) or ""
    parameters = [each for each in inspect.signature(function).parameters if each not in {"self", "cls"}]
    assert re.match(r"[A-Z].*[.:]", text.partition("\n\n")[0], re.DOTALL), "a first paragraph of one sentence"
    assert [each for each in parameters if f"`{each}`" not in text] == []


@pytest.mark.parametrize("name", RAISING)
def test_docstrings_of_functions_that_use_a_connection_say_what_they_raise(name: str) -> None:
    raised = set(re.findall(r"\b[A-Z]\w+Error\b", inspect.getdoc(DOCUMENTED[name]) or ""))
    assert raised or name in {"Player.abort", "AdminClient.running"}
    assert raised <= {*spielleiter.client.__all__, "TypeError", "KeyError"}


@pytest.mark.parametrize("name", OURS)
def test_classes_and_functions_have_docstrings_of_their_own(name: str) -> None:
    text = OURS[name].__doc__ or ""
    assert text
    assert not text.startswith(f"{name}(")  # the docstring that dataclasses generate


@pytest.mark.parametrize("name", ["AdminClient", "Player", "SyncAdminClient", "SyncObservation", "Observation"])
def test_the_help_shows_no_internals(name: str) -> None:
    shown = pydoc.plain(pydoc.render_doc(PUBLIC[name]))
    assert " at 0x" not in shown
    assert "See help(type(self))" not in shown
    assert "Dialect(" not in shown
    assert re.findall(r"^ \|  (?:async )?(_(?!_)\w+|put_nowait|end)\(", shown, re.MULTILINE) == []
    assert max(len(line) for line in shown.splitlines() if " -> " not in line) <= 120


@pytest.mark.parametrize("name", ["AdminClient", "Player"])
def test_connect_shows_its_arguments_and_returns_a_context_manager(name: str) -> None:
    signature = inspect.signature(PUBLIC[name].connect)
    assert list(signature.parameters)[:2] == ["host", "port"]
    assert signature.return_annotation == f"AbstractAsyncContextManager[{name}]"


ASSIGNED_BY_EXAMPLES = {
    "admin": spielleiter.client.SyncAdminClient,
    "player": spielleiter.client.Player,
    "report": spielleiter.client.GameReport,
    "room": spielleiter.client.PreparedRoom,
}
"""The types of the variables that examples use without a definition."""

WITH_EXAMPLES = [
    name
    for name, value in {**OURS, **DOCUMENTED}.items()
    if not (isinstance(value, type) and issubclass(value, errors.ClientError)) or value is errors.ClientError
]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_docstrings_have_an_example_that_is_python_and_uses_existing_attributes(name: str) -> None:
    text = inspect.getdoc({**OURS, **DOCUMENTED}[name]) or ""
    examples = re.findall(r"(?:^ {4}.+\n|^\n(?= {4}))+", text + "\n", re.MULTILINE)
    assert examples
    for example in examples:
        for node in ast.walk(ast.parse(inspect.cleandoc("\n" + example))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                kind = ASSIGNED_BY_EXAMPLES.get(node.value.id)
                assert kind is None or hasattr(kind, node.attr) or node.attr in kind.__annotations__
