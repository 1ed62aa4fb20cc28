"""tensorflow-serving-api: the stubs that TensorFlow Serving's own users call."""

import grpc
import numpy as np

from served import ServedCase
from tfs_messages import make_ndarray, tensor_pb2, types_pb2
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_management_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)


def content(array, dtype):
    """A TensorProto with `tensor_content`, as tf.make_tensor_proto writes arrays."""
    proto = tensor_pb2.TensorProto(dtype=dtype, tensor_content=array.tobytes())
    for size in array.shape:
        proto.tensor_shape.dim.add().size = size
    return proto


def values(array):
    """A TensorProto with `float_val`, as it writes lists."""
    proto = tensor_pb2.TensorProto(dtype=types_pb2.DT_FLOAT, float_val=array.ravel().tolist())
    for size in array.shape:
        proto.tensor_shape.dim.add().size = size
    return proto


class ServingApi(ServedCase):
    def setUp(self):
        channel = grpc.insecure_channel(self.server.grpc)
        self.addCleanup(channel.close)
        self.predictions = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        self.models = model_service_pb2_grpc.ModelServiceStub(channel)

    def test_predict_with_every_encoding(self):
        a = np.arange(8, dtype=np.float32).reshape(2, 4)
        for encode in (values, lambda array: content(array, types_pb2.DT_FLOAT)):
            request = predict_pb2.PredictRequest()
            request.model_spec.name = "add"
            request.inputs["a"].CopyFrom(encode(a))
            request.inputs["b"].CopyFrom(encode(a))
            answer = self.predictions.Predict(request, timeout=30)
            np.testing.assert_array_equal(make_ndarray(answer.outputs["sum"]), a + a)
            self.assertEqual(answer.model_spec.version.value, 1)

    def test_output_filter_and_version(self):
        request = predict_pb2.PredictRequest()
        request.model_spec.name = "versions"
        request.model_spec.version.value = 10
        request.inputs["x"].CopyFrom(values(np.ones(2, np.float32)))
        request.output_filter.append("y")
        answer = self.predictions.Predict(request, timeout=30)
        np.testing.assert_array_equal(make_ndarray(answer.outputs["y"]), [10, 10])

    def test_metadata(self):
        request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
        request.model_spec.name = "add"
        answer = self.predictions.GetModelMetadata(request, timeout=30)
        signatures = get_model_metadata_pb2.SignatureDefMap()
        self.assertTrue(answer.metadata["signature_def"].Unpack(signatures))
        signature = signatures.signature_def["serving_default"]
        self.assertEqual(set(signature.inputs), {"a", "b"})
        self.assertEqual([d.size for d in signature.inputs["a"].tensor_shape.dim], [-1, 4])

    def test_status_and_reload(self):
        request = get_model_status_pb2.GetModelStatusRequest()
        request.model_spec.name = "versions"
        answer = self.models.GetModelStatus(request, timeout=30)
        served = [s.version for s in answer.model_version_status if s.state == 30]
        self.assertEqual(served, [10])
        reload = model_management_pb2.ReloadConfigRequest()
        self.assertEqual(self.models.HandleReloadConfigRequest(reload, timeout=30).status.error_code, 0)

    def test_codes(self):
        request = predict_pb2.PredictRequest()
        request.model_spec.name = "nothing"
        with self.assertRaises(grpc.RpcError) as caught:
            self.predictions.Predict(request, timeout=30)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.NOT_FOUND)
        request.model_spec.name = "add"
        with self.assertRaises(grpc.RpcError) as caught:
            self.predictions.Predict(request, timeout=30)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
