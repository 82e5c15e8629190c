"""Hashed names of static files, including imported modules."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from django.contrib.staticfiles.finders import find, get_finders
from django.core.files.storage import FileSystemStorage

from annotation.pages.labelling import PARTS
from evalsvc.core.web.static_storage import HashedStaticFilesStorage

SOURCE = Path(str(find("annotation/label.js")))
FOLDERS = ("annotation", "evaluation", "web")  # with modules of our own
IMPORTED = re.compile(r'^import .* from "([^"]+)";$', re.MULTILINE)
HASHED = re.compile(r"\.[0-9a-f]{12}\.js$")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of our static files."""
    for name in FOLDERS:
        shutil.copytree(str(find(name)), tmp_path / "source" / name)
    return tmp_path / "source"


def stored(folder: Path) -> HashedStaticFilesStorage:
    static = folder.with_name("static")
    shutil.rmtree(static, ignore_errors=True)
    shutil.copytree(folder, static)
    storage = HashedStaticFilesStorage(location=static, base_url="/static/")
    raw = FileSystemStorage(static)
    names = [str(path.relative_to(static)) for path in static.rglob("*.js")]
    processed = storage.post_process({name: (raw, name) for name in names})
    assert [done for _, _, done in processed if isinstance(done, Exception)] == []
    return storage


def collected(folder: Path, name: str = "annotation/label.js") -> Path:
    """A module, by default the form's, under the name that pages write."""
    storage = stored(folder)
    return Path(storage.path(storage.stored_name(name)))


def test_files_of_pages_that_the_service_lacks_are_left_out() -> None:
    (finder,) = get_finders()
    apps = {path.split("/")[0]: path for path, _ in finder.list([])}
    assert {"annotation", "web", "django_htmx", "drf_spectacular_sidecar"} <= set(apps)
    assert "rest_framework" not in apps
    assert not any("redoc" in path for path, _ in finder.list([]))


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


@pytest.mark.parametrize("name", ["annotation/row_keys.js", "evaluation/error_keys.js"])
def test_modules_shared_by_pages_are_imported_under_their_hashed_names(folder: Path, name: str) -> None:
    found = parts(collected(folder, name))
    assert len(found) == 2
    assert [path.name for path in found if not HASHED.search(path.name)] == []


def test_the_page_preloads_every_module_of_the_form() -> None:
    found = {str(path.relative_to(SOURCE.parents[1])) for path in parts(SOURCE)}
    assert found == {"annotation/label.js", *PARTS}


def test_a_change_in_an_imported_module_changes_the_hashed_name_of_the_form(folder: Path) -> None:
    before = collected(folder).name
    assert collected(folder).name == before
    part = folder / "annotation/label/storage.js"
    part.write_text(f"{part.read_text()}\n// changed\n")
    assert collected(folder).name != before
