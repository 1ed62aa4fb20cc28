#!/usr/bin/env python3
"""Makes up readers and posts of a blog, as operations for `/document/v1` and `stead feed`.

    python make_posts.py                       posts.jsonl.gz: the 1,000 posts and 20 readers of this folder
    python make_posts.py --posts 100000 -o -   more posts, on standard output

A vector of 128 numbers says what a post is about (mostly one of 16 topics) and for whom it is written (from beginners to
experts), or what a reader likes and knows. Everything is seeded: the same arguments give the same file. It needs Python 3.8
or later and nothing else.
"""

import argparse
import gzip
import json
import math
import os
import random
import sys
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SIZE = 128
POSTS, READERS = 1000, 20

TOPICS = {
    "astronomy": ["comets", "telescopes", "the moons of Jupiter", "dark skies"],
    "baking": ["sourdough", "croissants", "rye bread", "shortcrust"],
    "bicycles": ["gravel rides", "hub gears", "winter tyres", "wheel building"],
    "birds": ["swifts", "nest boxes", "the dawn chorus", "owls"],
    "chess": ["rook endings", "the Caro-Kann", "knight forks", "correspondence games"],
    "coffee": ["espresso", "hand grinders", "filter brewing", "roasting"],
    "databases": ["write-ahead logs", "B-trees", "query plans", "replication"],
    "gardens": ["tomatoes", "compost", "pruning", "wild meadows"],
    "guitars": ["open tunings", "fingerpicking", "valve amplifiers", "fret work"],
    "hiking": ["ridge walks", "light tents", "map reading", "hut tours"],
    "languages": ["vowels", "loan words", "sign languages", "grammar drills"],
    "law": ["tenancy", "copyright", "contracts", "small claims"],
    "money": ["index funds", "mortgages", "pensions", "household budgets"],
    "photography": ["long exposures", "portraits", "film", "street scenes"],
    "programming": ["Rust", "garbage collectors", "parsers", "vector instructions"],
    "running": ["interval training", "marathons", "trail shoes", "stretching"],
}
NAMES = list(TOPICS)
# From beginners to experts.
LEVELS = ["A first look at", "Getting along with", "What I learned about", "The finer points of", "Inside"]


def unit(vector):
    length = math.sqrt(sum(x * x for x in vector))
    return [x / length for x in vector]


def around(rng):
    """A direction by chance."""
    return unit([rng.random() - 0.5 for _ in range(SIZE)])


AXES = random.Random(20181217)
# A direction for each topic, and the one from beginners to experts.
DIRECTIONS = [around(AXES) for _ in NAMES]
LEVEL = around(AXES)


def mixed(rng, weights, level, noise):
    """The vector of topics with weights, for a level from -1 to 1."""
    vector = [noise * (rng.random() - 0.5) for _ in range(SIZE)]
    for direction, weight in [(DIRECTIONS[topic], weight) for topic, weight in weights] + [(LEVEL, 0.7 * level)]:
        for at, x in enumerate(direction):
            vector[at] += weight * x
    return unit(vector)


def post(rng):
    """The topic, the level and the vector of a post."""
    topic, beside = rng.randrange(len(NAMES)), rng.randrange(len(NAMES))
    level = 2.0 * rng.random() - 1.0
    return topic, level, mixed(rng, [(topic, 1.0), (beside, 0.5 * rng.random())], level, 0.2)


def reader(rng):
    """The topics, the level and the vector of a reader."""
    topics = rng.sample(range(len(NAMES)), 3)
    level = 2.0 * rng.random() - 1.0
    return topics, level, mixed(rng, [(t, 1.0 - 0.25 * at) for at, t in enumerate(topics)], level, 0.1)


def tensor(vector):
    return {"values": [round(x, 3) for x in vector]}


def operations(posts, readers):
    """The operations that put them."""
    rng = random.Random(7)
    for number in range(readers):
        topics, _, vector = reader(rng)
        fields = {"likes": [NAMES[t] for t in topics], "embedding": tensor(vector)}
        yield {"put": f"id:blog:user::{number}", "fields": fields}
    rng = random.Random(8)
    for number in range(posts):
        topic, level, vector = post(rng)
        words = LEVELS[min(int((level + 1.0) / 2.0 * len(LEVELS)), len(LEVELS) - 1)]
        title = f"{words} {rng.choice(TOPICS[NAMES[topic]])}"
        fields = {"title": title, "topic": NAMES[topic], "embedding": tensor(vector)}
        yield {"put": f"id:blog:post::{number}", "fields": fields}


def write(file, posts, readers):
    for operation in operations(posts, readers):
        file.write((json.dumps(operation, separators=(",", ":")) + "\n").encode())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--posts", type=int, default=POSTS)
    parser.add_argument("--readers", type=int, default=READERS)
    parser.add_argument("-o", "--output", default=os.path.join(HERE, "posts.jsonl.gz"),
                        help="packed if its name ends in .gz; - is standard output")
    args = parser.parse_args()
    if args.output == "-":
        write(sys.stdout.buffer, args.posts, args.readers)
    elif args.output.endswith(".gz"):
        # Without a time, so that the same posts are the same file.
        with open(args.output, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, 0) as file:
            write(file, args.posts, args.readers)
    else:
        with open(args.output, "wb") as file:
            write(file, args.posts, args.readers)


if __name__ == "__main__":
    main()
