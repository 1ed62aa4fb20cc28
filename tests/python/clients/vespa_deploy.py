"""Deployments with pyvespa: a package that its API builds, deployed by its own code."""

import http.client
import io
import unittest

from vespa.deployment import VespaDocker
from vespa.package import ApplicationPackage, Document, Field, RankProfile, Schema, Validation, ValidationID

from served import ServedCase, Stead, free_port


class Probe:
    """Stands in for docker's container, in which pyvespa asks by curl whether the deploy port is there."""

    def __init__(self, port):
        self.port = port

    def exec_run(self, command):
        assert command == "bash -c 'curl -s --head http://localhost:19071/ApplicationStatus'", command
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request("HEAD", "/ApplicationStatus")
        answer = connection.getresponse()
        version = {10: "HTTP/1.0", 11: "HTTP/1.1"}[answer.version]
        head = f"{version} {answer.status} {answer.reason}\r\n\r\n"
        connection.close()
        return type("Output", (), {"output": head.encode()})


class SteadInsteadOfDocker(VespaDocker):
    def _run_vespa_engine_container(self, **options):
        self.container = Probe(self.cfgsrv_port)


def package(kind="int", validations=None):
    profile = RankProfile("recent", first_phase="attribute(year)", inherits="default")
    document = Document([Field("title", "string", indexing=["summary"]), Field("year", kind, indexing=["attribute"])])
    schema = Schema("music", document, rank_profiles=[profile] if kind == "int" else [])
    return ApplicationPackage("music", schema=[schema], validations=validations)


class Deployments(ServedCase):
    @classmethod
    def start(cls):
        cls.port = free_port()
        return Stead("serve", "--data", cls.folder, "--deploy_port", str(cls.port))

    def deploy(self, application):
        rest = int(self.server.rest.split(":")[1])
        docker = SteadInsteadOfDocker(url="http://127.0.0.1", port=rest, cfgsrv_port=self.port, output_file=io.StringIO())
        return docker.deploy(application, max_wait_configserver=10, max_wait_deployment=10)

    def test_packages_are_deployed_and_replaced(self):
        app = self.deploy(package())
        first = app.get_application_status().json()["application"]["meta"]["generation"]
        app = self.deploy(package())
        second = app.get_application_status().json()["application"]["meta"]["generation"]
        self.assertEqual(second, first + 1)

        # Values of a field would be lost.
        with self.assertRaisesRegex(RuntimeError, "INVALID_APPLICATION_PACKAGE.*field-type-change"):
            self.deploy(package("string"))
        status = app.get_application_status().json()["application"]["meta"]["generation"]
        self.assertEqual(status, second)
        allowed = Validation(ValidationID.fieldTypeChange, until="2999-01-01")
        app = self.deploy(package("string", [allowed]))
        self.assertGreater(app.get_application_status().json()["application"]["meta"]["generation"], second)


if __name__ == "__main__":
    unittest.main()
