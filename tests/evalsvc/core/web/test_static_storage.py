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
IMPORTED = re.compile(r'^import .* from "([^"]+)";$', re.MULTILINE)
HASHED = re.compile(r"\.[0-9a-f]{12}\.js$")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of our static files."""
    shutil.copytree(SOURCE.parent, tmp_path / "source" / "annotation")
    return tmp_path / "source"


def collected(folder: Path) -> Path:
    """The form's module under the name that pages write."""
    static = folder.with_name("static")
    shutil.rmtree(static, ignore_errors=True)
    shutil.copytree(folder, static)
    storage = HashedStaticFilesStorage(location=static, base_url="/static/")
    raw = FileSystemStorage(static)
    names = [str(path.relative_to(static)) for path in (static / "annotation").rglob("*.js")]
    processed = storage.post_process({name: (raw, name) for name in names})
    assert [done for _, _, done in processed if isinstance(done, Exception)] == []
    return Path(storage.path(storage.stored_name("annotation/label.js")))


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


def test_the_page_preloads_every_module_of_the_form() -> None:
    found = {str(path.relative_to(SOURCE.parents[1])) for path in parts(SOURCE)}
    assert found == {"annotation/label.js", *PARTS}


def test_a_change_in_an_imported_module_changes_the_hashed_name_of_the_form(folder: Path) -> None:
    before = collected(folder).name
    assert collected(folder).name == before
    part = folder / "annotation/label/storage.js"
    part.write_text(f"{part.read_text()}\n// changed\n")
    assert collected(folder).name != before
