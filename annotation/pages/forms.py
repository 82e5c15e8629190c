"""The forms of annotation: what a page asks for, and what it says when the answer can't be used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth import get_user_model

from annotation.imports.upload_precheck import precheck
from annotation.models import Batch, Member, OntologyStep, Policy
from annotation.ontology.presets import PRESETS
from annotation.testset import Kind
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats.registry import Role, formats
from evalsvc.core.web.forms import PageForm, add_form_error

POLICIES = [
    (
        Policy.MAJORITY,
        "majority: more than half must choose a label; a label without majority is decided by an adjudicator",
    ),
    (Policy.MAJORITY_NA, "majority-na: the same, and N/A itself can win by more than half"),
]
KINDS = [
    (Kind.RELATIONS, "relations: head and tail are given, the answer is a set of relations"),
    (Kind.ENTITIES, "entities: the answer is a set of labelled spans"),
]


MOST_LETTERS = 200


class ProjectForm(PageForm):
    title = forms.CharField(max_length=120, help_text="What annotators see above the sentence.")
    kind = forms.ChoiceField(choices=KINDS, initial=Kind.RELATIONS, widget=forms.RadioSelect)
    k = forms.IntegerField(
        label="Answers per sentence",
        min_value=1,
        max_value=50,
        error_messages={"invalid": "A whole number."},
        initial=4,
        help_text="How many people answer each sentence. A tie is decided by name.",
    )
    policy = forms.ChoiceField(
        label="Rule", choices=POLICIES, initial=Policy.MAJORITY, widget=forms.RadioSelect
    )
    guideline = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text="Markdown. Shown beside the sentence until a relation is focused.",
    )


class RuleForm(PageForm):
    k = forms.IntegerField(
        label="Answers per sentence", min_value=1, max_value=50, error_messages={"invalid": "A whole number."}
    )
    policy = forms.ChoiceField(label="Rule", choices=POLICIES, widget=forms.RadioSelect)


class GuidelineForm(PageForm):
    guideline = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 18, "spellcheck": "true"}),
        help_text="Markdown: # headings, **bold**, lists, tables, links. HTML in it is shown as text.",
    )
    na_means = forms.CharField(
        label="What N/A means",
        max_length=200,
        help_text="Shown beside the N/A choice: no relation at all, or none of this inventory.",
    )


def format_choices(*roles: Role) -> Callable[[], list[tuple[str, str]]]:
    """Return the choices of a format field, made anew for each form."""
    return lambda: [("", "recognised by content"), *((key, f.title) for key, f in formats(*roles).items())]


SCHEMES = [("", "not needed"), *((name, name) for name in ("IOB2", "IOB1", "BIOES", "BILOU"))]


def upload_field(help_text: str) -> forms.FileField:
    said = {"required": "Choose a file.", "empty": "The file is empty: there is no line in it."}
    return forms.FileField(label="File", help_text=help_text, error_messages=said)


class FileForm(PageForm):
    """A form with a file, looked at before it is taken: what its beginning shows is said beside the field."""

    sort: str = ""

    def __init__(self, *args: Any, kind: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project_kind = kind

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if self.errors or "upload" not in cleaned:
            return cleaned
        told = {name: cleaned.get(name, "") for name in ("format", "scheme")}
        kind = self.project_kind or cleaned.get("kind", "")
        try:
            precheck(cleaned["upload"], what=self.sort or cleaned["what"], kind=kind, **told)
        except DomainError as refusal:
            add_form_error(self, refusal, "upload")
        return cleaned


class ImportForm(FileForm):
    what = forms.ChoiceField(
        label="What is in it",
        choices=[
            (Batch.What.ITEMS, "sentences to label"),
            (Batch.What.VOTES, "answers that people gave already"),
        ],
        initial=Batch.What.ITEMS,
        widget=forms.RadioSelect,
    )
    upload = upload_field(f"UTF-8 text, gzip allowed, up to {settings.IMPORT_MAX_LINES:,} lines.")
    format = forms.ChoiceField(required=False, choices=format_choices("items", "votes"))
    scheme = forms.ChoiceField(
        label="Tag scheme of CoNLL columns",
        required=False,
        choices=SCHEMES,
        help_text="Stated, never guessed: the same tags mean other spans in another scheme.",
    )
    empty = forms.ChoiceField(
        label="Empty cells in a table of answers",
        required=False,
        choices=[("no-vote", "no vote"), ("no-label", "an answer without a label (N/A)")],
    )


class GoldForm(FileForm):
    sort = Batch.What.GOLD
    upload = upload_field("Published gold: UTF-8 text, gzip allowed. One bad line refuses the file.")
    name = forms.CharField(max_length=120)
    version = forms.CharField(max_length=20, initial="1.0")
    kind = forms.ChoiceField(choices=KINDS, initial=Kind.RELATIONS, widget=forms.RadioSelect)
    format = forms.ChoiceField(required=False, choices=format_choices("gold"))
    scheme = forms.ChoiceField(
        label="Tag scheme of CoNLL columns",
        required=False,
        choices=SCHEMES,
        help_text="Stated, never guessed: the same tags mean other spans in another scheme.",
    )
    negative = forms.CharField(
        label="How the negative class is spelt",
        required=False,
        max_length=60,
        help_text="NA, no_relation, Other … Empty when there is none.",
    )


class MemberForm(PageForm):
    user = forms.CharField(
        label="User names", max_length=2_000, help_text="One or several, with spaces or commas between."
    )
    role = forms.ChoiceField(choices=Member.Role.choices, initial=Member.Role.ANNOTATOR)

    def clean_user(self) -> list[User]:
        names = list(dict.fromkeys(self.cleaned_data["user"].replace(",", " ").split()))
        found = {user.username: user for user in get_user_model().objects.filter(username__in=names)}
        missing = [_nobody(name) for name in names if name not in found]
        if missing or not names:
            raise forms.ValidationError(missing or ["Write at least one user name."])
        return [found[name] for name in names]


def _nobody(name: str) -> str:
    """A name nobody has, and the one that was probably meant where only the case is another."""
    usual = "Names are case-sensitive; whoever has no account can be invited by a link."
    same = get_user_model().objects.filter(username__iexact=name).first()
    return f"Nobody here has the user name {name}. {f'Did you mean {same.username}?' if same else usual}"


class PresetForm(PageForm):
    preset = forms.ChoiceField()

    def __init__(self, *args: Any, parts: tuple[str, ...], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        fitting = [(key, preset.title) for key, preset in PRESETS.items() if preset.part in parts]
        self.fields["preset"].choices = fitting  # type: ignore[attr-defined]


class LabelsForm(PageForm):
    labels = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text="One a line, as the data spells it; after a tab a title for people may follow.",
    )

    def __init__(self, *args: Any, names: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.known = {name.casefold(): name for name in names}

    def clean_labels(self) -> list[dict[str, str]]:
        """Names with their titles; the same name twice, or in other case only, is a slip."""
        first: dict[str, int] = {}
        said: list[dict[str, str]] = []
        wrong: list[str] = []
        for number, line in enumerate(self.cleaned_data["labels"].splitlines(), 1):
            name, _, title = (part.strip() for part in line.partition("\t"))
            if not line.strip():
                continue
            wrong += self._slip(name, number, first)
            first.setdefault(name.casefold(), number)
            said.append({"name": name} | ({"title": title} if title else {}))
        if wrong:
            raise forms.ValidationError(wrong)
        return said

    def _slip(self, name: str, number: int, first: dict[str, int]) -> list[str]:
        known = self.known.get(name.casefold(), name)
        if not name:
            return [f"Line {number} has a title and no name before it."]
        if name.casefold() in first:
            return [f"Line {number}: {name} stands in line {first[name.casefold()]} already. Leave one out."]
        if known != name:
            return [f"Line {number}: {known} is there already; {name} differs from it only in letter case."]
        if len(name) > MOST_LETTERS:
            return [f"Line {number}: a name has at most {MOST_LETTERS} letters, this one has {len(name):,}."]
        return []


class StepForm(PageForm):
    operation = forms.ChoiceField(choices=OntologyStep.Operation.choices)
    sources = forms.MultipleChoiceField(widget=forms.CheckboxSelectMultiple)
    target = forms.CharField(label="New name", required=False, max_length=200)

    def __init__(self, *args: Any, names: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["sources"].choices = [(name, name) for name in names]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        operation, sources = cleaned.get("operation"), cleaned.get("sources") or []
        if operation != OntologyStep.Operation.DELETE and not cleaned.get("target"):
            self.add_error("target", "Merging and renaming need a new name.")
        if operation == OntologyStep.Operation.MERGE and len(sources) < 2:
            self.add_error("sources", "Merging needs two or more.")
        if operation == OntologyStep.Operation.RENAME and len(sources) > 1:
            self.add_error("sources", "One at a time can be renamed.")
        return cleaned


class FreezeForm(PageForm):
    name = forms.CharField(max_length=120)
    version = forms.CharField(max_length=20, initial="1.0")
    leave_out = forms.BooleanField(
        required=False, label="Leave out what is open or disputed, and list it in the manifest"
    )
