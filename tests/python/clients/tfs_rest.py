"""The TensorFlow Serving REST API, with `requests`."""

import json
import os
import shutil

import requests

from served import ServedCase


class Rest(ServedCase):
    def url(self, path):
        return f"http://{self.server.rest}{path}"

    def predict(self, model, body, version=None, status=200):
        where = f"/v1/models/{model}" + (f"/versions/{version}" if version else "")
        answer = requests.post(self.url(f"{where}:predict"), json=body, timeout=30)
        self.assertEqual(answer.status_code, status, answer.text)
        return answer.json()

    def test_row_format(self):
        answer = self.predict("versions", {"instances": [1.0, 2.5]})
        self.assertEqual(answer, {"predictions": [10.0, 25.0]})
        row = {"a": [1, 2, 3, 4], "b": [1, 1, 1, 1]}
        answer = self.predict("add", {"signature_name": "serving_default", "instances": [row, row]})
        self.assertEqual(answer["predictions"][1], {"sum": [2, 3, 4, 5], "difference": [0, 1, 2, 3]})

    def test_column_format(self):
        answer = self.predict("versions", {"inputs": [1.0, 2.5]})
        self.assertEqual(answer, {"outputs": [10.0, 25.0]})
        answer = self.predict("add", {"inputs": {"a": [[1, 2, 3, 4]], "b": [[1, 1, 1, 1]]}})
        self.assertEqual(answer["outputs"]["sum"], [[2, 3, 4, 5]])

    def test_versions(self):
        self.assertEqual(self.predict("versions", {"instances": [1.0]}, version=10)["predictions"], [10.0])
        self.predict("versions", {"instances": [1.0]}, version=3, status=404)

    def test_status_and_metadata(self):
        status = requests.get(self.url("/v1/models/versions"), timeout=30).json()
        served = [v for v in status["model_version_status"] if v["state"] == "AVAILABLE"]
        self.assertEqual([v["version"] for v in served], ["10"])
        self.assertEqual(served[0]["status"], {"error_code": "OK", "error_message": "OK"})
        metadata = requests.get(self.url("/v1/models/add/metadata"), timeout=30).json()
        self.assertEqual(metadata["modelSpec"]["name"], "add")
        signature = metadata["metadata"]["signature_def"]["signatureDef"]["serving_default"]
        self.assertEqual(signature["inputs"]["a"]["dtype"], "DT_FLOAT")

    def test_mistakes_have_the_right_codes(self):
        self.predict("nothing", {"instances": [1.0]}, status=404)
        self.predict("add", {"instances": [{"a": [1, 2, 3, 4]}]}, status=400)
        self.predict("add", {"instances": [{"a": [1, 2], "b": [1, 2]}]}, status=400)
        self.predict("add", {"neither": []}, status=400)
        broken = requests.post(self.url("/v1/models/add:predict"), data="{", timeout=30)
        self.assertEqual(broken.status_code, 412)  # what OpenVINO Model Server answers
        self.assertIn("error", broken.json())

    def test_a_new_version_is_served_after_a_reload(self):
        model = os.path.join(self.repository, "identity_fp64")
        shutil.copytree(os.path.join(model, "1"), os.path.join(model, "2"))
        answer = requests.post(self.url("/v1/config/reload"), timeout=30)
        self.assertIn(answer.status_code, (200, 201))  # the watcher may have been quicker
        status = requests.get(self.url("/v1/models/identity_fp64"), timeout=30).json()
        served = [v["version"] for v in status["model_version_status"] if v["state"] == "AVAILABLE"]
        self.assertEqual(served, ["2"])
        config = requests.get(self.url("/v1/config"), timeout=30).json()
        self.assertIn("add", config)

    def test_metrics(self):
        self.predict("versions", {"instances": [1.0]})
        page = requests.get(self.url("/metrics"), timeout=30)
        self.assertTrue(page.headers["Content-Type"].startswith("text/plain"))
        self.assertIn('ovms_requests_success{api="TensorFlowServing",interface="REST",method="Predict",', page.text)

    def test_numbers_that_json_does_not_have(self):
        body = '{"instances": [NaN, Infinity, -Infinity]}'
        answer = requests.post(self.url("/v1/models/identity_fp32:predict"), data=body, timeout=30)
        self.assertEqual(answer.status_code, 200, answer.text)
        values = json.loads(answer.text)["predictions"]
        self.assertTrue(values[0] != values[0] and values[1:] == [float("inf"), float("-inf")])
