"""The command line of Vespa (`vespa deploy`, `feed`, `query`, `visit`, ...), as its users have it."""

import json
import os
import subprocess

from vespacli import get_binary_path

from served import ServedCase, Stead, free_port

SERVICES = """<services version="1.0">
  <container id="default" version="1.0"><document-api/><search/></container>
  <content id="music" version="1.0">
    <min-redundancy>1</min-redundancy>
    <documents><document type="album" mode="index"/><document type="label" mode="index" global="true"/></documents>
    <nodes><node distribution-key="0" hostalias="node1"/></nodes>
  </content>
</services>"""

SCHEMAS = {
    "album": """schema album { document album {
        field title type string { indexing: summary | index }
        field year type int { indexing: summary | attribute } } }""",
    "label": "schema label { document label { field name type string { indexing: summary | attribute } } }",
}


def album(number):
    return {"put": f"id:ns:album::{number}", "fields": {"title": f"Volume {number}", "year": 2000 + number}}


class CommandLine(ServedCase):
    @classmethod
    def start(cls):
        cls.port = free_port()
        server = Stead("serve", "--data", os.path.join(cls.folder, "data"), "--deploy_port", str(cls.port))
        cls.app = os.path.join(cls.folder, "app")
        os.makedirs(os.path.join(cls.app, "schemas"))
        for name, text in [("services.xml", SERVICES), *((f"schemas/{n}.sd", t) for n, t in SCHEMAS.items())]:
            with open(os.path.join(cls.app, name), "w") as file:
                file.write(text)
        return server

    def run_vespa(self, target, *arguments, code=0):
        """What a command prints to standard output; to both, if it is to fail."""
        program = get_binary_path()  # the script beside the interpreter forgets the exit code
        home = os.path.join(self.folder, "home")
        environment = {**os.environ, "HOME": home, "VESPA_CLI_HOME": home, "VESPA_CLI_CHECK_VERSION": "false"}
        command = [program, "--target", f"http://{target}", "--color", "never", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=environment, timeout=120)
        self.assertEqual(done.returncode, code, f"{command}\n{done.stdout}\n{done.stderr}")
        return done.stdout + (done.stderr if code else "")

    def vespa(self, *arguments, code=0):
        return self.run_vespa(self.server.rest, *arguments, code=code)

    def deployer(self, *arguments, code=0):
        return self.run_vespa(f"127.0.0.1:{self.port}", *arguments, code=code)

    def ids(self, *arguments):
        return [json.loads(line)["id"] for line in self.vespa("visit", *arguments).splitlines() if line]

    def test_an_application_from_deployment_to_its_log(self):
        self.assertIn("is ready", self.deployer("status", "deploy", "--wait", "10"))
        self.assertIn("Success: Deployed", self.deployer("deploy", "--wait", "10", self.app))
        self.assertIn("is ready", self.vespa("status", "--wait", "10"))

        feed = os.path.join(self.folder, "feed.jsonl")
        labels = [{"put": f"id:ns:label::{n}", "fields": {"name": f"label {n}"}} for n in range(2)]
        with open(feed, "w") as file:
            file.writelines(json.dumps(line) + "\n" for line in [*map(album, range(25)), *labels])
        told = json.loads(self.vespa("feed", feed))
        self.assertEqual((told["feeder.ok.count"], told["http.response.error.count"]), (27, 0))

        found = json.loads(self.vespa("query", "yql=select * from album where year > 2020 order by year", "hits=2"))
        self.assertEqual([hit["fields"]["title"] for hit in found["root"]["children"]], ["Volume 21", "Volume 22"])
        self.assertEqual(found["root"]["fields"]["totalCount"], 4)
        wrong = self.vespa("query", "yql=select * from", code=1)
        self.assertIn("Could not create query from YQL", wrong)

        self.vespa("document", "put", "-d", json.dumps(album(99)))
        got = json.loads(self.vespa("document", "get", "id:ns:album::99"))
        self.assertEqual(got["fields"]["year"], 2099)
        self.vespa("document", "remove", "id:ns:album::99")
        self.assertIn("404", self.vespa("document", "get", "id:ns:album::99", code=1))

        # Each document once: the command asks for those of `global` types apart.
        every = [f"id:ns:album::{n}" for n in range(25)] + [f"id:ns:label::{n}" for n in range(2)]
        for arguments in [(), ("--chunk-count", "3"), ("--stream",), ("--content-cluster", "music")]:
            self.assertEqual(sorted(self.ids(*arguments)), sorted(every), arguments)
        self.assertEqual(sorted(self.ids("--bucket-space", "global")), every[25:])
        self.assertEqual(self.ids("--selection", "album.year == 2007"), ["id:ns:album::7"])
        slices = [self.ids("--slices", "3", "--slice-id", str(n), "--field-set", "[id]") for n in range(3)]
        self.assertEqual(sorted(sum(slices, [])), sorted(every))
        self.assertIn("no content cluster", self.vespa("visit", "--content-cluster", "other", code=1))

        span = ["--from", "2020-01-01T00:00:00Z", "--to", "2100-01-01T00:00:00Z"]
        lines = self.deployer("log", *span).splitlines()
        self.assertTrue(any("deployments on" in line and " info " in line for line in lines), lines)
        archive = os.path.join(self.folder, "fetched.zip")
        self.deployer("fetch", archive)
        self.assertGreater(os.path.getsize(archive), 500)
