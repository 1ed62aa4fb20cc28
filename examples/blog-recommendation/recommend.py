#!/usr/bin/env python3
"""Serves the example, feeds its readers and posts, and shows what some readers should read next.

    python recommend.py                          with the `stead` of the PATH, on free ports, and ends it
    python recommend.py --posts 100000           with more posts, made up on the way
    python recommend.py --target http://127.0.0.1:8080 --deploy_target http://127.0.0.1:19071
                                                 with a server that runs already: deploys there and leaves it running

It needs Python 3.8 or later, `stead` and nothing else.
"""

import argparse
import contextlib
import http.client
import itertools
import json
import os
import queue
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

import make_posts as blog

HERE = os.path.dirname(os.path.abspath(__file__))
CONNECTIONS = 8


class Client:
    """A connection to the query port."""

    def __init__(self, target):
        self.connection = http.client.HTTPConnection(urllib.parse.urlsplit(target).netloc, timeout=60)

    def send(self, method, path, body=None):
        headers = {"Content-Type": "application/json"}
        text = None if body is None else json.dumps(body)
        self.connection.request(method, path, text, headers)
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read())


@contextlib.contextmanager
def server(stead):
    """A server over a folder that is removed at the end: its query port and its deploy port."""
    with tempfile.TemporaryDirectory() as data:
        ports = [str(free_port()), str(free_port())]
        command = [stead, "serve", "--data", data, "--rest_port", ports[0], "--deploy_port", ports[1], "--log_level", "WARNING"]
        process = subprocess.Popen(command)
        try:
            yield [f"http://127.0.0.1:{port}" for port in ports]
        finally:
            process.terminate()
            process.wait()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def ready(target):
    """Waits for a port that begins to listen."""
    for _ in range(200):
        with contextlib.suppress(OSError, http.client.HTTPException):
            Client(target).send("GET", "/state/v1/health")
            return
        time.sleep(0.05)
    sys.exit(f"nobody answers at {target}")


def feed(target, operations):
    """Puts documents over some connections; the number of them."""
    waiting, failed, done = queue.Queue(1000), [], itertools.count()

    def work():
        client = Client(target)
        while (operation := waiting.get()) is not None:
            _, space, kind, _, name = operation["put"].split(":", 4)
            status, answer = client.send("POST", f"/document/v1/{space}/{kind}/docid/{name}", {"fields": operation["fields"]})
            if status == 200:
                next(done)
            else:
                failed.append(answer)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for operation in operations:
        waiting.put(operation)
    for _ in threads:
        waiting.put(None)
    for thread in threads:
        thread.join()
    if failed:
        sys.exit(f"{len(failed)} documents were refused, the first with {failed[0]}")
    return next(done)


def best(client, reader, profile, hits):
    """The best posts for a reader. The server looks the reader's vector up; the query only names the document."""
    body = {
        "yql": "select title, topic from post where true",
        "ranking": profile,
        "hits": hits,
        "input.query(user_profile)": f"document(id:blog:user::{reader}).embedding",
    }
    begin = time.perf_counter()
    status, answer = client.send("POST", "/search/", body)
    took = time.perf_counter() - begin
    if status != 200:
        sys.exit(json.dumps(answer, indent=1))
    return answer["root"]["children"], took


def show(client, reader, hits):
    _, user = client.send("GET", f"/document/v1/blog/user/docid/{reader}")
    print(f"\nreader {reader} likes {', '.join(user['fields']['likes'])}")
    for profile in ["nearest", "recommend"]:
        posts, took = best(client, reader, profile, hits)
        print(f"  {profile}, {took * 1000:.1f} ms")
        for post in posts:
            print(f"    {post['relevance']:.3f}  {post['fields']['title']} ({post['fields']['topic']})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--posts", type=int, default=blog.POSTS)
    parser.add_argument("--reader", type=int, action="append", help="which of the 20; repeat it for more (default: 0 and 7)")
    parser.add_argument("--hits", type=int, default=5)
    parser.add_argument("--stead", default="stead", help="the program")
    parser.add_argument("--target")
    parser.add_argument("--deploy_target", default="http://127.0.0.1:19071")
    args = parser.parse_args()
    with contextlib.ExitStack() as stack:
        target, deploy = args.target, args.deploy_target
        if target is None:
            target, deploy = stack.enter_context(server(args.stead))
            ready(target)
        subprocess.run([args.stead, "deploy", os.path.join(HERE, "app"), "--target", deploy], check=True)
        begin = time.perf_counter()
        count = feed(target, blog.operations(args.posts, blog.READERS))
        print(f"fed {count} readers and posts in {time.perf_counter() - begin:.1f} s")
        client = Client(target)
        for reader in args.reader or [0, 7]:
            show(client, reader, args.hits)


if __name__ == "__main__":
    main()
