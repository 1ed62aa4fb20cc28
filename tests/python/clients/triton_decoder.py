"""examples/decoder as its README says."""

import json
import os
import subprocess
import sys
import unittest

from served import ROOT, Stead

EXAMPLE = os.path.join(ROOT, "examples", "decoder")


class Decoder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Stead("serve", os.path.join(EXAMPLE, "config.json"))

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0, cls.server.log_text()

    def example(self, *arguments):
        command = [sys.executable, os.path.join(EXAMPLE, "client.py"), "--url", f"http://{self.server.rest}"]
        return subprocess.run([*command, *arguments], capture_output=True, text=True, encoding="utf-8", check=True).stdout

    def test_each_step_gives_what_the_whole_prefix_gives(self):
        text, report = self.example("--tokens", "12", "Once").splitlines()
        self.assertEqual((text[:4], len(text)), ("Once", 4 + 12))
        self.assertIn("12 steps, largest difference to the whole prefix", report)
        self.assertEqual(self.example("--tokens", "12", "Once").splitlines()[0], text)

    def test_the_example_leaves_no_sequence(self):
        self.example("--tokens", "3")
        status, _, body = self.server.request("GET", "/v2/models/decoder/sequences")
        self.assertEqual((status, json.loads(body)["sequences"]), (200, []))


if __name__ == "__main__":
    unittest.main()
