"""The console in a real browser, over the examples: what it shows is what the server says, whatever the theme, the width and the token.

STEAD_TEST_PICTURES names a folder for a picture of each part.
"""

import json
import os
import shutil
import tempfile
import threading
import unittest
from urllib.parse import quote

from browser import Browser, program
from served import ROOT, VOICE, ServedCase, Stead

PARTS = ("overview", "query", "models", "sequences", "charts")
RANKING = os.path.join(ROOT, "examples", "ranking")
RELEVANCE = os.path.join(ROOT, "examples", "relevance")
needs_browser = unittest.skipUnless(program(), "there is no Chromium: apt install chromium-headless-shell")


class ConsoleCase(ServedCase):
    """A server and a browser for all tests of a class."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    @classmethod
    def url(cls, part):
        return f"http://{cls.server.rest}/console/#{part}"

    def setUp(self):
        self.browser.size(1200, 900)
        self.browser.theme("light")

    def show(self, part):
        """Opens a part and waits until it is filled."""
        self.browser.open(self.url(part))
        self.browser.wait(f"!!document.querySelector('[data-page={part}][data-ready]')")

    def all(self, selector):
        """The texts of the elements."""
        return self.browser.run(f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.innerText)")

    def fill(self, **values):
        """Types into the fields of these names."""
        for name, value in values.items():
            self.browser.run(f"""(() => {{
                const field = document.querySelector('[name="{name}"], [data-input="{name}"]');
                field.value = {json.dumps(value)};
                for (const what of ["input", "change"]) field.dispatchEvent(new Event(what));
            }})()""")

    def check_looks(self, parts):
        """Every part in both themes and at three widths: without errors, and nothing beside the window."""
        for part in parts:
            colors = set()
            for theme in ("light", "dark"):
                for width in (1200, 700, 360):
                    label = f"{part} {theme} {width}"
                    self.browser.theme(theme)
                    self.browser.size(width, 800)
                    self.show(part)
                    self.assertEqual(self.browser.errors, [], label)
                    self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), width, label)
                    self.assertEqual(self.all("nav a[aria-current]"), self.all(f'nav a[href="#{part}"]'), label)
                    colors.add(self.browser.run("getComputedStyle(document.body).backgroundColor"))
                    self.picture(f"{type(self).__name__}-{part}-{theme}-{width}")
            self.assertEqual(len(colors), 2, part)

    def picture(self, name):
        folder = os.environ.get("STEAD_TEST_PICTURES")
        if folder:
            self.browser.picture(os.path.join(folder, f"{name}.png"))


def feed(server, path):
    """Puts the documents of a file of operations."""
    with open(path, encoding="utf-8") as file:
        for operation in map(json.loads, file):
            put(server, operation["put"], operation["fields"])


def put(server, name, fields):
    _, namespace, kind, _, rest = name.split(":", 4)
    path = f"/document/v1/{namespace}/{kind}/docid/{quote(rest, safe='')}"
    status, _, body = server.request("POST", path, {"fields": fields}, {"Content-Type": "application/json"})
    if status != 200:
        raise RuntimeError(body)


@needs_browser
class Albums(ConsoleCase):
    """The example of rankings."""

    @classmethod
    def start(cls):
        server = Stead("serve", os.path.join(RANKING, "app"))
        feed(server, os.path.join(RANKING, "documents.jsonl"))
        return server

    def search(self, profile, yql, count=1, **inputs):
        """Searches by the page; `count` is the how manyth search of the page it is."""
        self.fill(yql=yql, profile=profile, **inputs)
        self.browser.run("document.querySelector('[name=yql]').focus()")
        self.browser.key("Enter", modifiers=2)
        self.browser.wait(f"document.querySelector('#result').dataset.done === '{count}'")

    def test_looks(self):
        self.check_looks(PARTS)

    def test_the_application_is_told(self):
        self.show("overview")
        fields = self.all("[data-schema=album] .scroll[aria-label='Fields of album'] tbody td:first-child")
        self.assertEqual(fields, ["title", "plays", "released", "taste", "tags", "parts"])
        self.assertIn("5 documents", self.all("[data-schema=album]")[0])
        # A profile opens by the keyboard.
        self.browser.run("document.querySelector('[data-profile=phases] summary').focus()")
        self.browser.key("Enter")
        told = self.all("[data-profile=phases]")[0]
        for text in ("inherits taste", "query(user)", "tensor<float>(x[4])", "normalize_linear(secondPhase)", "of 2 hits"):
            self.assertIn(text, told)
        self.assertEqual(self.browser.errors, [])

    def test_a_search_shows_what_the_server_answers(self):
        self.show("query")
        yql = 'select * from album where plays > 10 and (tags contains "jazz" or title contains "blue")'
        self.search("phases", yql, user="[1, 2, 0, 0]")
        query = {"yql": yql, "ranking.profile": "phases", "input.query(user)": "[1, 2, 0, 0]",
                 "trace.level": "1", "trace.explainLevel": "1"}
        status, _, body = self.server.request("POST", "/search/", query, {"Content-Type": "application/json"})
        answer = json.loads(body)
        hits = answer["root"]["children"]
        self.assertEqual((status, len(hits)), (200, 3))
        self.assertEqual(self.all("#found"), ["3 matches of 5 documents"])
        ids = self.all(".scroll[aria-label=Hits] tbody td:last-child")
        self.assertEqual(ids, [hit["id"] for hit in hits])
        shown = [float(text) for text in self.all(".scroll[aria-label=Hits] tbody td:nth-child(2)")]
        for text, hit in zip(shown, hits, strict=True):
            self.assertAlmostEqual(text, hit["relevance"], delta=1e-5)
        # The features of the first hit stand open, the largest first, and its bar is the longest.
        names, values = self.all("[data-hit][open] .bars .name"), self.all("[data-hit][open] .bars .value")
        features = {name: value for name, value in hits[0]["fields"]["matchfeatures"].items() if isinstance(value, (int, float))}
        self.assertEqual(names, sorted(features, key=lambda name: -abs(features[name])))
        for name, value in zip(names, values, strict=True):
            self.assertAlmostEqual(float(value), features[name], delta=1e-5, msg=name)
        widths = self.browser.run("[...document.querySelectorAll('[data-hit][open] .bar')].map((e) => e.getBoundingClientRect().width)")
        self.assertEqual(widths, sorted(widths, reverse=True))
        self.assertGreater(widths[0], 100)
        # Matching, part by part.
        explained = [child["message"] for child in answer["trace"]["children"] if isinstance(child["message"], dict)][0]
        flat = []

        def walk(part):
            flat.append([part["what"], str(part["among"]), str(part["found"])])
            for inner in part.get("parts", []):
                walk(inner)

        walk(explained["matching"])
        cells = [self.all(f".scroll[aria-label=Matching] tbody td:nth-child({n})") for n in (1, 2, 3)]
        self.assertEqual([[text.strip() for text in row] for row in zip(*cells)], flat)
        # Time: the phases that ran.
        phases = " ".join(self.all("#timing .name"))
        for phase in ("in the server", "matching", "first-phase", "second-phase", "global-phase"):
            self.assertIn(phase, phases)
        self.assertEqual(self.browser.errors, [])
        for theme, width in (("light", 1200), ("dark", 1200), ("dark", 360)):
            self.browser.theme(theme)
            self.browser.size(width, 800)
            self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), width)
            self.picture(f"search-{theme}-{width}")
        # What was typed is there when one comes back.
        self.browser.run("location.hash = 'models'")
        self.browser.wait("!!document.querySelector('[data-page=models][data-ready]')")
        self.browser.run("location.hash = 'query'")
        self.browser.wait("!!document.querySelector('[data-page=query][data-ready]')")
        self.assertEqual(self.browser.run("[document.querySelector('[name=yql]').value, document.querySelector('[name=profile]').value,"
                                          " document.querySelector('[data-input=user]').value]"), [yql, "phases", "[1, 2, 0, 0]"])

    def test_searches_that_fail_say_why_and_markup_stays_text(self):
        self.show("query")
        self.search("", "select * from album where nothing = 1")
        self.assertIn("nothing", self.all("#result .error")[0])
        put(self.server, "id:music:album::markup", {"title": "<img src=x onerror='document.title=1'><b>bold</b>", "plays": 1})
        try:
            self.search("", "select * from album where plays = 1", count=2)
            self.assertIn("<b>bold</b>", self.all("#result")[0])
            self.assertEqual(self.browser.run("document.querySelectorAll('#result img, #result b').length"), 0)
        finally:
            self.server.request("DELETE", "/document/v1/music/album/docid/markup")
        self.search("", "select * from album where true | all(group(plays) each(output(count())))", count=3)
        self.assertIn("group:root:0", self.browser.run("document.querySelector('#result').textContent"))
        refused = "(() => { try { document.body.insertAdjacentHTML('beforeend', '<i>x</i>'); return 'taken'; } catch (e) { return e.name; } })()"
        self.assertEqual(self.browser.run(refused), "TypeError")

    def test_charts_move_with_the_server(self):
        self.show("charts")
        self.fill(period="1")
        done = threading.Event()

        def search():
            while not done.wait(0.02):
                self.server.request("GET", "/search/?yql=select%20*%20from%20album%20where%20true")

        thread = threading.Thread(target=search)
        thread.start()
        try:
            self.browser.wait("Number(document.querySelector('[data-page]').dataset.readings) >= 5")
        finally:
            done.set()
            thread.join()
        lines = "document.querySelectorAll('[data-chart=\"Requests a second\"] polyline').length"
        self.assertGreaterEqual(self.browser.run(lines), 2)
        told = self.browser.run("document.querySelector('[data-chart=\"Requests a second\"] svg').getAttribute('aria-label')")
        rate = float(told.split("searches ")[1].split(",")[0])
        self.assertGreater(rate, 0)
        self.assertRegex(self.all("[data-chart=Memory] .legend")[0], r"the process [0-9.]+ (MiB|GiB)")
        self.assertRegex(self.all('[data-chart="Time of a search"] .legend')[0], r"p50 [0-9.]+ (us|ms|s)")
        self.assertEqual(self.browser.run("document.querySelector('[data-chart=\"Time of an inference\"]').hidden"), True)
        # A pause ends the readings.
        self.browser.run("[...document.querySelectorAll('button')].find((b) => b.textContent === 'Pause').click()")
        count = self.browser.run("document.querySelector('[data-page]').dataset.readings")
        self.browser.run("new Promise((then) => setTimeout(then, 2500))")
        self.assertLessEqual(int(self.browser.run("document.querySelector('[data-page]').dataset.readings")), int(count) + 1)

    def test_the_keyboard_leads_everywhere(self):
        self.show("overview")
        seen = []
        for _ in range(9):
            self.browser.key("Tab")
            seen.append(self.browser.run("document.activeElement.textContent"))
        self.assertEqual(seen[:8], ["Skip to the content", "Applications", "Search", "Models", "Sequences", "Charts", "Theme", "Token"])
        self.browser.run("document.querySelector('.skip').focus()")
        self.browser.key("Enter")
        self.assertEqual(self.browser.run("document.activeElement.id"), "main")
        self.browser.run("document.querySelector('nav a[href=\"#models\"]').focus()")
        self.browser.key("Enter")
        self.browser.wait("!!document.querySelector('[data-page=models][data-ready]')")
        self.assertIn("no models", self.all("[data-page=models]")[0])
        self.browser.run("document.querySelector('#theme').focus()")
        self.browser.key("Enter")
        self.assertEqual(self.browser.run("document.documentElement.dataset.theme"), "dark")


@needs_browser
class Voice(ConsoleCase):
    """The example with a model of sequences."""

    @classmethod
    def start(cls):
        return Stead("serve", VOICE)

    def step(self, number, **parameters):
        tensor = {"name": "input", "datatype": "FP32", "shape": [1, 512], "data": [0.0] * 512}
        body = {"inputs": [tensor], "parameters": {"sequence_id": number, **parameters}}
        status, _, answer = self.server.request("POST", "/v2/models/vad/infer", body)
        self.assertEqual(status, 200, answer)

    def test_looks(self):
        self.check_looks(PARTS)

    def test_models_are_told(self):
        self.show("models")
        self.assertEqual(self.all("[data-model] h2"), ["vad"])
        told = self.all("[data-model=vad]")[0]
        for text in ("READY", "stateful", "[-1, 512]", "FP32"):
            self.assertIn(text, told)

    def test_sequences_are_told_as_they_are_now(self):
        largest, text = (1 << 64) - 1, "a caller/7"
        self.show("sequences")
        self.assertIn("No sequence lives now.", self.all("[data-sequences=vad]")[0])
        for name in (largest, text, "5"):
            self.step(name, sequence_start=True)
        try:
            self.step(largest)
            self.browser.wait("document.querySelectorAll('[data-sequences=vad] tbody button').length === 3")
            self.assertEqual(set(self.all("[data-sequences=vad] tbody button")), {str(largest), text, '"5"'})
            for name in (str(largest), text, '"5"'):
                self.browser.run(f"[...document.querySelectorAll('tbody button')].find((b) => b.textContent === {json.dumps(name)}).click()")
                self.browser.wait(f"document.body.innerText.includes({json.dumps('State of ' + name + ' after')})")
                self.assertIn("[2, 1, 128]", self.all("[data-sequences=vad] .scroll[aria-label=State]")[0])
            self.browser.theme("dark")
            self.picture("sequences-live")
        finally:
            for name in (largest, text, "5"):
                self.step(name, sequence_end=True)
        self.browser.wait("document.body.innerText.includes('No sequence lives now.')")
        self.assertEqual(self.browser.errors, [])


@needs_browser
class Tokens(ConsoleCase):
    """A server that wants tokens."""

    READER, ADMIN = "reader-reader-reader", "admin-admin-admin-admin"

    @classmethod
    def start(cls):
        path = os.path.join(cls.folder, "tokens.toml")
        with open(path, "w") as file:
            for role, token in (("read", cls.READER), ("admin", cls.ADMIN)):
                file.write(f'[[tokens]]\nname = "{role}"\ntoken = "{token}"\nroles = ["{role}"]\n')
        return Stead("serve", VOICE, "--tokens_file", path)

    def give(self, token):
        self.browser.run("[...document.querySelectorAll('button')].find((b) => b.textContent === 'Give a token').click()")
        self.browser.wait("document.getElementById('token-dialog').open")
        self.browser.send("Input.insertText", text=token)
        self.browser.key("Enter")
        self.browser.wait("!document.getElementById('token-dialog').open")

    def test_a_token_is_asked_for_and_kept_in_memory_only(self):
        for part in PARTS:
            self.show(part)
            self.assertIn("Authorization: Bearer TOKEN", self.all(".error")[0], part)
        self.show("sequences")
        self.give("no-such-token-at-all")
        self.browser.wait("(document.querySelector('.error')?.innerText ?? '').includes('not good here')")
        self.give(self.READER)
        self.browser.wait("(document.querySelector('.error')?.innerText ?? '').includes('role admin')")
        self.browser.run("location.hash = 'models'")
        self.browser.wait("!!document.querySelector('[data-model=vad] [data-version]')")
        self.browser.run("location.hash = 'sequences'")
        self.browser.wait("[...document.querySelectorAll('button')].some((b) => b.textContent === 'Give a token')")
        self.give(self.ADMIN)
        self.browser.wait("document.body.innerText.includes('No sequence lives now.')")
        kept = self.browser.run("JSON.stringify([document.cookie, localStorage.length, sessionStorage.length, location.href])")
        self.assertEqual(json.loads(kept)[:3], ["", 0, 0])
        self.assertNotIn(self.ADMIN, self.browser.run("document.documentElement.outerHTML") + kept)
        self.browser.send("Page.reload")
        self.browser.wait("document.body.innerText.includes('Authorization: Bearer TOKEN')")


    def press(self, label):
        """Presses a button, which may want to be pressed twice."""
        self.browser.wait(f"[...document.querySelectorAll('button')].some((b) => b.textContent === {json.dumps(label)})")
        self.browser.run(f"[...document.querySelectorAll('button')].find((b) => b.textContent === {json.dumps(label)}).click()")

    def step(self, number, **parameters):
        tensor = {"name": "input", "datatype": "FP32", "shape": [1, 512], "data": [0.0] * 512}
        body = {"inputs": [tensor], "parameters": {"sequence_id": number, **parameters}}
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.ADMIN}"}
        return self.server.request("POST", "/v2/models/vad/infer", body, headers)[0]

    def test_only_administrators_act(self):
        self.show("models")
        self.give(self.READER)
        self.browser.wait("!!document.querySelector('[data-model=vad] [data-version]')")
        self.assertEqual(self.all(".actions"), [])
        self.browser.run("document.getElementById('token').click()")
        self.browser.send("Input.insertText", text=self.ADMIN)
        self.browser.key("Enter")
        # What requests would feel is asked twice, and not done without the second press.
        unload = "Unload: requests will fail. Sure?"
        self.press("Unload")
        self.assertEqual(self.step(1, sequence_start=True, sequence_end=True), 200)
        self.browser.wait(f"[...document.querySelectorAll('button.danger')].some((b) => b.textContent === {json.dumps(unload)})")
        self.picture("models-admin")
        self.press(unload)
        self.browser.wait("(document.querySelector('[data-model=vad] tbody')?.innerText ?? '').includes('UNAVAILABLE')")
        self.assertGreaterEqual(self.step(2, sequence_start=True), 400)
        self.press("Load")
        self.browser.wait("(document.querySelector('[data-model=vad] tbody')?.innerText ?? '').includes('READY')")
        self.assertEqual(self.step(7, sequence_start=True), 200)
        self.browser.run("location.hash = 'sequences'")
        self.press("7")
        self.press("End this sequence")
        self.press("Its state will be lost. Sure?")
        self.browser.wait("document.body.innerText.includes('7 has ended.')")
        self.browser.wait("document.body.innerText.includes('No sequence lives now.')")
        # Answers that refuse are told as errors too.
        self.assertEqual([error for error in self.browser.errors if not error.startswith("Failed to load")], [])


class Switches(unittest.TestCase):
    """Where the console is without a browser."""

    def test_it_is_on_where_only_this_machine_connects_and_where_it_was_asked_for(self):
        folder = tempfile.mkdtemp(prefix="stead-console-")
        self.addCleanup(shutil.rmtree, folder)
        everywhere = ("--rest_bind_address", "0.0.0.0")
        for arguments, status in [
            ((), 200),
            (("--console_enable=false",), 404),
            (everywhere, 404),
            ((*everywhere, "--console_enable"), 200),
        ]:
            server = Stead("serve", os.path.join(RELEVANCE, "app"), *arguments)
            try:
                for path in ("/console/", "/console/main.js", "/console/api/application"):
                    self.assertEqual(server.request("GET", path)[0], status, (arguments, path))
            finally:
                self.assertEqual(server.stop(), 0)
            # It answers before it has told where: the log is whole when it has ended.
            self.assertEqual("/console/" in server.log_text(), status == 200, arguments)
