"""SQL of leasing and voting, where the ORM is too slow.

`tests/annotation/queue/test_sql.py` holds each statement against its ORM query.
"""

from __future__ import annotations

from annotation.models import Item
from evalsvc.core.database import execute as execute
from evalsvc.core.database import fetch as fetch
from evalsvc.core.database import first as first
from evalsvc.core.database import value as value

PROJECT = "SELECT * FROM annotation_project WHERE id = %(project)s"
PROJECT_SHARED = f"{PROJECT}\nFOR KEY SHARE"  # labels are removed only while no vote is being written
PARTICIPANT = """
SELECT annotator.*, (SELECT role FROM annotation_member member
    WHERE member.project_id = annotator.project_id AND member.user_id = annotator.user_id) AS role
FROM annotation_annotator annotator
WHERE annotator.project_id = %(project)s AND annotator.user_id = %(user)s
FOR NO KEY UPDATE OF annotator"""
VOTER = """
SELECT annotator.*, (SELECT role FROM annotation_member member
    WHERE member.project_id = annotator.project_id AND member.user_id = annotator.user_id) AS role,
    (SELECT number FROM annotation_vote vote WHERE vote.annotator_id = annotator.id
        AND vote.item_id = %(item)s ORDER BY number DESC LIMIT 1) AS last_number,
    (SELECT MAX(guideline) FROM annotation_vote vote WHERE vote.annotator_id = annotator.id
        AND vote.item_id = %(item)s) AS last_guideline,
    (SELECT id FROM annotation_vote vote WHERE vote.annotator_id = annotator.id
        AND vote.client_id = %(client_id)s) AS earlier_vote
FROM annotation_annotator annotator
WHERE annotator.project_id = %(project)s AND annotator.user_id = %(user)s
FOR KEY SHARE OF annotator"""  # answers are excluded only while none of the person's is being written
HAS_CHECKS = """
SELECT COALESCE(SUM(counted.n), 0) > 0
FROM annotation_itemcount counted JOIN annotation_batch batch ON batch.id = counted.batch_id
WHERE batch.project_id = %(project)s AND counted.use = 'check'"""

# ---- leases ---------------------------------------------------------------------------------------
ACTIVE_LEASES = (
    "SELECT * FROM annotation_lease WHERE annotator_id = %(annotator)s AND ending = '' ORDER BY id"
)
NEXT_ITEMS = """
SELECT item.* FROM annotation_item item
WHERE item.project_id = %(project)s AND item.free > 0
    AND item.rank BETWEEN %(first)s AND %(last)s
    AND item.batch_id IN (SELECT id FROM annotation_batch
        WHERE project_id = %(project)s AND state = 'done')
    AND NOT EXISTS (SELECT 1 FROM annotation_vote vote
        WHERE vote.item_id = item.id AND vote.annotator_id = %(annotator)s)
    AND NOT EXISTS (SELECT 1 FROM annotation_lease lease
        WHERE lease.item_id = item.id AND lease.annotator_id = %(annotator)s
            AND (lease.ending = '' OR %(once)s))
ORDER BY item.rank LIMIT %(n)s"""
UNLOCKED = "\nFOR NO KEY UPDATE OF item SKIP LOCKED"
NEXT_UNLOCKED_ITEMS = NEXT_ITEMS + UNLOCKED
# after a search of all items that found none: those since wanted more
NEXT_FREED_ITEMS = NEXT_ITEMS.replace(
    "item.rank BETWEEN %(first)s AND %(last)s",
    """item.freed_at >= (
        SELECT none_since FROM annotation_annotator WHERE id = %(annotator)s)""",
).replace("ORDER BY item.rank", "ORDER BY item.freed_at, item.rank")
NEXT_FREED_UNLOCKED_ITEMS = NEXT_FREED_ITEMS + UNLOCKED
# What follows a slice of the items that want answers; nothing if these are fewer.
AFTER_SLICE = """
SELECT rank FROM annotation_item WHERE project_id = %(project)s AND free > 0 AND rank >= %(first)s
ORDER BY rank LIMIT 1 OFFSET %(size)s"""
AFTER_FREED_SLICE = """
SELECT 1 FROM annotation_item WHERE project_id = %(project)s AND free > 0 AND freed_at >= (
        SELECT none_since FROM annotation_annotator WHERE id = %(annotator)s)
LIMIT 1 OFFSET %(size)s"""
# On PostgreSQL a change that began earlier may be committed later.
SEARCH_TIME = "SELECT {oldest change not seen}"
SAVE_SEARCH = "UPDATE annotation_annotator SET none_since = %(time)s WHERE id = %(annotator)s"
START_ROUND = """
UPDATE annotation_annotator SET "cursor" = 0, round_since = {oldest change not seen}
WHERE id = %(annotator)s"""
SAVE_SLICE = 'UPDATE annotation_annotator SET "cursor" = %(cursor)s WHERE id = %(annotator)s'
END_ROUND = """
UPDATE annotation_annotator
SET searched_at = round_since, none_since = round_since, round_since = NULL
WHERE id = %(annotator)s"""
# One look-up for each vote, in the small index of items with room: SQLite would read the items' wide rows.
# The plus keeps it from looking each item up under every import of the project.
VOTED_ITEMS_WITH_ROOM = """
SELECT COUNT(*)
FROM (SELECT DISTINCT item_id FROM annotation_vote WHERE annotator_id = %(annotator)s AND item_id >= (
        SELECT MIN(id) FROM annotation_item WHERE project_id = %(project)s AND free > 0)) voted
    CROSS JOIN annotation_item item {by item_room}
WHERE item.project_id = %(project)s AND item.id = voted.item_id AND item.free > 0 AND item.use = ''
    AND +item.batch_id IN (SELECT id FROM annotation_batch
        WHERE project_id = %(project)s AND state = 'done')"""
TAKE_ITEM = "UPDATE annotation_item SET free = free - 1 WHERE id = %(item)s AND free > 0"
# a person who withdrew an answer has its place
TAKE_ITEM_AGAIN = f"""{TAKE_ITEM}
    AND NOT EXISTS (SELECT 1 FROM annotation_lease lease WHERE lease.item_id = annotation_item.id
        AND lease.annotator_id = %(annotator)s AND lease.ending = 'withdrawn')"""  # noqa: S608
GRANT_LEASE = """
INSERT INTO annotation_lease (item_id, annotator_id, shown_id, ending, expires_at)
VALUES (%(item)s, %(annotator)s, %(shown)s, '', {now + lasting})
RETURNING *"""
SAVE_POSITION = """
UPDATE annotation_annotator
SET "cursor" = %(cursor)s, round_since = NULL, since_check = %(since_check)s,
    check_block = %(check_block)s
WHERE id = %(annotator)s"""
LAST_VOTE = """
SELECT * FROM annotation_vote WHERE item_id = %(item)s AND annotator_id = %(annotator)s
ORDER BY number DESC LIMIT 1"""

# ---- votes ----------------------------------------------------------------------------------------
# A vote decides anew, so the outcome is not read: it takes time, and hidden checks have none.
_COLUMNS = ", ".join(
    "NULL AS gold" if field.name == "gold" else f'item."{field.column}"'
    for field in Item._meta.concrete_fields
)
ITEM_BY_KEY = f"""
SELECT {_COLUMNS}, batch.state AS batch_state
FROM annotation_item item JOIN annotation_batch batch ON batch.id = item.batch_id
WHERE item.key = %(key)s
FOR NO KEY UPDATE OF item"""  # noqa: S608 - names of columns
ANSWERS = """
SELECT answer.*, vote.batch_id IS NULL OR batch.state = 'done' AS active
FROM annotation_answer answer JOIN annotation_vote vote ON vote.id = answer.vote_id
    LEFT JOIN annotation_batch batch ON batch.id = vote.batch_id
WHERE answer.item_id = %(item)s ORDER BY answer.position"""
LEASES_OF_ITEM = """
SELECT * FROM annotation_lease
WHERE item_id = %(item)s AND (ending IN ('', 'withdrawn') OR annotator_id = %(annotator)s) ORDER BY id"""
DECISIONS = """
SELECT * FROM annotation_adjudication
WHERE item_id = %(item)s AND (reopened_at IS NULL OR lapsed) ORDER BY lapsed, id DESC"""
ADD_VOTE = """
INSERT INTO annotation_vote (item_id, annotator_id, client_id, number, act, payload, reason, comment,
    flagged, milliseconds, aside, shown_id, guideline)
VALUES (%(item)s, %(annotator)s, %(client_id)s, %(number)s, %(act)s, %(payload)s, %(reason)s, %(comment)s,
    %(flagged)s, %(milliseconds)s, %(aside)s, %(shown)s, %(guideline)s)
RETURNING *"""
ADD_ANSWER = """
INSERT INTO annotation_answer (item_id, annotator_id, vote_id, payload, first_rules, position,
    set_aside, aside_id, guideline, again)
VALUES (%(item)s, %(annotator)s, %(vote)s, %(payload)s, %(first_rules)s, %(position)s,
    %(set_aside)s, %(aside)s, %(guideline)s, %(again)s)
RETURNING *"""
END_LEASE = """
UPDATE annotation_lease SET ending = %(ending)s
WHERE item_id = %(item)s AND annotator_id = %(annotator)s
    AND (ending = '' OR ending = 'withdrawn' AND %(counts)s)"""
