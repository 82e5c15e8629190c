"""The form of a label's own words."""

from __future__ import annotations

from typing import Any

from django import forms

from annotation.models import OntologyLabel
from annotation.ontology.label_texts import EXAMPLES, LONGEST, LONGEST_EXAMPLE, MOST_EXAMPLES
from evalsvc.core.web.forms import PageForm


class ExamplesField(forms.CharField):
    """Examples, one a line."""

    def __init__(self, **more: Any) -> None:
        super().__init__(required=False, widget=forms.Textarea(attrs={"rows": 3}), **more)

    def clean(self, value: Any) -> list[str]:
        said = [line.strip() for line in super().clean(value).splitlines() if line.strip()]
        if len(said) > MOST_EXAMPLES:
            raise forms.ValidationError(f"At most {MOST_EXAMPLES} examples; these are {len(said):,}.")
        for at, line in enumerate(said, 1):
            if len(line) > LONGEST_EXAMPLE:
                told = f"Example {at} has {len(line):,} letters; at most {LONGEST_EXAMPLE:,} fit."
                raise forms.ValidationError(told)
        return said


class WordsForm(PageForm):
    title = forms.CharField(
        max_length=LONGEST["title"], help_text="The name people read; the data’s own name stays."
    )
    phrase = forms.CharField(
        label="Verb phrase",
        required=False,
        max_length=LONGEST["phrase"],
        help_text="Between head and tail: “lived in”. The answer is read back as a sentence with it.",
    )
    definition = forms.CharField(
        required=False,
        max_length=LONGEST["definition"],
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "true"}),
        help_text="Markdown, as in the guideline. Beside the sentence while the label is focused.",
    )
    choose = ExamplesField(label="Choose it", help_text="Examples where it holds, one a line.")
    avoid = ExamplesField(label="Don’t choose it", help_text="Examples where it does not, one a line.")
    group = forms.CharField(
        required=False,
        max_length=LONGEST["group"],
        help_text="The heading it stands under; labels with the same one stand together.",
    )
    head_type = forms.CharField(
        label="Head expected",
        required=False,
        max_length=LONGEST["head_type"],
        help_text="A kind of entity, as the file calls it. Where the head is another, the label stands back.",
    )
    tail_type = forms.CharField(label="Tail expected", required=False, max_length=LONGEST["tail_type"])

    @classmethod
    def of(cls, label: OntologyLabel, data: Any = None) -> WordsForm:
        """The form with what the label says today; spans have no verb phrase, head or tail."""
        stored = {word: getattr(label, word) for word in cls.base_fields}
        form = cls(data, initial=stored | {word: "\n".join(stored[word]) for word in EXAMPLES})
        if label.part == OntologyLabel.Part.ENTITY:
            for word in ("phrase", "head_type", "tail_type"):
                del form.fields[word]
        return form
