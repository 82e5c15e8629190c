"""Forms of the effects of changes to settings."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers


class ShownToTeamsSerializer(serializers.Serializer[Any]):
    """What teams see of a setting at a moment."""

    state = serializers.CharField(help_text="coming, open or closed.")
    figures = serializers.CharField(help_text="none, rounded or exact.")
    words = serializers.CharField(help_text="Which figures, in words.")
    digest = serializers.BooleanField(help_text="True: digest and salt of the gold are shown.")


class OrderEffectSerializer(serializers.Serializer[Any]):
    """Ranks before and with a change, as organisers see them."""

    systems = serializers.IntegerField(help_text="Systems with a rank before or after.")
    moved = serializers.IntegerField(help_text="Those with another rank.")
    first_before = serializers.CharField(help_text="Names of the first rank now.")
    first_after = serializers.CharField(help_text="And with the change.")


class DisplayEffectSerializer(serializers.Serializer[Any]):
    """What a change of a setting would show."""

    runs = serializers.IntegerField(help_text="Active runs with scores under the setting.")
    teams = serializers.IntegerField(help_text="Teams of these runs.")
    before = ShownToTeamsSerializer(help_text="What teams see now.")
    after = ShownToTeamsSerializer(help_text="What they would see at once.")
    at_closing = ShownToTeamsSerializer(allow_null=True, help_text="And when it closes; null: it never does.")
    elsewhere = serializers.IntegerField(
        help_text="Other settings on its gold that change between rounded and exact figures."
    )
    hiding = serializers.IntegerField(
        help_text="Other settings that would hide its gold, or gold that may share lines with it."
    )
    order = OrderEffectSerializer(
        allow_null=True, help_text="Null unless main measure, its direction or the rule of rows changes."
    )
    effect = serializers.CharField(source="__str__", help_text="The same in words.")


class BoardEffectSerializer(serializers.Serializer[Any]):
    """Who would see a benchmark with the change."""

    public = serializers.BooleanField(help_text="Whether everybody would see it.")
    systems = serializers.IntegerField(help_text="Systems with scored runs.")
    runs = serializers.IntegerField(help_text="Scored runs.")
    people = serializers.IntegerField(help_text="People with a role, who see it either way.")
    locked_out = serializers.ListField(
        child=serializers.CharField(), help_text="Teams with runs, none of whose members has a role."
    )
    effect = serializers.CharField(source="__str__", help_text="The same in words.")


class RevisionEffectSerializer(serializers.Serializer[Any]):
    scored_again = serializers.IntegerField(help_text="Runs that this gold scores again.")
    left_out = serializers.IntegerField(help_text="Runs of the board whose files do not cover this gold.")
    effect = serializers.CharField(source="__str__", help_text="The same in words.")
