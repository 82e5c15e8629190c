"""The shapes of a label and of the words that people read of it."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from annotation.models import OntologyLabel
from annotation.ontology.inventory import WORDS
from annotation.ontology.label_texts import LONGEST, LONGEST_EXAMPLE, MOST_EXAMPLES


def _word(word: str, told: str = "") -> serializers.CharField:
    return serializers.CharField(max_length=LONGEST[word], required=False, allow_blank=True, help_text=told)


def _examples(told: str) -> serializers.ListField:
    one = serializers.CharField(max_length=LONGEST_EXAMPLE)
    return serializers.ListField(child=one, max_length=MOST_EXAMPLES, required=False, help_text=told)


class LabelWordsSerializer(serializers.Serializer[Any]):
    """What is left out stays as it is."""

    title = serializers.CharField(
        max_length=LONGEST["title"], required=False, help_text="The name people read."
    )
    phrase = _word("phrase", "Between head and tail: “lived in”.")
    group = _word("group", "The heading it stands under.")
    definition = _word("definition", "Markdown.")
    choose = _examples("Examples where it holds.")
    avoid = _examples("Examples where it does not.")
    head_type = _word("head_type", "The kind of head it expects, as the file calls it.")
    tail_type = _word("tail_type")


class OntologyLabelSerializer(serializers.ModelSerializer[OntologyLabel]):
    choose = serializers.ListField(child=serializers.CharField(), read_only=True)
    avoid = serializers.ListField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = OntologyLabel
        fields = ["id", "part", "name", *WORDS]
        read_only_fields = fields
