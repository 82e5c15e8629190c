"""Tables of tokens, items, leases and votes."""
# ruff: noqa: DJ008 - rows are never displayed

from django.db import models
from django.db.models import Q


class Token(models.Model):
    digest = models.CharField(max_length=64, unique=True)
    person = models.IntegerField()

    class Meta:
        app_label = "bare"


class Item(models.Model):
    rank = models.IntegerField()
    text = models.TextField()
    head = models.JSONField()
    tail = models.JSONField()
    free = models.SmallIntegerField()
    answers = models.SmallIntegerField(default=0)

    class Meta:
        app_label = "bare"
        indexes = [models.Index(fields=["rank"], condition=Q(free__gt=0), name="bare_wanting")]


class Lease(models.Model):
    item = models.ForeignKey(Item, on_delete=models.CASCADE)
    person = models.IntegerField()
    expires_at = models.DateTimeField()
    ended = models.BooleanField(default=False)

    class Meta:
        app_label = "bare"
        constraints = [models.UniqueConstraint(fields=["item", "person"], name="bare_one_each")]


class Vote(models.Model):
    item = models.ForeignKey(Item, on_delete=models.CASCADE)
    person = models.IntegerField()
    client_id = models.UUIDField()
    payload = models.JSONField()
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "bare"
        constraints = [
            models.UniqueConstraint(fields=["item", "person"], name="bare_one_vote_each"),
            models.UniqueConstraint(fields=["person", "client_id"], name="bare_a_write_counts_once"),
        ]
