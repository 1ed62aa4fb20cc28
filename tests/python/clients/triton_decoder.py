"""examples/decoder as its README says."""

import json
import unittest

from served import ExampleCase


class Decoder(ExampleCase):
    example = "decoder"

    def test_each_step_gives_what_the_whole_prefix_gives(self):
        text, report = self.client("--tokens", "12", "Once").splitlines()
        self.assertEqual((text[:4], len(text)), ("Once", 4 + 12))
        self.assertIn("12 steps, largest difference to the whole prefix", report)
        self.assertEqual(self.client("--tokens", "12", "Once").splitlines()[0], text)

    def test_the_example_leaves_no_sequence(self):
        self.client("--tokens", "3")
        status, _, body = self.server.request("GET", "/v2/models/decoder/sequences")
        self.assertEqual((status, json.loads(body)["sequences"]), (200, []))


if __name__ == "__main__":
    unittest.main()
