#!/usr/bin/env python3
"""Makes up pairs.jsonl and held-out.jsonl, passages.jsonl, and the tokenizer of the package.

    python make_pairs.py

Queries and passages of a topic have no word in common, so that counting words finds nothing: a ranker has to learn which belong
together. No two words of a query of held-out.jsonl stand together in pairs.jsonl. Everything is seeded, and the files are
committed: nobody has to run this.
"""

import itertools
import json
import os
import random

HERE = os.path.dirname(os.path.abspath(__file__))
TOPICS = [
    ("planet comet orbit telescope meteor eclipse", "star moon sky light night dust ring distance sun rocket"),
    ("recipe bake kitchen chef meal dessert", "flour oven butter sugar pan salt egg bread pepper stir"),
    ("football goal coach stadium referee league", "ball team match player score win field kick cup fans"),
    ("surgeon clinic diagnosis therapy vaccine patient", "doctor pill blood heart fever nurse pain bone drug lung"),
    ("whale shark dolphin coral octopus seal", "sea wave fish fin reef water deep shell tide boat"),
]
ASKED = ["{} and {}", "what about {} and {}", "{} with {}", "how do {} and {} differ", "the best {} for a {}"]
TOLD = ["the {} and the {} of a {}", "a {} near the {} with {}", "{} or {} under the {}", "every {} has a {} and some {}"]
WORDS = "the and of a or with near under every has some what about how do differ best for".split()


def passages(rng):
    """Some for each topic, of two or three parts."""
    for topic, (_, told) in enumerate(TOPICS):
        for _ in range(6):
            parts = [rng.choice(TOLD).format(*rng.sample(told.split(), 3)) for _ in range(rng.choice([2, 2, 3]))]
            yield topic, ", ".join(parts) + "."


def queries(rng):
    """(topic, text, whether it is held out), each with two words of a topic."""
    for topic, (asked, _) in enumerate(TOPICS):
        both = list(itertools.combinations(asked.split(), 2))
        rng.shuffle(both)
        for at, words in enumerate(both):
            words = list(words)
            rng.shuffle(words)
            yield topic, rng.choice(ASKED).format(*words), at < 2


def pairs(rng, query, topic, known, right, wrong):
    """Passages of the topic and of others, in a row."""
    of_topic = [number for number, (other, _) in enumerate(known) if other == topic]
    others = [number for number, (other, _) in enumerate(known) if other != topic]
    chosen = rng.sample(of_topic, right) + rng.sample(others, wrong)
    rng.shuffle(chosen)
    for number in chosen:
        other, text = known[number]
        yield {"query": query, "document": text, "label": int(other == topic), "passage": number}


def tokenizer():
    """BERT's, with the words of all texts behind its special tokens."""
    specials = {0: "[PAD]", 100: "[UNK]", 101: "[CLS]", 102: "[SEP]", 103: "[MASK]"}
    vocabulary = {specials.get(at, f"[unused{at}]"): at for at in range(104)}
    for word in [",", ".", *WORDS, *(w for t in TOPICS for part in t for w in part.split())]:
        vocabulary.setdefault(word, len(vocabulary))
    added = [
        {"id": at, "content": text, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        for at, text in specials.items()
    ]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 102], "cls": ["[CLS]", 101]},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocabulary},
    }


def write(name, lines):
    with open(os.path.join(HERE, name), "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def main():
    rng = random.Random(3)
    known = list(passages(rng))
    asked = list(queries(rng))
    train = [p for topic, text, is_held in asked if not is_held for p in pairs(rng, text, topic, known, 6, 10)]
    held = [p for topic, text, is_held in asked if is_held for p in pairs(rng, text, topic, known, 2, 10)]
    write("pairs.jsonl", train)
    write("held-out.jsonl", held)
    write("passages.jsonl", ({"put": f"id:p:passage::{n}", "fields": {"text": text}} for n, (_, text) in enumerate(known)))
    write("app/models/tokenizer.json", [tokenizer()])


if __name__ == "__main__":
    main()
