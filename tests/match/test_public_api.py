"""What `from spielleiter.match import ...` provides, and what `help` says about it."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import spielleiter.match
from spielleiter.match import errors

FOLDER = Path(spielleiter.match.__file__).parent
PUBLIC: dict[str, Any] = {name: getattr(spielleiter.match, name) for name in spielleiter.match.__all__}
FUNCTIONS = {name: value for name, value in PUBLIC.items() if isinstance(value, types.FunctionType)}


def imported_for_type_checkers() -> dict[str, str]:
    """The module of each name, as a type checker reads it from the package's file."""
    tree = ast.parse((FOLDER / "__init__.py").read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    return {
        alias.name: str(node.module) for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }


def test_names_are_where_type_checkers_look_for_them() -> None:
    found = imported_for_type_checkers()
    assert sorted(found) == sorted(spielleiter.match.__all__)
    for name, module in found.items():
        assert PUBLIC[name] is getattr(sys.modules[module], name)


def test_every_error_is_public() -> None:
    defined = [name for name in vars(errors) if name.endswith("Error")]
    assert [name for name in defined if name not in spielleiter.match.__all__] == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"^module 'spielleiter.match' has no attribute 'play'$"):
        spielleiter.match.play  # noqa: B018 - not there
    assert set(spielleiter.match.__all__) <= set(dir(spielleiter.match))


def test_importing_the_package_alone_imports_nothing_of_it() -> None:
    roots = ("spielleiter.match.", "spielleiter.server.", "trio", "lxml")
    code = f"import sys, spielleiter.match; print([name for name in sys.modules if name.startswith({roots})])"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_docstring_names_every_parameter_and_error(name: str) -> None:
    text = inspect.getdoc(FUNCTIONS[name]) or ""
    assert re.match(r"[A-Z].*[.:;]", text.partition("\n\n")[0], re.DOTALL), "a first paragraph of one sentence"
    assert [each for each in inspect.signature(FUNCTIONS[name]).parameters if f"`{each}`" not in text] == []
    assert set(re.findall(r"\b[A-Z]\w+Error\b", text)) <= set(spielleiter.match.__all__)


@pytest.mark.parametrize("name", PUBLIC)
def test_classes_and_functions_have_docstrings_of_their_own(name: str) -> None:
    text = PUBLIC[name].__doc__ or ""
    assert text
    assert not text.startswith(f"{name}(")  # what dataclasses write


def test_examples_in_docstrings_use_names_and_arguments_that_exist() -> None:
    texts = [spielleiter.match.__doc__ or "", *(inspect.getdoc(value) or "" for value in FUNCTIONS.values())]
    blocks = [block for text in texts for block in re.findall(r"(?:^ {4}.+\n|^\n(?= {4}))+", text + "\n", re.MULTILINE)]
    examples = [inspect.cleandoc("\n" + block) for block in blocks]
    assert len(examples) >= 4
    result_names = set(dir(PUBLIC["MatchResult"]))
    for example in examples:
        for node in ast.walk(ast.parse(example)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
                parameters = inspect.signature(FUNCTIONS[node.func.id]).parameters
                assert {keyword.arg for keyword in node.keywords} <= set(parameters)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "result":
                assert node.attr in result_names
