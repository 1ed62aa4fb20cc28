"""Makes the seeds of the target text_segment: python make_segments.py."""

import pathlib
import struct

here = pathlib.Path(__file__).parent / "text_segment"
here.mkdir(exist_ok=True)


def segment(lids, lengths, terms, elements=()):
    """A segment: terms with their lists of postings in order, and for each document a list of elements if there are any."""
    texts = [text.encode() for text, _ in terms]
    postings = b"".join(postings for _, postings in terms)
    flat = [element for of in elements for element in of]
    counts = (1, len(lids), len(flat), len(terms), sum(map(len, texts)), len(postings))
    out = b"steadtxt" + struct.pack("<6I", *counts)
    out += struct.pack(f"<{len(lids)}I", *lids) + struct.pack(f"<{len(lengths)}I", *lengths)
    out += b"".join(struct.pack("<I", sum(map(len, elements[: at + 1]))) for at in range(len(elements)))
    out += b"".join(struct.pack("<IIi", *element) for element in flat)
    out += b"".join(struct.pack("<I", sum(map(len, texts[: at + 1]))) for at in range(len(texts)))
    return out + b"".join(texts) + postings


def save(name, data):
    (here / name).write_bytes(data)


save("one", segment([5], [1], [("a", bytes([1, 0, 0, 0]))]))
a = bytes([2, 0, 1, 0b01, 0, 2, 1, 1])
b = bytes([1, 1, 0, 1, 0])
save("elements", segment([3, 8], [2, 2], [("a", a), ("b", b)], [[(0, 2, 1)], [(0, 1, 1), (2, 1, 5)]]))
# Two blocks of a list: its table has the last document of each, where it begins, and its bound.
bound = struct.pack("<5H", 1, 0xFFFF, 0xFFFF, 0xFFFF, 1)
blocks = [bytes([0, 0]) + bytes(128), bytes([0, 0]) + bytes(2)]
table = struct.pack("<II", 127, 0) + bound + struct.pack("<II", 129, 130) + bound
save("blocks", segment(list(range(130)), [1] * 130, [("a", bytes([0x82, 1]) + table + b"".join(blocks))]))
