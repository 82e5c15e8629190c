"""Micro F1 of a CoNLL file in plain Python, importing only sys."""

import sys


def spans(tags: list) -> set:
    entities, start, label = set(), None, None
    for at, tag in enumerate([*tags, "O"]):
        head, name = tag[0], tag[2:]
        if start is not None and (head != "I" or name != label):
            entities.add((start, at, label))
            start = None
        if head == "B" or (head == "I" and start is None):
            start, label = at, name
    return entities


def main(path: str) -> None:
    hits = claims = true = 0
    gold, predicted = [], []
    with open(path) as file:
        for line in [*file, "\n"]:
            fields = line.split()
            if fields:
                gold.append(fields[-2])
                predicted.append(fields[-1])
            elif gold:
                a, b = spans(gold), spans(predicted)
                hits, claims, true = hits + len(a & b), claims + len(b), true + len(a)
                gold, predicted = [], []
    print(2 * hits / (claims + true))


if __name__ == "__main__":
    main(sys.argv[1])
