"""Forms in sections, and the form of a run to submit."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from django import forms
from django.forms import BoundField
from django.utils.text import slugify

from evalsvc.core.accounts.models import Team
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats.npy import ColumnNames
from evalsvc.core.web.forms import PageForm
from evalsvc.evaluation.benchmarks.file_contract import BOTH
from evalsvc.evaluation.submissions.request_body import text_of

Parts = tuple[tuple[str, str, bool, tuple[str, ...]], ...]
Blocks = tuple[Parts, ...]
Part = tuple[str, str, bool, list[BoundField]]


class SectionedForm(PageForm):
    """Form in blocks side by side, each of one or more sections.

    A section has a title, a lead, whether it starts folded, and fields.
    """

    BLOCKS: Blocks = ()

    def blocks(self) -> Iterator[list[Part]]:
        """Yield fields under their headings; sections with input are open."""
        touched = {*self.errors, *self.changed_data} if self.is_bound else set()
        for sections in self.BLOCKS:
            parts = [
                (
                    title,
                    lead,
                    folded and touched.isdisjoint(names),
                    [self[n] for n in names if n in self.fields],
                )
                for title, lead, folded, names in sections
            ]
            yield [part for part in parts if part[-1]]


def slug_from_title(form: forms.Form, name: str) -> str:
    """Return the slug entered, else one made from the title."""
    if slug := form.cleaned_data[name]:
        return str(slug)
    made = slugify(form.cleaned_data.get("title", ""))[: form.fields[name].max_length]  # type: ignore[attr-defined]
    if not made and "title" not in form.errors:
        raise forms.ValidationError("The title has no Latin letters or digits. Enter this yourself.")
    return made.strip("-_")


def preview_slug(form: forms.Form, name: str) -> None:
    """Show the slug made from the title while the field is empty."""
    form.fields[name].widget.attrs["data-made-from"] = "title"


class FileForm(PageForm):
    """File to check, and the phase whose items it must cover."""

    # the button for a check sends the form of a run
    OTHER_NAMES: Collection[str] = (
        "team",
        "system",
        "run",
        "aggregate",
        "pretrained",
        "extra_data",
        "paper",
        "code",
    )
    file = forms.FileField(
        label="Prediction file",
        error_messages={"required": "Choose a prediction file.", "empty": "The file is empty."},
    )
    phase = forms.CharField(
        max_length=4,
        required=False,
        widget=forms.Select,
        help_text="The settings of this phase score the run.",
    )
    na = forms.ChoiceField(
        label="Column of the negative class",
        choices=(("", "none"), ("first", "first column"), ("last", "last column")),
        required=False,
        help_text="Only for .npy. The other columns are the labels in the benchmark’s order.",
    )
    columns = forms.CharField(
        label="Names of the columns",
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Only for .npy in another order: one label per line, for example born_in.",
    )
    columns_file = forms.FileField(
        label="File with the names of the columns",
        required=False,
        help_text="Instead of entering them: one label per line, or OpenNRE’s rel2id.json.",
    )

    def clean_columns_file(self) -> str:
        """Return the text of the file; names come from one place."""
        sidecar = self.cleaned_data["columns_file"]
        if sidecar and self.cleaned_data.get("columns"):
            raise forms.ValidationError("Enter the names above, or choose a file with them. Remove one.")
        try:
            return text_of(sidecar) if sidecar else ""
        except DomainError as error:
            raise forms.ValidationError(f"{error.detail} {error.hint}") from error

    @property
    def names(self) -> ColumnNames:
        """Statement about the columns of a dense file."""
        columns = self.cleaned_data["columns"] or self.cleaned_data["columns_file"]
        return ColumnNames(columns, self.cleaned_data["na"])


class RunForm(FileForm):
    """Run of a system: its file and what the team declares."""

    OTHER_NAMES = ()

    team = forms.SlugField(required=False, widget=forms.Select)
    system = forms.CharField(
        max_length=120,
        widget=forms.TextInput(attrs={"list": "systems"}),
        help_text="Name shown on the leaderboard. Runs with the same name are averaged.",
        error_messages={"required": "Enter the name of the system."},
    )
    run = forms.CharField(
        max_length=40,
        initial="1",
        help_text="Seed or number. A run has one active file.",
        error_messages={"required": "Enter a number or name for the run."},
    )
    aggregate = forms.ChoiceField(
        label="From sentences to bags",
        choices=(
            ("ONE", "ONE: highest score among the sentences of a bag"),
            ("AVG", "AVG: mean score over the sentences of a bag"),
        ),
        initial="ONE",
        widget=forms.RadioSelect,
        required=False,
    )
    pretrained = forms.CharField(
        label="Pre-trained model",
        max_length=60,
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "BERT base"}),
        help_text="The model it starts from, if any.",
    )
    extra_data = forms.CharField(
        max_length=60,
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "Wikidata triples"}),
        help_text="Training data beyond the benchmark’s, if any.",
    )
    paper = forms.URLField(
        label="Paper",
        max_length=300,
        assume_scheme="https",
        required=False,
        widget=forms.URLInput(attrs={"placeholder": "https://aclanthology.org/…"}),
        help_text="Its address; the leaderboard links it.",
    )
    code = forms.URLField(
        max_length=300,
        assume_scheme="https",
        required=False,
        widget=forms.URLInput(attrs={"placeholder": "https://github.com/…"}),
        help_text="Its address; the leaderboard links it.",
    )
    COLUMN_FIELDS = ("na", "columns", "columns_file")
    RUN_FIELDS: tuple[str, ...] = ("file", "team", "phase", "system", "run", "aggregate", *COLUMN_FIELDS)
    TAGS = {"pretrained": "pre-trained", "extra_data": "extra data", "paper": "paper", "code": "code"}

    def offer(self, teams: Sequence[Team], phases: Sequence[str], *, bags: bool) -> None:
        """Set the choices to show; questions with one answer are hidden."""
        self.fields["team"].widget.choices = [(team.slug, str(team)) for team in teams]
        self.fields["phase"].widget.choices = [
            (phase, "both, with one file" if phase == BOTH else phase) for phase in phases
        ]
        shown = {"team": len(teams) > 1, "phase": len(phases) > 1, "aggregate": bags}
        self.shown_fields = [name for name in self.RUN_FIELDS if shown.get(name, True)]

    def offer_columns(self, dense: bool) -> None:
        """Show the columns of dense files only where these are accepted."""
        hidden = () if dense else self.COLUMN_FIELDS
        self.shown_fields = [name for name in self.shown_fields if name not in hidden]

    def run_fields(self) -> list[BoundField]:
        return [self[name] for name in self.shown_fields]

    def tag_fields(self) -> list[BoundField]:
        return [self[name] for name in self.TAGS]

    def has_tags(self) -> bool:
        return any(self[name].value() for name in self.TAGS)

    @property
    def tags(self) -> dict[str, str]:
        """Declared tags under the names boards show."""
        return {tag: self.cleaned_data[name] for name, tag in self.TAGS.items() if self.cleaned_data[name]}


class PipelineForm(RunForm):
    """Run of a system with a trained pipeline instead of a file."""

    file = forms.FileField(
        label="Pipeline, one tar",
        help_text="Regular files only.",
        error_messages={"required": "Choose a tar of a pipeline.", "empty": "The file is empty."},
    )
    RUN_FIELDS = ("file", "team", "phase", "system", "run")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"auto_id": "id_model_%s", **kwargs})
