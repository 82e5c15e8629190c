"""Reconstructions of hidden gold by a team, through the product's scorer and disclosure policy.

Each attack first recovers gold from exact figures, so that its failure on the shown ones means something.
`docs/security.md` states the figures.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from evalsvc.evaluation.disclosure import rules
from evalsvc.evaluation.disclosure.sensitivity import GoldCounts, largest_change
from evalsvc.evaluation.disclosure.split import Part
from tests.attacks.oracle import NEGATIVE, RELATIONS, Labels, Oracle, labelled, simulated_gold

FILES = 100


def probe(oracle: Oracle, *, files: int = FILES) -> int:
    """Change one item of a full file at a time; return the labels that a changed display gives away."""
    random = np.random.Generator(np.random.PCG64(2))
    base = np.where(random.random(len(oracle.labels)) < 0.7, oracle.labels, 0)
    before, known = oracle.micro_f1(base), 0
    for item in random.permutation(len(base))[: files - 1]:
        changed = base.copy()
        changed[item] = 0 if base[item] else 1
        after = oracle.micro_f1(changed)
        gained, lost = after > before, after < before
        known += bool(gained and oracle.labels[item] == changed[item])
        known += bool(lost and oracle.labels[item] == base[item] != NEGATIVE)
    return known


@pytest.mark.parametrize(("items", "exact", "without"), [(286, 49, 49), (5_000, 50, 0)])
def test_changes_of_one_item_give_no_label_away(items: int, exact: int, without: int) -> None:
    gold = simulated_gold(items)
    assert probe(Oracle(gold, hidden=False)) == exact
    assert probe(Oracle(gold, compares=False)) == without
    assert probe(Oracle(gold)) == 0


def at_border(gold: Labels, share: float) -> Labels:
    """Label a share of the items rightly and a fifth wrongly; one more right answer raises the display."""
    random, size = np.random.Generator(np.random.PCG64(2)), len(gold)
    positives, step = int((gold < NEGATIVE).sum()), Oracle(gold).policy.step("micro_f1")
    base = np.where(random.random(size) < share, gold, NEGATIVE)
    wrong = random.permutation(np.flatnonzero(base != gold))[: size // 5]
    base[wrong] = (gold[wrong] + 1 + random.integers(0, 5, len(wrong))) % RELATIONS
    for item in wrong[gold[wrong] < NEGATIVE]:
        made, right = int((base < NEGATIVE).sum()), int(((base == gold) & (gold < NEGATIVE)).sum())
        now, then = (rules.rounded(2 * hits / (made + positives), step or 1) for hits in (right, right + 1))
        if now < then:
            break
        base[item] = gold[item]
    return base


def guess_one_at_a_time(oracle: Oracle, share: float, forms: tuple[str, str], *, files: int) -> int:
    """Change one answer of a file at the border of a step; return the guesses that the display decides."""
    random, base = np.random.Generator(np.random.PCG64(9)), at_border(oracle.labels, share)

    def shown(form: str, answers: Labels, seed: int) -> float | None:
        file = labelled(answers) if form == "label" else oracle.ranking(answers, seed=seed)
        return oracle.shown(file)["micro_f1"]

    before, decided = shown(forms[0], base, 0) or 0.0, 0
    for seed, item in enumerate(random.permutation(np.flatnonzero(base < NEGATIVE))[:files], start=1):
        changed = base.copy()
        changed[item] = (base[item] + 1 + random.integers(0, 5)) % RELATIONS
        after = shown(forms[1], changed, seed) or 0.0
        right = changed[item] == oracle.labels[item]
        decided += not oracle.repeated and (after > before) is bool(right)
    return decided


FORMS = [("label", "label"), ("label", "scores"), ("scores", "label"), ("scores", "scores")]


@pytest.mark.parametrize("forms", FORMS)
@pytest.mark.parametrize(("items", "share", "files"), [(286, 0.1, 30), (286, 0.9, 30), (5_000, 0.5, 5)])
def test_one_change_in_another_form_is_no_free_probe(
    items: int, share: float, files: int, forms: tuple[str, str]
) -> None:
    """Rankings have the answers at the top, and below them something else each time."""
    gold = simulated_gold(items)
    without = guess_one_at_a_time(Oracle(gold, compares=False), share, forms, files=files)
    assert without >= files - 1
    assert guess_one_at_a_time(Oracle(gold), share, forms, files=files) == 0


def guess_one_beside_padding(oracle: Oracle, *, files: int) -> int:
    """Guess one label a file, beside as many changes as the rule asks for that are wrong before and after.

    Returns the guesses that the display decides. An attacker would have to know what is wrong.
    """
    random, gold = np.random.Generator(np.random.PCG64(9)), oracle.labels
    base = at_border(gold, 0.4)
    wrong = random.permutation(np.flatnonzero((base != gold) & (base < NEGATIVE) & (gold < NEGATIVE)))
    guessed, padding = wrong[:files], wrong[files:]
    before, decided = oracle.micro_f1(base), 0
    for item in guessed:
        shown = []
        for guess in (base[item], gold[item]):
            changed = base.copy()
            changed[padding] = (gold[padding] + random.integers(1, RELATIONS, len(padding))) % RELATIONS
            changed[item] = guess
            shown.append(oracle.micro_f1(changed))
            assert not oracle.repeated
        decided += shown[0] == before < shown[1]
    return decided


@pytest.mark.parametrize("items", [286, 5_000])
def test_padded_probes_decide_one_label_a_file_so_the_quota_is_the_bound(items: int) -> None:
    assert guess_one_beside_padding(Oracle(simulated_gold(items)), files=10) == 10


def guess_by_weighing(oracle: Oracle, guesses: int, *, files: int, padded: int = 0) -> tuple[int, int]:
    """Decide between two relations for many items, from files that draw one of them for each.

    All other answers are those of a usual system; of those that are wrong, some are drawn anew in each file,
    as many as `padded`, and stay wrong. The accuracies are a system of linear equations: of few guesses, all
    answers are tried; else least squares within bounds, then changes of one or two guesses while these fit
    better. Returns the right decisions, and the files that were near-duplicates.
    """
    random, gold, size = np.random.Generator(np.random.PCG64(10)), oracle.labels, len(oracle.labels)
    guessed = random.permutation(np.flatnonzero(gold < 2))[:guesses]
    usual = np.where(random.random(size) < 0.7, gold, random.integers(0, RELATIONS, size))
    padding = np.setdiff1d(np.flatnonzero((usual != gold) & (gold < NEGATIVE)), guessed)[:padded]
    assert len(padding) == padded
    first = random.random((files, guesses)) < 0.5
    shown, repeated = [], 0
    for row in first:
        answers = usual.copy()
        answers[padding] = (gold[padding] + random.integers(1, RELATIONS, padded)) % RELATIONS
        answers[guessed] = np.where(row, 0, 1)
        shown.append(oracle.figures(answers)["accuracy"] or 0.0)
        repeated += oracle.repeated
    signs = np.where(first, 1.0, -1.0)
    right = np.array(shown) * size - (~first).sum(axis=1)
    if guesses <= 12:
        vectors = (np.arange(2**guesses)[:, None] >> np.arange(guesses)) & 1
        found = vectors[np.var(right - vectors @ signs.T, axis=1).argmin()]
        return int((found == (gold[guessed] == 0)).sum()), repeated
    bounds = ([0.0] * (guesses + 1), [1.0] * guesses + [float(size)])
    fit = lsq_linear(np.column_stack([signs, np.ones(files)]), right, bounds=bounds)
    found = (fit.x[:-1] > 0.5).astype(float)
    best = float(np.var(right - signs @ found))
    for _ in range(4_000):
        other = found.copy()
        changed = random.choice(guesses, random.integers(1, 3), replace=False)
        other[changed] = 1 - other[changed]
        if (error := float(np.var(right - signs @ other))) < best:
            found, best = other, error
    return int((found == (gold[guessed] == 0)).sum()), repeated


@pytest.mark.parametrize(
    ("items", "guesses", "constant", "padded", "repeated"),
    [(286, 8, 5, 24, 0), (1_010, 32, 23, 0, 2), (2_020, 64, 40, 0, 0), (5_000, 128, 93, 0, 0)],
)
def test_files_drawn_at_random_decide_one_or_two_labels_each_so_the_bits_are_the_bound(
    items: int, guesses: int, constant: int, padded: int, repeated: int
) -> None:
    """With all files of the default quota, also where a step is several times the change of one label."""
    gold, files = simulated_gold(items), rules.in_total(items)
    random = np.random.Generator(np.random.PCG64(10))
    guessed = random.permutation(np.flatnonzero(gold < 2))[:guesses]
    assert max(np.bincount(gold[guessed])) == constant
    exact = Oracle(gold, hidden=False)
    assert guess_by_weighing(exact, guesses, files=files, padded=padded) == (guesses, 0)
    assert guess_by_weighing(Oracle(gold), guesses, files=files, padded=padded) == (guesses, repeated)


def add_one_to_the_union(items: int, step: float) -> tuple[int, int]:
    """Send a base, six disjoint sets of ten answers, then base, their union and one item more.

    The sums of the sets predict the figure of the union; what the last file adds is one label.
    Returns the labels that the figures fix, and the files that tried.
    """
    random = np.random.Generator(np.random.PCG64(7))
    labels = random.random(items) < 0.5  # whether a changed answer is right
    shown = [rules.rounded(right, step) for right in np.arange(items + 1) / items]
    chosen = random.permutation(items)
    sets, probed = chosen[:60].reshape(6, 10), chosen[60:90]
    base = items // 3

    def possible(figure: float) -> set[int]:
        return {count for count, value in enumerate(shown) if value == figure}

    before = possible(shown[base])
    sums = [possible(shown[base + int(labels[part].sum())]) for part in sets]
    least = sum(min(each) - max(before) for each in sums) + min(before)
    most = sum(max(each) - min(before) for each in sums) + max(before)
    union, fixed = base + int(labels[sets].sum()), 0
    for item in probed:
        after = possible(shown[union + int(labels[item])])
        wrong = any(count in after for count in range(least, most + 1))
        right = any(count + 1 in after for count in range(least, most + 1))
        fixed += wrong is not right
    return fixed, len(probed)


@pytest.mark.parametrize("items", [100, 200, 286, 500, 1_000, 5_000])
def test_one_item_beside_a_union_of_sent_sets_is_not_fixed(items: int) -> None:
    """Sets that differ enough are no near-duplicates, so rounding alone stands in the way."""
    change = largest_change("accuracy", GoldCounts(items, {"a": items}), {})
    assert change is not None
    assert add_one_to_the_union(items, change) == (30, 30)
    step = rules.step_for(change)
    assert step is not None
    assert add_one_to_the_union(items, step) == (0, 30)


def climb(oracle: Oracle, *, files: int = FILES) -> float:
    """Keep random changes of one item while the display rises; return the gain of the exact figure."""
    random, labels = np.random.Generator(np.random.PCG64(5)), oracle.labels
    shares = np.bincount(labels, minlength=RELATIONS + 1) / len(labels)
    drawn = random.choice(RELATIONS + 1, len(labels), p=shares)
    begun = np.where(random.random(len(labels)) < 0.7, labels, drawn)
    current, best = begun, oracle.micro_f1(begun)
    for _ in range(files - 1):
        changed = current.copy()
        changed[random.integers(len(labels))] = random.choice(RELATIONS + 1, p=shares)
        if (shown := oracle.micro_f1(changed)) > best:
            current, best = changed, shown
    exact = Oracle(labels, hidden=False)
    return exact.micro_f1(current) - exact.micro_f1(begun)


def test_climbing_by_the_display_gains_nothing() -> None:
    gold = simulated_gold(286)
    assert climb(Oracle(gold, hidden=False)) == pytest.approx(0.00605, abs=5e-6)
    assert climb(Oracle(gold)) == 0.0


def by_class_rows(oracle: Oracle, attacked: int, *, files: int = FILES) -> int:
    """Label the attacked items at random, the others N/A; decode the class rows by least squares.

    Returns the attacked items whose label the decoder gets right.
    """
    random = np.random.Generator(np.random.PCG64(3))
    size = len(oracle.labels)
    counts = np.bincount(oracle.labels, minlength=RELATIONS + 1)
    queries: list[list[NDArrayFloat]] = [[] for _ in range(RELATIONS)]
    hits: list[list[float]] = [[] for _ in range(RELATIONS)]
    for _ in range(files):
        answers = np.full(size, NEGATIVE)
        answers[:attacked] = random.choice(RELATIONS, attacked, p=counts[:-1] / counts[:-1].sum())
        for label, row in oracle.classes(answers).items():
            code = int(label[1:]) if label != "N/A" else NEGATIVE
            if code < NEGATIVE and row["f1"] is not None and not np.isnan(row["f1"]):
                chosen = (answers[:attacked] == code).astype(float)
                queries[code].append(chosen)
                hits[code].append(row["f1"] * (chosen.sum() + counts[code]) / 2)
    shares = np.tile(counts / size, (attacked, 1))
    for code in range(RELATIONS):
        if queries[code]:
            shares[:, code] = _posterior(np.array(queries[code]), np.array(hits[code]), counts[code] / size)
    guess = shares.argmax(axis=1)
    return int((guess == oracle.labels[:attacked]).sum())


NDArrayFloat = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def _posterior(queries: NDArrayFloat, hits: NDArrayFloat, prior: float) -> NDArrayFloat:
    """Return ridge estimates of membership, towards the share of the class."""
    spread = prior * (1 - prior)
    noise = 0.5 * np.eye(len(queries))
    gain = spread * queries.T @ np.linalg.inv(spread * queries @ queries.T + noise)
    estimate: NDArrayFloat = prior + gain @ (hits - queries.sum(axis=1) * prior)
    return estimate


@pytest.mark.parametrize(("items", "guess", "exact", "shown"), [(286, 103, 147, 103), (5_000, 108, 143, 130)])
def test_class_rows_of_large_classes_give_less_than_exact_ones(
    items: int, guess: int, exact: int, shown: int
) -> None:
    gold = simulated_gold(items)
    assert int(np.bincount(gold[:286]).max()) == guess
    assert by_class_rows(Oracle(gold, hidden=False), 286) == pytest.approx(exact, abs=2)
    assert by_class_rows(Oracle(gold, class_rows=True), 286) == pytest.approx(shown, abs=2)


SPLIT = Part("attacked", 0.3)


def test_a_split_shows_nothing_that_depends_on_the_rest() -> None:
    """Other labels of the rest leave every figure shown as it is, so no number of files tells of them."""
    gold = simulated_gold(5_000)
    first, second = (
        Oracle(gold, class_rows=True, part=SPLIT),
        Oracle(gold.copy(), class_rows=True, part=SPLIT),
    )
    random = np.random.Generator(np.random.PCG64(6))
    rest = np.flatnonzero(~first.scored)
    assert 0.65 < len(rest) / len(gold) < 0.75
    second.labels[rest] = random.permutation(gold[rest])
    for _ in range(20):
        answers = np.where(random.random(len(gold)) < 0.7, gold, random.integers(0, RELATIONS, len(gold)))
        assert first.figures(answers) == second.figures(answers)
        assert first.classes(answers) == second.classes(answers)
    exact = [Oracle(labels, hidden=False).figures(answers) for labels in (first.labels, second.labels)]
    assert exact[0] != exact[1]


@pytest.mark.parametrize("items", [286, 5_000])
def test_the_attacks_gain_no_more_from_the_share_of_a_split(items: int) -> None:
    gold = simulated_gold(items)
    assert probe(Oracle(gold, part=SPLIT)) == 0
    assert resolved_by_halves(Oracle(gold, part=SPLIT)) == 0
    assert by_class_rows(Oracle(gold, class_rows=True, part=SPLIT), 286) <= int(np.bincount(gold[:286]).max())


def test_a_split_gives_away_a_smaller_share_of_the_gold_than_none() -> None:
    """Larger steps on fewer labels, against the bits of the whole gold."""
    gold = simulated_gold(5_000)
    whole, part = Oracle(gold), Oracle(gold, part=SPLIT)
    bits = [
        sum(rules.bits(step) for key in each.policy.measures if (step := each.policy.step(key)))
        for each in (whole, part)
    ]
    assert rules.in_total(int(part.scored.sum())) * bits[1] < 0.3 * rules.in_total(5_000) * bits[0]


def test_without_the_organisers_word_there_are_no_class_rows() -> None:
    gold = simulated_gold(5_000)
    assert Oracle(gold).classes(gold) == {}


@pytest.mark.parametrize("items", [286, 5_000])
def test_a_ranking_with_distinct_scores_names_no_claim(items: int) -> None:
    gold = simulated_gold(items)
    random = np.random.Generator(np.random.PCG64(4))
    positives = int((gold < NEGATIVE).sum())
    order = random.permutation(items * RELATIONS)[: 2 * positives]
    exact = Oracle(gold, hidden=False).curve(order)
    assert exact is not None
    assert len(set(exact["score"])) == len(exact["score"]) > 10
    assert Oracle(gold).curve(order) is None


def test_the_default_quota_keeps_the_bits_far_below_those_of_the_gold() -> None:
    for items, files, bits, of in ((286, 5, 89, 958), (5_000, 100, 2_759, 17_556)):
        oracle = Oracle(simulated_gold(items))
        gold = oracle.policy.gold
        per_file = sum(
            rules.bits(step) for key in oracle.policy.measures if (step := oracle.policy.step(key))
        )
        whole = rules.label_bits([*gold.classes.values(), gold.negative])
        assert rules.in_total(items) == files
        assert (round(files * per_file), round(whole)) == (bits, of)


def test_a_search_by_halves_resolves_nothing() -> None:
    for items, exact, without in ((286, 100, 98), (5_000, 87, 78)):
        gold = simulated_gold(items)
        assert resolved_by_halves(Oracle(gold, hidden=False)) == exact
        assert resolved_by_halves(Oracle(gold, compares=False)) == without
        assert resolved_by_halves(Oracle(gold)) == 0


def resolved_by_halves(oracle: Oracle, *, files: int = FILES) -> int:
    """Claim the most frequent relation for a part; a part is resolved when the display fixes its hits."""
    size, positives = len(oracle.labels), int((oracle.labels < NEGATIVE).sum())
    parts, resolved = [np.arange(size)], 0
    for _ in range(files):
        if not parts:
            break
        part = parts.pop()
        answers: Labels = np.full(size, NEGATIVE)
        answers[part] = 0
        shown = oracle.micro_f1(answers)
        if oracle.repeated:
            continue
        step = oracle.policy.step("micro_f1") if oracle.policy.hidden else 1e-9
        assert step
        possible = [
            hits
            for hits in range(len(part) + 1)
            if abs(2 * hits / (len(part) + positives) - shown) <= step / 2 + 1e-12
        ]
        if possible in ([0], [len(part)]):
            resolved += len(part)
        elif len(part) > 1:
            parts += np.array_split(part, 2)
    return resolved
