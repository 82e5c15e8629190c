"""How forms are made here, and the one that everybody fills in: a run to submit."""

from __future__ import annotations

from collections.abc import Iterator

from django import forms
from django.forms import BoundField
from django.utils.text import slugify

from evalsvc.core.web.forms import PageForm

Parts = tuple[tuple[str, str, bool, tuple[str, ...]], ...]
Blocks = tuple[Parts, ...]
Part = tuple[str, str, bool, list[BoundField]]


class Sheet(PageForm):
    """Blocks side by side, each of parts: a title, a line of explanation, whether it is folded at first."""

    BLOCKS: Blocks = ()

    def blocks(self) -> Iterator[list[Part]]:
        for parts in self.BLOCKS:
            yield list(self._parts(parts))

    def _parts(self, parts: Parts) -> Iterator[Part]:
        """The fields under their headings; a folded part opens when something in it was filled in."""
        touched = {*self.errors, *self.changed_data} if self.is_bound else set()
        for title, lead, folded, names in parts:
            fields = [self[name] for name in names if name in self.fields]
            if fields:
                yield title, lead, folded and touched.isdisjoint(names), fields


def address_of(form: forms.Form, name: str) -> str:
    """The address that was given, else one made from the title."""
    if given := form.cleaned_data[name]:
        return str(given)
    made = slugify(form.cleaned_data.get("title", ""))[: form.fields[name].max_length]  # type: ignore[attr-defined]
    if not made and "title" not in form.errors:
        raise forms.ValidationError("The title has no Latin letter to make it from: write one.")
    return made.strip("-_")


def follow_title(form: forms.Form, name: str) -> None:
    """While nothing is typed into it, the page shows there what the title will make."""
    form.fields[name].widget.attrs["data-made-from"] = "title"


class FileForm(PageForm):
    """A file to be checked, and the phase whose lines it has to hold."""

    file = forms.FileField(
        error_messages={"required": "Choose a file of predictions.", "empty": "The file is empty."}
    )
    phase = forms.CharField(max_length=4, required=False)


class RunForm(FileForm):
    """A run of a system: its file, and what the team declares of it."""

    team = forms.SlugField(required=False)
    system = forms.CharField(
        max_length=120, error_messages={"required": "Say which system this is a run of."}
    )
    run = forms.CharField(max_length=40, error_messages={"required": "Give the run a number or a name."})
    aggregate = forms.ChoiceField(choices=(("ONE", "ONE"), ("AVG", "AVG")), required=False)
    pretrained = forms.CharField(max_length=60, required=False)
    extra_data = forms.CharField(max_length=60, required=False)

    @property
    def tags(self) -> dict[str, str]:
        """What was declared, under the names that boards show."""
        told = {"pre-trained": "pretrained", "extra data": "extra_data"}
        return {tag: self.cleaned_data[name] for tag, name in told.items() if self.cleaned_data[name]}


class PipelineForm(RunForm):
    """The same with a trained pipeline for the file."""

    file = forms.FileField(
        error_messages={"required": "Choose a tar of a pipeline.", "empty": "The file is empty."}
    )
