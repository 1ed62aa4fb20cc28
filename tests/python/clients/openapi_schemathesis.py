"""Requests that schemathesis makes of each port's OpenAPI document: none ends in a failure of the server.

`STEAD_OPENAPI_SECONDS` is the time for each of the three documents (30 without it; `cargo xtask soak openapi` takes
100), `STEAD_SEED` a seed.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import unittest

from served import QUICKSTART, ROOT, ServedCase, Stead, free_port

SECONDS = os.environ.get("STEAD_OPENAPI_SECONDS", "30")
SEED = os.environ.get("STEAD_SEED", "1")
TOKEN = "a-token-of-the-openapi-test"

# What is answered with 501 by its protocol: TensorFlow Serving's calls on tf.Example.
NOT_OFFERED = ":(classify|regress)$"

SERVICES = """<services version="1.0"><container id="front" version="1.0"><search/><document-api/></container>
<content id="c" version="1.0"><documents><document type="music" mode="index"/></documents></content></services>"""
SCHEMA = """schema music { document music {
  field title type string { indexing: summary | attribute }
  field year type int { indexing: summary | attribute }
  field taste type tensor<float>(x[2]) { indexing: attribute }
} }"""


def tokens(folder):
    """A file with the one token, as its hash."""
    path = os.path.join(folder, "tokens.toml")
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    with open(path, "w") as file:
        file.write(f'[[tokens]]\nname = "test"\nsha256 = "{digest}"\nroles = ["admin"]\n')
    return path


class Fuzzed(ServedCase):
    def fuzz(self, address, *more):
        """Runs schemathesis against a document, and the same server answers afterwards."""
        command = [
            *(sys.executable, "-m", "schemathesis.cli", "run", f"http://{address}/openapi.json"),
            *("--header", f"Authorization: Bearer {TOKEN}", "--checks", "no_failure_of_the_server"),
            *("--exclude-path-regex", NOT_OFFERED, "--phases", "examples,coverage,fuzzing"),
            *("--suppress-health-check", "all", "--max-time", SECONDS, "--seed", SEED, "--warnings", "off"),
            *("--continue-on-failure", "--no-color", *more),
        ]
        checks = {"PYTHONPATH": os.path.join(ROOT, "tests", "python"), "SCHEMATHESIS_HOOKS": "openapi_checks"}
        environment = {**os.environ, **checks}
        done = subprocess.run(command, cwd=self.folder, env=environment, text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, f"{done.stdout}\n{done.stderr}\n{self.server.log_text()[-4000:]}")
        status, _, _ = self.server.request("GET", "/v2/health/live")
        self.assertEqual(status, 200)

    def test_no_request_ends_in_a_failure_of_the_server(self):
        self.fuzz(self.address())

    def test_the_document_is_not_for_everybody(self):
        status, headers, _ = self.server.request_to(self.address(), "GET", "/openapi.json")
        self.assertEqual(status, 401)
        self.assertIn("Bearer", headers["www-authenticate"])


class Models(Fuzzed):
    @classmethod
    def start(cls):
        models = os.path.join(cls.folder, "models")
        shutil.copytree(QUICKSTART, models)
        return Stead("serve", models, "--tokens_file", tokens(cls.folder))

    def address(self):
        return self.server.rest


class Documents(Fuzzed):
    @classmethod
    def start(cls):
        app = os.path.join(cls.folder, "app")
        os.makedirs(os.path.join(app, "schemas"))
        for name, text in (("services.xml", SERVICES), ("schemas/music.sd", SCHEMA)):
            with open(os.path.join(app, name), "w") as file:
                file.write(text)
        return Stead("serve", app, "--tokens_file", tokens(cls.folder))

    def address(self):
        return self.server.rest


class Deployments(Fuzzed):
    @classmethod
    def start(cls):
        cls.port = free_port()
        data = os.path.join(cls.folder, "data")
        return Stead("serve", "--data", data, "--deploy_port", str(cls.port), "--tokens_file", tokens(cls.folder))

    def address(self):
        return f"127.0.0.1:{self.port}"


# The base is no case of its own.
del Fuzzed, ServedCase

if __name__ == "__main__":
    unittest.main()
