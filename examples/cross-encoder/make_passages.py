#!/usr/bin/env python3
"""Makes up passages of text and questions, with the numbers of their words and a vector for each.

    python make_passages.py                        passages.jsonl and queries.jsonl of this folder
    python make_passages.py --passages 10000 -o -  more passages, on standard output
    python make_passages.py --words 20 20          all of one length

The vector of a text is the sum of a direction for each of its words: texts with words in common are near each other.
Everything is seeded. It needs Python 3.8 or later and nothing else.
"""

import argparse
import json
import math
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SIZE, QUERY_TOKENS, PASSAGE_TOKENS = 32, 16, 96
PASSAGES, QUERIES = 200, 5
# The numbers below stand for padding, [CLS] and [SEP] as in BERT's vocabularies.
FIRST_WORD, VOCABULARY = 110, 512

SYLLABLES = ["ba", "co", "di", "fu", "ga", "ho", "ki", "lu", "ma", "no", "pe", "ri", "sa", "to", "vu", "ze"]


def word(number):
    """A made-up word for each number of the vocabulary."""
    number -= FIRST_WORD
    return SYLLABLES[number % 16] + SYLLABLES[number // 16 % 16] + ("n" if number >= 256 else "")


def directions():
    rng = random.Random(3)
    return [[rng.random() - 0.5 for _ in range(SIZE)] for _ in range(VOCABULARY)]


DIRECTIONS = directions()


def embedding(tokens):
    sums = [sum(DIRECTIONS[t][at] for t in tokens) for at in range(SIZE)]
    length = math.sqrt(sum(x * x for x in sums)) or 1.0
    return [round(x / length, 4) for x in sums]


def text(rng, words):
    """Numbers of words around a subject: subjects use different parts of the vocabulary more often."""
    subject = rng.randrange(20)
    count = VOCABULARY - FIRST_WORD
    return [FIRST_WORD + (subject * 20 + int(rng.random() ** 2 * count)) % count for _ in range(words)]


def padded(tokens, size):
    return (tokens + [0] * size)[:size]


def passages(count, words, size=PASSAGE_TOKENS):
    rng = random.Random(4)
    for number in range(count):
        tokens = text(rng, rng.randint(*words))
        fields = {
            "text": " ".join(word(t) for t in tokens),
            "embedding": {"values": embedding(tokens)},
            "tokens": {"values": padded(tokens, size)},
        }
        yield {"put": f"id:p:passage::{number}", "fields": fields}


def queries(count):
    rng = random.Random(5)
    for _ in range(count):
        tokens = text(rng, rng.randint(4, 12))
        yield {
            "yql": "select text from passage where {targetHits: 100}nearestNeighbor(embedding, embedding)",
            "ranking": "cross_encoder",
            "input.query(embedding)": embedding(tokens),
            "input.query(tokens)": padded(tokens, QUERY_TOKENS),
        }


def write(file, lines):
    for line in lines:
        file.write(json.dumps(line, separators=(",", ":")) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=PASSAGES)
    parser.add_argument("--words", type=int, nargs=2, default=[8, 90], help="of the shortest and the longest")
    parser.add_argument("--tokens", type=int, default=PASSAGE_TOKENS, help="that a passage has room for")
    parser.add_argument("-o", "--output", default=os.path.join(HERE, "passages.jsonl"), help="- is standard output")
    args = parser.parse_args()
    if args.output == "-":
        write(sys.stdout, passages(args.passages, args.words, args.tokens))
        return
    with open(args.output, "w") as file:
        write(file, passages(args.passages, args.words, args.tokens))
    with open(os.path.join(HERE, "queries.jsonl"), "w") as file:
        write(file, queries(QUERIES))


if __name__ == "__main__":
    main()
