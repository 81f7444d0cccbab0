"""The house's measures: short files, short functions, names that say what a module knows."""

import ast
from typing import Final

import checkout

MOST_LINES: Final = 300
MOST_TEST_LINES: Final = 450
MOST_FUNCTION_LINES: Final = 40
MOST_PARAMETERS: Final = 5
MOST_README_LINES: Final = 120
VAGUE: Final = {"base", "common", "core", "helpers", "lib", "misc", "models", "shared", "utils"}
ALL: Final = (*checkout.PACKAGES, "tests")


def test_modules_are_short() -> None:
    """No module is longer than 300 lines, no test module longer than 450."""
    lengths = {path: len(checkout.text(path).splitlines()) for path in checkout.modules(*ALL)}
    most = {path: MOST_TEST_LINES if path.parts[0] == "tests" else MOST_LINES for path in lengths}
    assert {} == {str(path): n for path, n in lengths.items() if n > most[path]}


def test_functions_are_short() -> None:
    """No function is longer than 40 lines, its docstring included."""
    lengths = {
        f"{path}:{one.lineno} {one.name}": (one.end_lineno or one.lineno) - one.lineno + 1
        for path in checkout.modules(*ALL)
        for one in checkout.functions(path)
    }
    assert lengths
    assert {} == {name: n for name, n in lengths.items() if n > MOST_FUNCTION_LINES}


def test_functions_take_few_parameters() -> None:
    """No function of a package takes more than five parameters; click's commands take options."""
    counts = {
        f"{path}:{one.lineno} {one.name}": _parameters(one)
        for path in checkout.modules(*checkout.PACKAGES)
        for one in checkout.functions(path)
        if not _is_command(one)
    }
    assert {} == {name: n for name, n in counts.items() if n > MOST_PARAMETERS}


def test_modules_say_what_they_know() -> None:
    """Every module but a test opens with a docstring; none has a name that could mean anything."""
    modules = checkout.modules(*ALL)
    told = {p: ast.get_docstring(ast.parse(checkout.text(p))) for p in modules}
    assert [] == [str(p) for p in modules if not told[p] and not p.name.startswith("test_")]
    assert [] == [str(path) for path in modules if VAGUE & {path.stem, *path.parts}]


def test_a_package_opens_with_a_sentence_and_no_code() -> None:
    """The __init__ of a package is its docstring, and py.typed lies beside it."""
    found = {}
    for name in checkout.PACKAGES:
        module = ast.parse(checkout.text(checkout.ROOT / name / "__init__.py"))
        found[name] = (len(module.body), (checkout.ROOT / name / "py.typed").is_file())
    assert dict.fromkeys(checkout.PACKAGES, (1, True)) == found


def test_the_readme_is_short() -> None:
    """The README is at most 120 lines long."""
    assert len(checkout.text(checkout.ROOT / "README.md").splitlines()) <= MOST_README_LINES


def _parameters(function: checkout.Function) -> int:
    taken = function.args
    named = [one.arg for one in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)]
    return len(named) - (named[:1] in (["self"], ["cls"]))


def _is_command(function: checkout.Function) -> bool:
    return any(
        ast.unparse(one).partition("(")[0].endswith(".command") for one in function.decorator_list
    )
