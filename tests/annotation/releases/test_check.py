"""The check of a copy names the file that differs, and how, from the files alone."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation import projects
from annotation.ontology import inventory
from annotation.pages import releases
from annotation.queue import votes
from annotation.releases import check, checksums, folder
from annotation.testset import TestSet
from tests.annotation.releases.test_folder import frozen, released
from tests.cast.basics import person
from tests.cast.projects import annotators, create_project, curator, import_lines

pytestmark = pytest.mark.django_db
Edit = Callable[[str], str]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    folder.write_folder(released(), tmp_path / "copy")
    return tmp_path / "copy"


def edited(copy: Path, name: str, old: str, new: str, *, sums: bool = False) -> check.CheckResult:
    """Replace a text of a file; `sums` also makes its checksum right again."""
    path = copy / name
    before = path.read_text()
    assert old in before
    path.write_text(before.replace(old, new, 1))
    if sums:
        digests = [hashlib.sha256(text.encode()).hexdigest() for text in (before, path.read_text())]
        listed = copy / "SHA256SUMS"
        listed.write_text(listed.read_text().replace(*digests))
    return check.check(checksums.open_folder(copy))


def test_a_release_as_it_was_has_no_differences(copy: Path) -> None:
    result = check.check(checksums.open_folder(copy))
    assert result.differences == {}
    assert (result.title, result.rows, result.redecided, len(result.checked)) == ("Trial 1.0", 3, 3, 10)
    assert result.manifest_sha256 == folder.manifest_sha256(TestSet.objects.get(origin="annotated"))


@pytest.mark.parametrize("name", ["README.md", "CITATION.cff", "guideline.md", "citation.bib"])
def test_a_changed_text_is_named_with_both_digests(copy: Path, name: str) -> None:
    before = hashlib.sha256((copy / name).read_bytes()).hexdigest()
    (copy / name).write_text("Other.")
    result = check.check(checksums.open_folder(copy))
    (text,) = result.differences.pop(name)
    assert (hashlib.sha256(b"Other.").hexdigest() in text, before in text) == (True, True)
    assert result.is_intact


def test_of_a_list_of_checksums_twenty_wrong_lines_are_named() -> None:
    sums = checksums.compare_sums({"SHA256SUMS": lambda: [b"\n"] * 1_000})
    assert len(sums.differences) == 21
    assert sums.differences[-1] == ("SHA256SUMS", "980 more lines are wrong.")


def test_a_slug_that_no_set_can_have_is_looked_up_nowhere(copy: Path) -> None:
    """PostgreSQL rejects statements with NUL."""
    slug = json.loads((copy / "manifest.json").read_text())["slug"]
    result = edited(copy, "manifest.json", f'"{slug}"', '"a\\u0000"', sums=True)
    assert result.slug == ""
    assert "It is not as in a release" in result.differences["manifest.json"][0]


def test_a_second_checksum_of_a_file_is_named() -> None:
    right = hashlib.sha256(b"Mine.").hexdigest()
    for digests in ((right, "0" * 64), ("0" * 64, right)):
        lines = [f"{digest}  README.md\n".encode() for digest in digests]
        sums = checksums.compare_sums({"SHA256SUMS": lines.__iter__, "README.md": [b"Mine."].__iter__})
        assert ("SHA256SUMS", "Line 2 states another SHA-256 of README.md.") in sums.differences


def test_a_changed_label_is_named_with_what_the_answers_give(copy: Path) -> None:
    result = edited(copy, "gold.jsonl", '"relations":["A"]', '"relations":["B"]')
    assert set(result.differences) == {"gold.jsonl"}
    assert (
        'Line 1 (s0): relations ["B"] in gold.jsonl; the answers give ["A"].'
        in result.differences["gold.jsonl"]
    )
    assert "A: 0 in gold.jsonl, 1 in statistics.json." in result.differences["gold.jsonl"]


def test_a_changed_decision_is_named_at_the_provenance(copy: Path) -> None:
    result = edited(copy, "provenance.jsonl", '"relations":["C"]},"id"', '"relations":["B"]},"id"')
    assert set(result.differences) == {"provenance.jsonl"}
    assert 'the decision gives ["B"]' in result.differences["provenance.jsonl"][-1]


def test_a_changed_answer_is_named_even_with_a_new_checksum(copy: Path) -> None:
    result = edited(copy, "provenance.jsonl", '"relations":["A"]', '"relations":["B"]', sums=True)
    assert any("manifest.json states" in text for text in result.differences["provenance.jsonl"])
    assert any("The votes for its labels" in text for text in result.differences["provenance.jsonl"])


def test_a_changed_sentence_to_predict_is_named_with_both_texts(copy: Path) -> None:
    result = edited(copy, "blind.jsonl", "Ada was seen", "Ida was seen")
    assert set(result.differences) == {"blind.jsonl"}
    assert "Ada was seen" in result.differences["blind.jsonl"][1]
    assert "Ida was seen" in result.differences["blind.jsonl"][1]


def test_a_missing_an_added_and_a_shortened_file_are_named(copy: Path) -> None:
    (copy / "guideline.md").unlink()
    (copy / "notes.txt").write_text("Mine.")
    (copy / "blind.jsonl").write_bytes((copy / "blind.jsonl").read_bytes().split(b"\n")[0] + b"\n")
    result = check.check(checksums.open_folder(copy))
    assert result.differences["guideline.md"] == ["It is missing; SHA256SUMS lists it."]
    assert result.differences["notes.txt"] == ["SHA256SUMS does not list it."]
    assert "Line 2 and those after it are missing in blind.jsonl." in result.differences["blind.jsonl"]


def test_other_line_ends_other_names_and_folders_are_named(copy: Path) -> None:
    guideline = copy / "guideline.md"
    guideline.write_bytes(guideline.read_bytes().replace(b"\n", b"\r\n"))
    (copy / "citation.bib").rename(copy / "paper.bib")
    (copy / "old").mkdir()
    (copy / "old" / "gold.jsonl").write_bytes((copy / "gold.jsonl").read_bytes())
    assert check.check(checksums.open_folder(copy)).differences == {
        "guideline.md": ["Only its line ends differ: CR LF instead of LF."],
        "citation.bib": ["It is missing; SHA256SUMS lists it."],
        "paper.bib": ["SHA256SUMS does not list it. Its content is citation.bib."],
        "old/gold.jsonl": ["SHA256SUMS does not list it."],
    }


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [("guideline.md", "Only what", "Not only what"), ("ontology.json", '"title": "A"', '"title": "B"')],
)
def test_the_manifest_tells_a_changed_description_even_with_a_new_checksum(
    copy: Path, name: str, old: str, new: str
) -> None:
    result = edited(copy, name, old, new, sums=True)
    assert set(result.differences) == {name}
    assert "manifest.json states" in result.differences[name][0]


def without(copy: Path, name: str) -> check.CheckResult:
    """Remove a file and its checksum."""
    (copy / name).unlink()
    listed = copy / "SHA256SUMS"
    kept = [line for line in listed.read_text().splitlines(keepends=True) if name not in line]
    listed.write_text("".join(kept))
    return check.check(checksums.open_folder(copy))


@pytest.mark.parametrize("name", ["guideline.md", "statistics.json", "gold.jsonl", "blind.jsonl"])
def test_a_file_that_the_manifest_implies_is_missed_even_without_its_checksum(copy: Path, name: str) -> None:
    (text,) = without(copy, name).differences[name]
    assert text.startswith("It is missing; manifest.json ")


def test_a_manifest_from_before_states_no_digests_of_descriptions_and_is_checked_as_it_was(
    tmp_path: Path,
) -> None:
    test_set = released()
    test_set.manifest = {name: each for name, each in test_set.manifest.items() if name != "binds_files"}
    folder.write_folder(test_set, tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert {"files_sha256", "binds_files"}.isdisjoint(manifest)
    result = check.check(checksums.open_folder(tmp_path))
    assert result.differences == {}
    assert {"guideline.md", "ontology.json"} < set(result.unbound)


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('"blind": 9', '"blind": 0', "answers"),
        ('"imported": 0', '"imported": 9', "answers"),
        ('"prediction_shown": 0', '"prediction_shown": 9', "answers"),
        ('"settled": 2', '"settled": 3', "counts"),
    ],
)
def test_origins_and_outcomes_in_the_manifest_are_those_of_the_answers(
    copy: Path, old: str, new: str, key: str
) -> None:
    (text,) = edited(copy, "manifest.json", old, new, sums=True).differences["manifest.json"]
    assert text.startswith(f"{key} is ")


# File, line (-1: the whole), place in it, forged value, report
FORGED: list[tuple[str, int, list[Any], Any, str]] = [
    ("manifest.json", -1, ["counts", "answers"], 720, "counts.answers is 720 in manifest.json; the lines"),
    ("manifest.json", -1, ["counts", "answers"], 1, "counts.answers is 1 in manifest.json; the lines"),
    ("manifest.json", -1, ["counts", "open"], 0, "counts.open is 0 in manifest.json; left_out has 1."),
    (
        "manifest.json",
        -1,
        ["counts", "disputed"],
        2,
        "counts.disputed is 2 in manifest.json; left_out has 0",
    ),
    (
        "provenance.jsonl",
        0,
        ["pattern"],
        "1–1",
        'The pattern is "2–1 against 1 N/A"; ',
    ),
    ("provenance.jsonl", 0, ["labels", 0, "gold"], False, "The votes for its labels are"),
    ("provenance.jsonl", 0, ["labels", 0, "against"], 7, "The votes for its labels are"),
    ("provenance.jsonl", 0, ["labels", 0, "suggested"], 2, "The votes for its labels are"),
    (
        "provenance.jsonl",
        2,
        ["state"],
        "settled",
        'The state is "adjudicated"; ',
    ),
    ("statistics.json", -1, ["relations"], 9, "relations: 2 in gold.jsonl, 9 in statistics.json."),
    ("statistics.json", -1, ["neighbours", "same"], 9, "neighbours: "),
]


@pytest.mark.parametrize(("name", "line", "place", "value", "report"), FORGED)
def test_a_figure_that_the_lines_give_is_compared_with_them_even_with_new_checksums(
    copy: Path, name: str, line: int, place: list[Any], value: Any, report: str
) -> None:
    if value == 720:  # else the sentences that were left out may have had the others
        forge(copy, "manifest.json", -1, ["left_out"], {})
        forge(copy, "manifest.json", -1, ["counts", "open"], 0)
        forge(copy, "statistics.json", -1, ["left_out"], {})
    forge(copy, name, line, place, value)
    found = check.check(checksums.open_folder(copy)).differences.values()
    assert report in " ".join(text for texts in found for text in texts)


def forge(copy: Path, name: str, line: int, place: list[Any], value: Any) -> None:
    """Change one value, and each digest of the file."""
    path = copy / name
    lines = [path.read_text()] if line < 0 else path.read_text().splitlines(keepends=True)
    content = within = json.loads(lines[line])
    for step in place[:-1]:
        within = within[step]
    within[place[-1]] = value
    lines[line] = json.dumps(content, ensure_ascii=False) + "\n"
    digests = {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in (path, copy / "manifest.json")}
    path.write_text("".join(lines))
    for changed in (path, copy / "manifest.json"):
        now = hashlib.sha256(changed.read_bytes()).hexdigest()
        for other in (copy / "manifest.json", copy / "SHA256SUMS"):
            if digests[changed] != now:
                other.write_text(other.read_text().replace(digests[changed], now))


def test_gold_without_the_provenance_of_its_manifest_is_not_as_released(copy: Path) -> None:
    result = without(copy, "provenance.jsonl")
    assert result.differences == {"provenance.jsonl": ["It is missing; manifest.json states its SHA-256."]}


def test_a_copy_without_gold_says_that_no_label_was_compared(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blind = copy.parent / "blind"
    call_command("export", TestSet.objects.get(origin="annotated").slug, folder=str(blind), blind=True)
    call_command("verify_release", str(blind))
    assert "This copy has no gold, so no label was compared." in capsys.readouterr().out


STEP, ANSWER = '{"operation":"add","sources":[]}', '{"relations":[]}'
MANY_STEPS = f'{{"labels":[],"steps":[{",".join([STEP] * 1_001)}]}}'
MANY_ANSWERS = f'{{"id":"s0","state":"settled","k":3,"labels":[],"answers":[{",".join([ANSWER] * 1_001)}]}}\n'


@pytest.mark.parametrize("name", ["facts", "pairs", "na_sentences", "perplexity_with_negative", "ratio"])
def test_a_changed_figure_is_named_with_the_one_that_the_gold_gives(copy: Path, name: str) -> None:
    figure = json.loads((copy / "statistics.json").read_text())[name]
    result = edited(copy, "statistics.json", f'"{name}": {figure}', f'"{name}": 7', sums=True)
    (text,) = result.differences["gold.jsonl"]
    assert text.startswith(f"{name}: ")
    of_gold, _, edited_to = text.removeprefix(f"{name}: ").partition(" in gold.jsonl, ")
    assert float(of_gold.replace(",", "")) == pytest.approx(figure)  # NumPy may round otherwise
    assert edited_to.startswith("7")


@pytest.mark.parametrize(
    ("old", "new", "texts"),
    [
        (
            '"open": 1',
            '"open": 9',
            ['left_out: {"open": 1} in manifest.json, {"open": 9} in statistics.json.'],
        ),
        ('"left_out"', '"left"', ['left_out: {"open": 1} in manifest.json, none in statistics.json.']),
        (
            '"left_out"',
            '"left_out_of_whole"',
            [
                'left_out: {"open": 1} in manifest.json, none in statistics.json.',
                'left_out_of_whole: none in manifest.json, {"open": 1} in statistics.json.',
            ],
        ),
    ],
)
def test_counts_of_what_was_left_out_are_those_of_the_manifest(
    copy: Path, old: str, new: str, texts: list[str]
) -> None:
    assert edited(copy, "statistics.json", old, new, sums=True).differences == {"statistics.json": texts}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *(("gold.jsonl", text) for text in ("[]\n", '{"id":[],"relations":1}\n', "\xff", '{"id":1}\n')),
        *(("gold.jsonl", f'{{"id":{each},"relations":[]}}\n') for each in ("[]", '"\\ud800"', "{}")),
        *(
            ("gold.jsonl", f'{{"id":"s0","relations":[],{each}}}\n')
            for each in ('"t":{"pos":null}', '"text":[null]')
        ),
        *(("blind.jsonl", text) for text in ("NaN\n", "[[[]]]\n", '{"id":"\\ud800"}\n')),
        ("ontology.json", MANY_STEPS),
        ("provenance.jsonl", MANY_ANSWERS),
        *(("provenance.jsonl", text) for text in ("{}\n", "[[" * 5_000, '{"id":"s0","answers":[1]}\n')),
        *(("manifest.json", text) for text in ("", "[]", '{"format":"other"}', "{")),
        *(("ontology.json", text) for text in ("", '{"labels":1}', '{"labels":[],"steps":[{}]}')),
        *(("statistics.json", text) for text in ("[]", '{"labels":{"A":"x"}}')),
        *(("SHA256SUMS", text) for text in ("", "x", "0" * 64 + "  ../gold.jsonl")),
    ],
)
def test_a_file_of_any_other_form_is_named_and_no_fault_of_the_check(
    copy: Path, name: str, content: str
) -> None:
    (copy / name).write_text(content)
    result = check.check(checksums.open_folder(copy))
    assert result.differences
    assert str(result.differences).encode()  # halves of characters could not be shown


def test_the_page_stops_at_files_that_take_too_long(
    client: Client, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.force_login(person("sam"))
    files = [SimpleUploadedFile(path.name, path.read_bytes()) for path in copy.iterdir()]
    assert (
        "agree with each other" in client.post(reverse("release-check"), {"copies": files}).content.decode()
    )
    monkeypatch.setattr(releases, "MAX_SECONDS", 0)
    for file in files:
        file.seek(0)
    assert "take too long" in client.post(reverse("release-check"), {"copies": files}).content.decode()


def test_a_line_too_long_to_be_read_is_named_with_its_bytes_alone(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = (copy / "provenance.jsonl").read_bytes().splitlines(keepends=True)
    size, number = max((len(line), number) for number, line in enumerate(lines, 1))
    monkeypatch.setattr(check, "LONGEST_LINE", size - 1)
    result = check.check(checksums.open_folder(copy))
    text = f"Line {number} has {size:,} bytes; lines of up to {size - 1:,} are read, so no line was compared."
    assert result.differences == {"provenance.jsonl": [text]}
    monkeypatch.setattr(check, "LONGEST_LINE", size)
    assert check.check(checksums.open_folder(copy)).is_intact


def test_what_is_not_compared_is_named(copy: Path) -> None:
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["counts"]["answers_emptied_by_deletion"] = 7
    before = (copy / "manifest.json").read_text()
    assert edited(copy, "manifest.json", before, json.dumps(manifest), sums=True).is_intact
    for words in ("labels the ontology lists", "a deletion of labels emptied", "excluded or left out"):
        assert words in check.NOT_COMPARED


def test_merged_labels_are_mapped_before_the_lines_are_decided_anew(tmp_path: Path) -> None:
    project = released().project
    assert project is not None
    inventory.merge(project, ["A", "B"], target="AB", by=curator())
    folder.write_folder(frozen(project, "1.1"), tmp_path)
    assert b'"AB"' in (tmp_path / "gold.jsonl").read_bytes()
    assert check.check(checksums.open_folder(tmp_path)).differences == {}


def test_spans_and_relations_between_them_are_decided_anew(tmp_path: Path) -> None:
    project = create_project("joint", labels=["person", "place"])
    inventory.add_labels(project, ["lives_in"], part="relation", by=curator())
    import_lines(project, [{"id": name, "text": f"Ada lives in Turin, {name}."} for name in ("d1", "d2")])
    projects.open_for_work(project, by=curator())
    payload = {"spans": [[0, 3, "person"], [13, 18, "place"]], "relations": [[0, "lives_in", 1]]}
    for user in annotators(project, 2):
        for item in project.items.all():
            votes.answer(item, user, client_id=uuid4(), payload=payload)
    folder.write_folder(frozen(project), tmp_path)
    result = check.check(checksums.open_folder(tmp_path))
    assert (result.differences, result.redecided) == ({}, 2)
    line = json.loads((tmp_path / "gold.jsonl").read_text().splitlines()[0])
    assert line["relations"]
    result = edited(tmp_path, "gold.jsonl", '"relations":[[0,"lives_in",1]]', '"relations":[]')
    assert "the answers give" in str(result.differences["gold.jsonl"])


def test_the_command_needs_no_database_and_fails_on_a_difference(copy: Path) -> None:
    nowhere = {
        "DATABASE_URL": "postgres://nobody@127.0.0.1:1/none",
        "EVALSVC_DATA": str(copy.parent / "none"),
    }

    def run() -> Any:
        command = [sys.executable, "manage.py", "verify_release", str(copy)]
        return subprocess.run(
            command, capture_output=True, text=True, env=os.environ | nowhere, check=False, timeout=60
        )

    right = run()
    assert (right.returncode, right.stderr) == (0, "")
    assert "The 10 files agree with each other and with the manifest." in right.stdout
    assert check.NOT_COMPARED in right.stdout
    names = "CITATION.cff, README.md, citation.bib, statistics.json"
    assert f"manifest.json states no SHA-256 of {names}: their checksums may be new." in right.stdout
    with (copy / "gold.jsonl").open("a") as file:
        file.write("\n")
    wrong = run()
    assert wrong.returncode == 1
    assert "gold.jsonl: It has 4 lines; manifest.json states 3." in wrong.stdout
