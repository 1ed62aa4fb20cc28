"""Makes the seeds of the target vector_links: python make_links.py."""

import pathlib
import struct

here = pathlib.Path(__file__).parent / "vector_links"
here.mkdir(exist_ok=True)


def links(has_many, entry, nodes):
    """The links of a graph of at most 4 links: nodes are None, or a place with a list of links for each level."""
    head = b"steadann" + struct.pack("<IBBHIIId", 1, 0, has_many, 0, 4, len(nodes), entry, 0.0)
    body = b""
    for node in nodes:
        if node is None:
            body += b"\0"
            continue
        place, levels = node
        body += bytes([len(levels)]) + (struct.pack("<II", *place) if has_many else b"")
        for level in levels:
            body += struct.pack(f"<H{len(level)}I", len(level), *level)
    return bytes([has_many]) + head + body


def save(name, data):
    (here / name).write_bytes(data)


save("nothing", links(0, 0, []))
save("one", links(0, 1, [((0, 0), [[]])]))
save("levels", links(0, 3, [((0, 0), [[1, 2]]), ((1, 0), [[0, 2], [2]]), ((2, 0), [[0, 1], [1], []])]))
save("gap", links(0, 1, [((0, 0), [[2]]), None, ((2, 0), [[0]])]))
ring = [((n // 2, n % 2), [[(n + 1) % 8, (n - 1) % 8, (n + 4) % 8]]) for n in range(8)]
save("several", links(1, 1, ring))
