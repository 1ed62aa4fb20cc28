"""The files in deploy/: what they are read by can read them, and their flags are those of `stead serve`."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

import yaml

from served import BINARY, ROOT

DEPLOY = os.path.join(ROOT, "deploy")


def text_of(name):
    with open(os.path.join(DEPLOY, name)) as file:
        return file.read()


def documents(name):
    return list(yaml.safe_load_all(text_of(f"kubernetes/{name}")))


def one(found, kind, name=None):
    return next(d for d in found if d["kind"] == kind and name in (None, d["metadata"]["name"]))


class DeployFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shown = subprocess.run([BINARY, "serve", "--help"], text=True, capture_output=True, check=True).stdout
        cls.flags = set(re.findall(r"^\s*(--\w+)", shown, re.MULTILINE))

    def check(self, arguments):
        """Flags that there are, and one for TLS only with the others."""
        self.assertEqual(arguments[0], "serve")
        used = {argument for argument in arguments if argument.startswith("--")}
        self.assertTrue(used, arguments)
        self.assertEqual(used - self.flags, set())
        return dict(zip(arguments, arguments[1:]))

    def test_flags_are_read_from_the_help(self):
        self.assertIn("--tokens_file", self.flags)
        self.assertNotIn("--no_such_flag", self.flags)

    def test_unit_of_systemd(self):
        unit = text_of("stead.service").replace("\\\n", " ")
        start = re.search(r"^ExecStart=(.*)$", unit, re.MULTILINE).group(1).split()
        values = self.check(start[1:])
        stop = int(re.search(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE).group(1))
        self.assertGreater(stop, int(values["--drain_seconds"]))
        self.assertIn("kill -HUP $MAINPID", unit)
        if shutil.which("systemd-analyze") is None:
            self.skipTest("no systemd-analyze here")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "stead.service")
            with open(path, "w") as file:
                file.write(text_of("stead.service").replace("/usr/local/bin/stead", BINARY))
            done = subprocess.run(["systemd-analyze", "verify", path], text=True, capture_output=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_image(self):
        image = text_of("Dockerfile")
        command = yaml.safe_load(re.search(r"^CMD (\[.*\])$", image, re.MULTILINE).group(1))
        self.check(command)
        for source in re.findall(r"^COPY (?!--from)(.*) \S+$", image, re.MULTILINE):
            for path in source.split():
                self.assertTrue(os.path.exists(os.path.join(ROOT, path)), path)
        self.assertRegex(image, r"(?m)^USER \d+$")
        with open(os.path.join(ROOT, "Cargo.toml")) as file:
            version = re.search(r'rust-version = "([\d.]+)"', file.read()).group(1)
        self.assertIn(f"FROM rust:{version}-", image)

    def test_stateful_set(self):
        found = documents("stead.yaml")
        workload = one(found, "StatefulSet")
        pod = workload["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        values = self.check(container["args"])
        self.assertGreater(pod["terminationGracePeriodSeconds"], int(values["--drain_seconds"]))
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        expected = {"https": "--rest_port", "grpc": "--port", "deploy": "--deploy_port", "admin": "--admin_port"}
        self.assertEqual(ports, {name: int(values[flag]) for name, flag in expected.items()})
        for service in (d for d in found if d["kind"] == "Service"):
            for port in service["spec"]["ports"]:
                self.assertEqual(ports[port["targetPort"]], port["port"])
            self.assertEqual(service["spec"]["selector"], workload["spec"]["selector"]["matchLabels"])
        self.assertEqual(workload["spec"]["serviceName"], one(found, "Service", "stead-nodes")["metadata"]["name"])
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            asked = container[probe]["httpGet"]
            self.assertIn(asked["path"], ("/v2/health/live", "/v2/health/ready"))
            self.assertEqual((asked["port"], asked["scheme"]), ("https", "HTTPS"))
        volumes = {v["name"] for v in pod["volumes"]}
        volumes |= {v["metadata"]["name"] for v in workload["spec"]["volumeClaimTemplates"]}
        mounts = {m["mountPath"]: m["name"] for m in container["volumeMounts"]}
        self.assertEqual(set(mounts.values()), volumes)
        for flag in ("--data", "--tls_cert", "--tls_key", "--tokens_file"):
            path = values[flag]
            self.assertTrue(any(path == mount or path.startswith(mount + "/") for mount in mounts), path)
        self.assertEqual(container["resources"]["requests"], container["resources"]["limits"])

    def test_serving_runtime(self):
        found = documents("kserve-runtime.yaml")
        runtime = one(found, "ServingRuntime")
        (container,) = runtime["spec"]["containers"]
        self.assertEqual(container["name"], "kserve-container")
        values = self.check(container["args"])
        self.assertEqual(values["--model_path"], "/mnt/models")
        self.assertEqual(container["readinessProbe"]["httpGet"]["port"], int(values["--rest_port"]))
        model = one(found, "InferenceService")["spec"]["predictor"]["model"]
        self.assertEqual(model["runtime"], runtime["metadata"]["name"])
        formats = [f["name"] for f in runtime["spec"]["supportedModelFormats"]]
        self.assertIn(model["modelFormat"]["name"], formats)


if __name__ == "__main__":
    unittest.main()
