"""Generates text step by step, and checks every step against a run over the whole prefix.

    python3 client.py [--url http://127.0.0.1:8080] [--tokens 40] [PROMPT]

Standard library only. The weights are random, so the text says nothing; but it is the same in each run.
"""

import argparse
import json
import urllib.request

FIRST, VOCABULARY = 32, 96  # a token is a printable character of ASCII


def step(url, sequence, ids, number, end=False):
    """The id of the sequence and the logits behind the last of these tokens. The server keeps the cache of the sequence;
    a START without an id gets a new one."""
    marks = {"sequence_start": number == 1, "sequence_end": end, "sequence_step": number}
    body = {
        "parameters": {"sequence_id": sequence, **marks} if sequence else marks,
        "inputs": [{"name": "ids", "datatype": "INT64", "shape": [1, len(ids)], "data": ids}],
    }
    request = urllib.request.Request(f"{url}/v2/models/decoder/infer", json.dumps(body).encode())
    with urllib.request.urlopen(request) as answer:
        answer = json.load(answer)
    output = answer["outputs"][0]
    assert output["shape"] == [1, len(ids), VOCABULARY], output["shape"]
    return answer["parameters"]["sequence_id"], output["data"][-VOCABULARY:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", default="http://127.0.0.1:8080")
    parser.add_argument("--tokens", type=int, default=40)
    parser.add_argument("prompt", nargs="?", default="Once upon a time")
    args = parser.parse_args()
    prefix = [min(max(ord(c) - FIRST, 0), VOCABULARY - 1) for c in args.prompt]
    sequence, new, worst = None, prefix, 0.0
    for number in range(1, args.tokens + 1):
        # The prompt, then one token each; and beside it everything so far at once.
        sequence, logits = step(args.url, sequence, new, number, end=number == args.tokens)
        _, whole = step(args.url, None, prefix, 1, end=True)
        worst = max(worst, *(abs(a - b) for a, b in zip(logits, whole)))
        new = [max(range(VOCABULARY), key=logits.__getitem__)]
        prefix = prefix + new
    print("".join(chr(FIRST + token) for token in prefix))
    print(f"{args.tokens} steps, largest difference to the whole prefix {worst:.1e}")
    assert worst < 1e-4, "the cache does not hold what the prefix gives"


if __name__ == "__main__":
    main()
