"""A server with an application that pyvespa built, for the tests that feed and search with it."""

from vespa.application import Vespa

from served import ServedCase, Stead, free_port


class VespaCase(ServedCase):
    """One server of the application `package()` with documents of the type `music`; each test begins without any."""

    @classmethod
    def start(cls):
        port = free_port()
        server = Stead("serve", "--data", cls.folder, "--deploy_port", str(port), *cls.arguments)
        target = "/application/v2/tenant/default/prepareandactivate"
        kind = {"Content-Type": "application/zip"}
        package = cls.package().to_zip().getvalue()
        status, _, body = server.request_to(f"127.0.0.1:{port}", "POST", target, package, kind)
        if status != 200:
            server.stop()
            raise RuntimeError(body)
        return server

    @staticmethod
    def package():
        """The application."""
        raise NotImplementedError

    def setUp(self):
        host, port = self.server.rest.split(":")
        self.app = Vespa(url=f"http://{host}", port=int(port))
        self.app.delete_all_docs("music_content", "music", namespace="ns")
