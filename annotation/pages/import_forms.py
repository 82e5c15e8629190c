"""Forms of imports: a file, its format, and what some formats need besides."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from django import forms
from django.conf import settings

from annotation.imports import batches
from annotation.imports.upload_precheck import precheck
from annotation.models import Batch, Project
from annotation.testset import Kind, TestSet
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats import brat
from evalsvc.core.formats.registry import Role, formats
from evalsvc.core.web.forms import PageForm, add_form_error
from evalsvc.core.web.views import attempt

NAMES_END = re.compile(r"[,\n]")
OPTIONS: dict[str, tuple[str, ...]] = {
    Batch.What.ITEMS: ("scheme", "unit", "names"),
    Batch.What.VOTES: ("empty", "k", "item", "unit"),
    Batch.What.GOLD: ("name", "version", "kind", "negative", "scheme", "unit", "names", "source_of"),
}
KINDS = [
    (Kind.RELATIONS, "relations: head and tail are given, the answer is a set of relations"),
    (Kind.ENTITIES, "entities: the answer is a set of labelled spans"),
    (Kind.JOINT, "joint: labelled spans, and relations between them"),
]
TAG_SCHEMES = [("", "none"), *((name, name) for name in ("IOB2", "IOB1", "BIOES", "BILOU"))]


def format_choices(*roles: Role) -> Callable[[], list[tuple[str, str]]]:
    """Return the choices of a format field, made anew for each form."""
    return lambda: [("", "detect from the content"), *((key, f.title) for key, f in formats(*roles).items())]


def upload_field(help_text: str) -> forms.FileField:
    errors = {"required": "Choose a file."}
    return forms.FileField(label="File", allow_empty_file=True, help_text=help_text, error_messages=errors)


def annotations_field() -> forms.FileField:
    help_text = "Only for brat: the .ann file of the .txt file above."
    return forms.FileField(
        label="File of annotations", required=False, allow_empty_file=True, help_text=help_text
    )


def tag_scheme_field() -> forms.ChoiceField:
    help_text = "Only for tags, in columns or JSON, for example IOB2. It can’t be detected from the file."
    return forms.ChoiceField(label="Tag scheme", required=False, choices=TAG_SCHEMES, help_text=help_text)


def unit_field() -> forms.ChoiceField:
    help_text = "Only for doccano, whose files don’t say what they count."
    choices = [
        ("", "not stated"),
        ("utf16", "UTF-16 units, doccano’s usual"),
        ("graphemes", "grapheme clusters, if its project counts them"),
        ("code-points", "code points, as imported by a script"),
    ]
    return forms.ChoiceField(label="Unit of offsets", required=False, choices=choices, help_text=help_text)


class NamesField(forms.CharField):
    """Names separated by commas or line ends."""

    widget = forms.Textarea(attrs={"rows": 2})

    def __init__(self) -> None:
        help_text = "Only for rows of Hugging Face: the names in the card, in the order of their numbers."
        super().__init__(label="Names of labels", required=False, help_text=help_text)

    def clean(self, value: Any) -> Any:
        return [name.strip() for name in NAMES_END.split(super().clean(value)) if name.strip()]


class FileForm(PageForm):
    """Form with a file whose first lines are checked.

    `FOLDED` fields are for some formats only.
    """

    FOLDED = ("annotations", "scheme", "unit", "names", "empty", "item")
    content: str = ""
    options = OPTIONS

    def __init__(self, *args: Any, kind: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project_kind = kind

    @property
    def plain(self) -> list[forms.BoundField]:
        return [field for field in self if field.name not in self.FOLDED]

    @property
    def folded(self) -> list[forms.BoundField]:
        return [self[name] for name in self.FOLDED if name in self.fields]

    @property
    def is_unfolded(self) -> bool:
        """True if one of these fields has an error or a value."""
        return any(field.errors or (self.is_bound and field.data) for field in self.folded)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if self.errors or "upload" not in cleaned:
            return cleaned
        options = {name: cleaned.get(name, "") for name in ("format", "scheme", "unit", "names")}
        kind = self.project_kind or cleaned.get("kind", "")
        upload, beside = cleaned["upload"], cleaned.get("annotations")
        try:
            if beside:
                upload = batches.joined(upload, beside, format=options["format"])
                options["format"] = cleaned["format"] = brat.FORMAT.key
            precheck(upload, content=self.content or cleaned["what"], kind=kind, **options)
        except DomainError as error:
            add_form_error(self, error, "upload")
        return cleaned

    def receive(self, project: Project | None = None, *, by: User) -> Batch | None:
        """Store a valid form's file and queue its import; otherwise show errors."""
        if not self.is_valid():
            return None
        values, what = self.cleaned_data, self.content or self.cleaned_data["what"]
        arguments = {
            "content": what,
            "upload": values["upload"],
            "filename": values["upload"].name,
            "format": values.get("format", ""),
            "annotations": values.get("annotations"),
            "options": {name: values[name] for name in self.options.get(what, ()) if values[name]},
        }
        return attempt(self, lambda: batches.receive(**arguments, by=by, project=project), "upload")


class ImportForm(FileForm):
    what = forms.ChoiceField(
        label="Content",
        choices=[
            (Batch.What.ITEMS, "sentences to label"),
            (Batch.What.VOTES, "answers given elsewhere"),
        ],
        initial=Batch.What.ITEMS,
        widget=forms.RadioSelect,
    )
    upload = upload_field(f"UTF-8 text, optionally gzipped, up to {settings.IMPORT_MAX_LINES:,} lines.")
    annotations = annotations_field()
    format = forms.ChoiceField(required=False, choices=format_choices("items", "votes"))
    scheme = tag_scheme_field()
    unit = unit_field()
    names = NamesField()
    empty = forms.ChoiceField(
        label="Empty cells of a table, and documents of doccano without a label",
        required=False,
        choices=[("no-vote", "no answer"), ("no-label", "an answer without a label (N/A)")],
    )
    item = forms.CharField(
        label="Id of the document",
        required=False,
        max_length=200,
        help_text="Only for a person’s file of INCEpTION: its document. The person is the name of the file.",
    )
    k = forms.IntegerField(
        label="Answers per sentence in this file",
        required=False,
        min_value=1,
        max_value=1_000,
        help_text="Only for answers. Empty: as many as the file has for a sentence; one answer settles it.",
    )


class GoldForm(FileForm):
    content = Batch.What.GOLD
    upload = upload_field("UTF-8 text, optionally gzipped. One invalid line rejects the file.")
    name = forms.CharField(max_length=120, help_text="For example: NYT10 test.")
    version = forms.CharField(max_length=20, initial="1.0", help_text="For example: 1.0.")
    kind = forms.ChoiceField(choices=KINDS, initial=Kind.RELATIONS, widget=forms.RadioSelect)
    annotations = annotations_field()
    format = forms.ChoiceField(required=False, choices=format_choices("gold"))
    scheme = tag_scheme_field()
    unit = unit_field()
    names = NamesField()
    negative = forms.CharField(
        label="Negative class",
        required=False,
        max_length=60,
        help_text="Its name in the file, for example NA, no_relation or Other. Leave empty if there is none.",
    )
    source_of = forms.ChoiceField(
        label="Source labels of",
        required=False,
        help_text="For labels of a source beside imported gold of the same ids. Its page shows quality.",
    )

    def __init__(self, *args: Any, golds: Iterable[TestSet] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["source_of"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "none: this is the gold"), *((gold.slug, str(gold)) for gold in golds)]
