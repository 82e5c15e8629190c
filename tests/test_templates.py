"""Templates stay on their layer; line lengths and CSS classes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.forms.renderers import get_default_renderer
from django.template import engines
from django.template.loader import get_template

ROOT = Path(__file__).resolve().parent.parent
LAYERS = (ROOT / "evalsvc/core", ROOT / "annotation", ROOT / "evalsvc/evaluation", ROOT / "evalsvc")
TEMPLATES = sorted(
    path
    for folder in (ROOT / "evalsvc", ROOT / "annotation")
    for path in folder.rglob("templates/**/*")
    if path.suffix in (".html", ".txt")
)
NAMED = re.compile(r"""\{% (include|extends|static) ["']([^"']+)["']""")
LOADED = re.compile(r"\{% load ([^%]*?) ?%\}")


def layer(path: Path) -> int:
    """Index of the lowest layer that holds a file."""
    return next(index for index, folder in enumerate(LAYERS) if path.is_relative_to(folder))


def origin(name: str) -> str:
    """Return the file of a template; those of Django's widgets are found by the form renderer."""
    found = get_default_renderer().get_template(name) if name.startswith("django/") else get_template(name)
    return str(found.origin.name)


def references(template: Path) -> Iterator[tuple[str, Path]]:
    """Name and file of each template, static file and tag library that a template names."""
    text = template.read_text()
    for kind, name in NAMED.findall(text):
        file = finders.find(name) if kind == "static" else origin(name)
        assert file, f"{template}: no file {name}"
        yield name, Path(str(file))
    for name in " ".join(LOADED.findall(text)).split():
        module = import_module(engines["django"].engine.libraries[name])
        yield name, Path(module.__file__ or "")


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_template_uses_only_files_and_tags_of_its_own_layer_or_below(template: Path) -> None:
    own = [(name, path) for name, path in references(template) if path.is_relative_to(ROOT)]
    above = [name for name, path in own if ".venv" not in path.parts and layer(path) > layer(template)]
    assert above == []


def test_no_template_shows_a_comment_that_spans_lines() -> None:
    """Between {# and #} Django knows no line ends: such a comment is part of the page."""
    lines = ((template, line) for template in TEMPLATES for line in template.read_text().splitlines())
    assert not [f"{template}: {line}" for template, line in lines if line.count("{#") != line.count("#}")]


def test_no_template_line_is_longer_than_160_characters() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in TEMPLATES
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if path.suffix == ".html" and len(line) > 160
    ]
    assert long == []


STYLES = sorted(
    path
    for folder in (ROOT / "evalsvc/core", ROOT / "annotation", ROOT / "evalsvc/evaluation")
    for path in folder.rglob("static/**/*.css")
)
# made from a prefix and a value, or by Django
COMPUTED = re.compile(r"(?:ent|sp|state|note)--\w+|[bh]\d|[cfkln]\d+|errorlist")
CLASS_ATTRIBUTE = re.compile(
    r'class="((?:\{\{.*?\}\}|\{%.*?%\}|[^"])*)"|\{% scroll "[^"]*" "([^"]*)"', re.DOTALL
)
STRING = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|`[^`]*`")
NAME = re.compile(r"[A-Za-z_][\w-]*")


def texts_of(pattern: re.Pattern[str], path: Path) -> list[str]:
    """Matches of a pattern: the group that took part, or the whole match."""
    return [match[match.lastindex or 0] for match in pattern.finditer(path.read_text())]


def used_names() -> set[str]:
    """Words in the class attributes of templates, and in the strings of Python and JavaScript."""
    names: set[str] = set()
    for folder in (ROOT / "evalsvc", ROOT / "annotation"):
        for path in folder.rglob("*"):
            pattern = {".html": CLASS_ATTRIBUTE, ".py": STRING, ".js": STRING}.get(path.suffix)
            if pattern:
                names.update(*map(NAME.findall, texts_of(pattern, path)))
    return names


def classes_of(style: Path) -> set[str]:
    rules = re.sub(r"/\*.*?\*/|\{[^{}]*\}", " ", style.read_text(), flags=re.DOTALL)
    return set(re.findall(r"\.([A-Za-z_][\w-]*)", rules))


def test_every_class_of_a_style_sheet_is_used() -> None:
    used = used_names()
    unused = [
        f"{style.name}: .{name}"
        for style in STYLES
        for name in sorted(classes_of(style) - used)
        if not COMPUTED.fullmatch(name)
    ]
    assert unused == []


def test_every_class_of_a_template_has_a_rule_or_a_reader() -> None:
    """Classes without a rule are used by a script or a test."""
    styled = {name for style in ROOT.glob("*/**/static/**/*.css") for name in classes_of(style)}
    scripts = "".join(path.read_text() for path in ROOT.glob("*/**/static/**/*.js"))
    tests = "".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    without = {
        name
        for template in TEMPLATES
        for value in texts_of(CLASS_ATTRIBUTE, template)
        for name in re.sub(r"\{[{%].*?[%}]\}", " ", value, flags=re.DOTALL).split()
        if not name.endswith("--") and name not in styled and name not in scripts + tests
    }
    assert without == set()
