"""hnswlib as a side of `search-peers vectors`: one command a line, answered by a line of JSON.

    hnswlib_peer.py FOLDER SIZE COUNT LINKS EXPLORE THREADS

FOLDER has `base.f32` and `queries.f32`, rows of SIZE numbers of length 1.

    add FROM TO      adds these rows; seconds
    search EF HITS   all queries on one thread, in one call; seconds, and their hits in `found.i64`
    truth HITS MASK  the nearest by a look at all rows, or those of a file with a byte for each; in `truth.i64`
    save FILE        writes the index
    load FILE        goes on with one that was written
    memory           bytes of the index
"""

import json
import sys
import time

import hnswlib
import numpy as np

AT_ONCE = 100_000


def truth(base, queries, hits, mask):
    """The rows with the greatest products, the best first; -1 where there are fewer."""
    best = np.full((len(queries), 0), -np.inf, np.float32)
    ids = np.full((len(queries), 0), -1, np.int64)
    for begin in range(0, len(base), AT_ONCE):
        part = queries @ base[begin : begin + AT_ONCE].T
        if mask is not None:
            part[:, mask[begin : begin + AT_ONCE] == 0] = -np.inf
        best = np.hstack([best, part])
        numbers = np.arange(begin, begin + part.shape[1], dtype=np.int64)
        ids = np.hstack([ids, np.broadcast_to(numbers, part.shape)])
        kept = np.argsort(-best, axis=1, kind="stable")[:, :hits]
        best, ids = np.take_along_axis(best, kept, 1), np.take_along_axis(ids, kept, 1)
    ids[best == -np.inf] = -1
    return ids


def main():
    folder = sys.argv[1]
    size, count, links, explore, threads = map(int, sys.argv[2:7])
    base = np.memmap(f"{folder}/base.f32", np.float32, "r").reshape(-1, size)
    queries = np.fromfile(f"{folder}/queries.f32", np.float32).reshape(-1, size)
    index = hnswlib.Index(space="ip", dim=size)
    index.init_index(max_elements=count, ef_construction=explore, M=links)
    for line in sys.stdin:
        verb, *args = line.split()
        started = time.perf_counter()
        told = {}
        if verb == "add":
            begin, end = map(int, args)
            rows = np.ascontiguousarray(base[begin:end])
            started = time.perf_counter()
            index.add_items(rows, np.arange(begin, end), num_threads=threads)
        elif verb == "search":
            index.set_ef(int(args[0]))
            started = time.perf_counter()
            found, _ = index.knn_query(queries, k=int(args[1]), num_threads=1)
            told["seconds"] = time.perf_counter() - started
            found.astype(np.int64).tofile(f"{folder}/found.i64")
        elif verb == "truth":
            mask = np.fromfile(args[1], np.uint8) if args[1:] else None
            truth(base, queries, int(args[0]), mask).tofile(f"{folder}/truth.i64")
        elif verb == "save":
            index.save_index(args[0])
        elif verb == "load":
            index = hnswlib.Index(space="ip", dim=size)
            index.load_index(args[0], max_elements=count)
        elif verb == "memory":
            told["bytes"] = index.index_file_size()
        told.setdefault("seconds", time.perf_counter() - started)
        print(json.dumps(told), flush=True)


main()
