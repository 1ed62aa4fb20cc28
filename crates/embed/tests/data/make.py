"""Makes what `stead encode` is compared with: python make.py, with packages transformers and tokenizers.

* vocab.txt, tokenizer.json: a small vocabulary of BERT's form (ids 0, 100 to 103 as BERT has them).
* pairs.jsonl: pairs of queries and documents, some of them hard.
* rows.json: the rows of `create_bert_encodings`, the function of Vespa's blog post on BERT rankers
  (https://blog.vespa.ai/fine-tune-bert-basic-transformers-trainer-search-applications/).
"""

import json
from pathlib import Path

from tokenizers import BertWordPieceTokenizer
from transformers import BertTokenizerFast

HERE = Path(__file__).parent
TOKEN_NONE, TOKEN_CLS, TOKEN_SEP = 0, 101, 102

WORDS = """the a of to and in is for on with how what where does do can you not no it as by from this that are
    model models rank ranking search engine query document score scores train training serve serving token tokens
    tensor vector vectors fast slow small large first second phase neural network bert transform ##er ##ers ##ing
    ##ed ##s ##ly ##ation ##ment re un over ##com ##mun ##ication cafe new york""".split()


def vocabulary():
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    unused = [f"[unused{n}]" for n in range(99)]
    marks = list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
    pieces = list(letters) + ["##" + c for c in letters]
    return ["[PAD]", *unused, "[UNK]", "[CLS]", "[SEP]", "[MASK]", *marks, *pieces, "\u6771", "\u4eac", *WORDS]


PAIRS = [
    ("how does ranking work", "A ranking model scores each document.", 1),
    ("how does ranking work", "The cafe is in New York.", 0),
    ("how does ranking work", "First phase, second phase: rank the documents twice!", 1),
    ("Overcommunication", "overcommunication over communication OVERCOMMUNICATION", 1),
    ("Overcommunication", "", 0),
    ("caf\u00e9 in \u6771\u4eac", "Caf\u00e9s: \u00dcber-fast, na\u00efve; 3.14 \u20ac \u2014 \u201cquoted\u201d", 1),
    ("caf\u00e9 in \u6771\u4eac", "\u6771\u4eac\u6771\u4eac \U0001f680 \u3053\u3093", 0),
    ("tabs\tand\nlines", "a\u00a0b\u200bc\u0000d\ufffde  f\r\ng", 0),
    ("[SEP] or [MASK] in a text", "what does [CLS] do [SEP]", 1),
    (" ".join(["query"] * 40), " ".join(["token"] * 200), 1),
    (" ".join(["query"] * 30), " ".join(["token"] * 95), 0),
    (" ".join(["query"] * 31), " ".join(["token"] * 96), 0),
    ("x" * 101, "y" * 100 + " " + "z" * 101, 0),
    ("", "no query at all", 0),
    ("e\u0301cole", "\uff26\uff35\uff2c\uff2c \u0130stanbul \ufb01ne", 1),
]


def create_bert_encodings(queries, docs, tokenizer, query_input_size, doc_input_size):
    """As it stands in the post, with the lines back that its page has lost."""
    queries_encodings = tokenizer(
        queries, truncation=True, max_length=query_input_size - 2, add_special_tokens=False
    )
    docs_encodings = tokenizer(
        docs, truncation=True, max_length=doc_input_size - 1, add_special_tokens=False
    )
    input_ids, token_type_ids, attention_mask = [], [], []
    for query_input_ids, doc_input_ids in zip(queries_encodings["input_ids"], docs_encodings["input_ids"]):
        input_id = [TOKEN_CLS] + query_input_ids + [TOKEN_SEP] + doc_input_ids + [TOKEN_SEP]
        number_tokens = len(input_id)
        padding_length = max(128 - number_tokens, 0)
        input_ids.append(input_id + [TOKEN_NONE] * padding_length)
        token_type_ids.append(
            [0] * len([TOKEN_CLS] + query_input_ids + [TOKEN_SEP])
            + [1] * len(doc_input_ids + [TOKEN_SEP])
            + [TOKEN_NONE] * padding_length
        )
        attention_mask.append([1] * number_tokens + [TOKEN_NONE] * padding_length)
    return {"input_ids": input_ids, "token_type_ids": token_type_ids, "attention_mask": attention_mask}


def main():
    words = vocabulary()
    assert words.index("[CLS]") == TOKEN_CLS and words.index("[SEP]") == TOKEN_SEP
    (HERE / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    tokenizer = BertWordPieceTokenizer(str(HERE / "vocab.txt"), lowercase=True)
    # Truncation and padding of the file do not count for a hugging-face-tokenizer.
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(length=16)
    tokenizer.save(str(HERE / "tokenizer.json"), pretty=False)
    with open(HERE / "pairs.jsonl", "w", encoding="ascii") as out:
        for query, document, label in PAIRS:
            out.write(json.dumps({"query": query, "document": document, "label": label}) + "\n")
    queries, docs, labels = map(list, zip(*PAIRS))
    bert = BertTokenizerFast(vocab=str(HERE / "vocab.txt"), do_lower_case=True)
    rows = create_bert_encodings(queries, docs, bert, 32, 96)
    rows["labels"] = labels
    with open(HERE / "rows.json", "w", encoding="ascii") as out:
        lines = (f'"{name}": [\n' + ",\n".join(map(json.dumps, values)) + "\n]" for name, values in rows.items())
        out.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
