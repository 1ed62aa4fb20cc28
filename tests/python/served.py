"""Starts the real `stead` binary for a test file and stops it afterwards."""

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BINARY = os.environ.get("STEAD_BIN", os.path.join(ROOT, "target", "debug", "stead"))
DATA = os.environ.get("STEAD_TEST_DATA", os.path.join(ROOT, "target"))
REPOSITORY = os.path.join(DATA, "models", "clients")
QUICKSTART = os.path.join(ROOT, "examples", "quickstart", "models")


_locks = []  # of the ports of this process, by their files


def free_port():
    """A port that nobody listens on, and that no other test is given while this process lives.

    It is below those of connections, as crates/stead/tests/server/ports.rs explains, and shares its locks.
    """
    folder = os.path.join(tempfile.gettempdir(), "stead-test-ports")
    os.makedirs(folder, exist_ok=True)
    start, end = 12_000, 32_000
    for attempt in range(end - start):
        port = start + (os.getpid() * 97 + len(_locks) + attempt) % (end - start)
        lock = open(os.path.join(folder, str(port)), "a")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket() as s:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                s.bind(("127.0.0.1", port))
        except OSError:
            lock.close()
            continue
        _locks.append(lock)
        return port
    raise RuntimeError("no free port")


class Stead:
    """A running server. `rest` and `grpc` are host:port; on free ports unless they are given."""

    def __init__(self, *args, rest=None, grpc=None):
        self.rest, self.grpc = (f"127.0.0.1:{port or free_port()}" for port in (rest, grpc))
        self.log = tempfile.TemporaryFile("w+")
        ports = ["--rest_port", self.rest.split(":")[1]]
        if "--port" not in args:
            ports += ["--port", self.grpc.split(":")[1]]
        self.process = subprocess.Popen([BINARY, *args, *ports], stdout=self.log, stderr=self.log)
        for _ in range(1000):
            try:
                urllib.request.urlopen(f"http://{self.rest}/v2/health/ready", timeout=5)
                return
            except OSError:  # refused at first, 400 while models load
                if self.process.poll() is not None:
                    break
                time.sleep(0.01)
        self.stop()
        raise RuntimeError(f"stead did not become ready:\n{self.log_text()}")

    def log_text(self):
        self.log.seek(0)
        return self.log.read()

    def stop(self):
        """Asks it to stop and returns the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)

    def request(self, method, path, body=None, headers=None):
        """Status, headers and body of one HTTP request, whatever the status."""
        return self.request_to(self.rest, method, path, body, headers)

    def request_to(self, address, method, path, body=None, headers=None):
        """The same to another port of the server."""
        data = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
        request = urllib.request.Request(f"http://{address}{path}", data, headers or {}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, dict(answer.headers), answer.read()
        except urllib.error.HTTPError as error:
            return error.code, dict(error.headers), error.read()


def stateful_config(folder, models, **server):
    """Writes a configuration of stateful models: {name: (folder of the model, options of stead, other keys)}."""
    configs = [
        {"name": name, "base_path": base, "stateful": True, "stead": stead, **keys}
        for name, (base, stead, keys) in models.items()
    ]
    path = os.path.join(folder, "config.json")
    with open(path, "w") as file:
        json.dump({"model_config_list": [{"config": config} for config in configs], **server}, file)
    return path


SUMMATOR = os.path.join(REPOSITORY, "summator")
VOICE = os.path.join(ROOT, "examples", "voice-activity", "config.json")


class ServedCase(unittest.TestCase):
    """One server for all tests of a class: unless `start` says otherwise, of the models of the client tests in a
    folder of their own, so that tests may change it."""

    arguments = ()

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="stead-clients-")
        cls.server = cls.start()

    @classmethod
    def start(cls):
        """The server; what it needs may be written to `cls.folder`, which goes with it."""
        cls.repository = os.path.join(cls.folder, "models")
        shutil.copytree(REPOSITORY, cls.repository, ignore=shutil.ignore_patterns("made-by"))
        return Stead("serve", cls.repository, *cls.arguments)

    @classmethod
    def tearDownClass(cls):
        code = cls.server.stop()
        shutil.rmtree(cls.folder)
        if code != 0:
            raise RuntimeError(f"stead ended with {code}:\n{cls.server.log_text()}")


class ExampleCase(ServedCase):
    """The server of one of the examples, and its client."""

    example = ""

    @classmethod
    def start(cls):
        return Stead("serve", cls.file("config.json"))

    @classmethod
    def file(cls, name):
        return os.path.join(ROOT, "examples", cls.example, name)

    def client(self, *arguments):
        """What the example's client prints."""
        command = [sys.executable, self.file("client.py"), "--url", f"http://{self.server.rest}", *arguments]
        return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True).stdout
