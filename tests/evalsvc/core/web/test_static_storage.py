"""Hashed names of static files, including imported modules."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from django.contrib.staticfiles.finders import find
from django.core.files.storage import FileSystemStorage

from annotation.pages.labelling import PARTS
from evalsvc.core.web.static_storage import HashedStaticFilesStorage

SOURCE = Path(str(find("annotation/label.js")))
IMPORTED = re.compile(r'^import .* from "([^"]+)";$', re.MULTILINE)
HASHED = re.compile(r"\.[0-9a-f]{12}\.js$")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Our static files where a start of the service puts them."""
    shutil.copytree(SOURCE.parent, tmp_path / "annotation")
    return tmp_path


def collected(folder: Path) -> Path:
    """The form's module under the name that pages write."""
    storage = HashedStaticFilesStorage(location=folder, base_url="/static/")
    plain = [path for path in (folder / "annotation").rglob("*.js") if not HASHED.search(path.name)]
    raw = FileSystemStorage(folder)
    names = {str(path.relative_to(folder)): (raw, str(path.relative_to(folder))) for path in plain}
    faults = [done for _, _, done in storage.post_process(names) if isinstance(done, Exception)]
    assert faults == []
    return Path(storage.path(storage.stored_name("annotation/label.js")))


def parts(module: Path) -> set[Path]:
    """The module and all that it imports, and on."""
    found: set[Path] = set()
    waiting = [module]
    while waiting:
        one = waiting.pop().resolve()
        if one not in found:
            found.add(one)
            waiting += [one.parent / name for name in IMPORTED.findall(one.read_text())]
    return found


def test_every_module_of_the_form_is_served_under_a_hashed_name(folder: Path) -> None:
    found = parts(collected(folder))
    assert [path.name for path in found if not HASHED.search(path.name)] == []
    assert sorted(HASHED.sub(".js", path.name) for path in found) == sorted(x.name for x in parts(SOURCE))


def test_the_page_preloads_every_module_of_the_form() -> None:
    found = {str(path.relative_to(SOURCE.parents[1])) for path in parts(SOURCE)}
    assert found == {"annotation/label.js", *PARTS}


def test_a_change_in_an_imported_module_changes_the_hashed_name_of_the_form(folder: Path) -> None:
    before = collected(folder).name
    assert collected(folder).name == before
    part = folder / "annotation/label/storage.js"
    part.write_text(f"{part.read_text()}\n// changed\n")
    assert collected(folder).name != before
