"""Starting and stopping the binary: flags of OpenVINO Model Server, signals, exit codes."""

import os
import signal
import subprocess
import threading
import time
import unittest

import requests

from served import BINARY, QUICKSTART, Stead


def run(*args, **options):
    return subprocess.run([BINARY, *args], capture_output=True, text=True, timeout=60, **options)


class CommandLine(unittest.TestCase):
    def test_one_model_by_flags_without_the_word_serve(self):
        server = Stead("--model_name", "first", "--model_path", os.path.join(QUICKSTART, "ranker"))
        answer = requests.post(f"http://{server.rest}/v1/models/first:predict", json={"instances": [[4.7, 320, 12, 24]]}, timeout=30)
        self.assertEqual(answer.status_code, 200, answer.text)
        self.assertEqual(server.stop(), 0)

    def test_a_single_file_is_version_1(self):
        server = Stead("serve", os.path.join(QUICKSTART, "ranker", "1", "model.onnx"))
        status = requests.get(f"http://{server.rest}/v1/models/model", timeout=30).json()
        self.assertEqual(status["model_version_status"][0]["version"], "1")
        self.assertEqual(server.stop(), 0)

    def test_usage_errors_exit_with_64(self):
        for line in ("", "serve", "serve m --port 9000 --rest_port 9000", "serve m --port 70000", "nonsense",
                     "--config_path a --model_name b", "run", "bench m.onnx --seconds x", "run m.onnx --input x"):
            with self.subTest(line):
                result = run(*line.split())
                self.assertEqual(result.returncode, 64, result.stderr)
                self.assertTrue(result.stderr)

    def test_failures_exit_with_1(self):
        for line in ("run /nothing.onnx", "inspect /nothing.onnx", "conformance /nothing"):
            with self.subTest(line):
                result = run(*line.split())
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn("error", result.stderr)

    def test_help_and_version_exit_with_0(self):
        for line in ("--help", "--version", "serve --help", "run --help", "bench --help", "demo --help",
                     "conformance --help", "inspect --help"):
            with self.subTest(line):
                self.assertEqual(run(*line.split()).returncode, 0)

    def test_a_second_signal_ends_at_once(self):
        server = Stead("serve", QUICKSTART, "--drain_seconds", "60")
        # A request whose body never comes keeps the first signal waiting.
        host, port = server.rest.split(":")
        import socket

        with socket.create_connection((host, int(port))) as stuck:
            stuck.sendall(b"POST /v1/models/ranker:predict HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
            time.sleep(0.3)
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.5)
            self.assertIsNone(server.process.poll())
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.process.wait(timeout=10), 1)

    def test_requests_in_flight_are_answered_before_the_end(self):
        server = Stead("serve", QUICKSTART)
        url = f"http://{server.rest}/v1/models/ranker:predict"
        body = {"instances": [[4.7, 320, 12, 24]] * 100}
        broken, answered, stop = [], [], threading.Event()

        def ask():
            while not stop.is_set():
                try:
                    code = requests.post(url, json=body, timeout=30).status_code
                    (answered if code in (200, 503) else broken).append(code)
                except requests.exceptions.ConnectionError as error:
                    # Refused once the door is closed; an answer that was cut off would be a fault.
                    if "Connection refused" not in str(error) and "reset" not in str(error).lower():
                        broken.append(error)
                    return

        threads = [threading.Thread(target=ask) for _ in range(4)]
        [t.start() for t in threads]
        time.sleep(0.3)
        code = server.stop()
        stop.set()
        [t.join() for t in threads]
        self.assertEqual((code, broken), (0, []))
        self.assertTrue(answered)
