"""Writes all-MiniLM-L6-v2 with weights of 8 bits, as ONNX Runtime's dynamic quantisation makes them.

    python minilm_int8.py MODEL.onnx OUT_DIR
"""

import logging
import os
import sys

from onnxruntime.quantization import QuantType, quantize_dynamic


def main():
    source, out = sys.argv[1:]
    # It recommends a step that is for graphs without shapes.
    logging.getLogger().setLevel(logging.ERROR)
    os.makedirs(out, exist_ok=True)
    quantize_dynamic(source, os.path.join(out, "model.onnx"), weight_type=QuantType.QInt8)


if __name__ == "__main__":
    main()
