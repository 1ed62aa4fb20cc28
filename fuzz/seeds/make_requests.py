"""Makes the seeds of the targets that read requests: python make_requests.py (needs nothing but Python)."""

import base64
import hashlib
import hmac
import json as js
import pathlib
import struct

here = pathlib.Path(__file__).parent


def save(target, name, data):
    folder = here / target
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)


def kserve(name, json, rest=b""):
    save("kserve_json", name, struct.pack("<H", len(json)) + json + rest)


kserve(
    "flat",
    b'{"id":"7","inputs":[{"name":"x","shape":[2,1],"datatype":"FP32","data":[1,-2.5e-3]}],"outputs":[{"name":"x"}]}',
)
kserve(
    "nested",
    b'{"inputs":[{"name":"x","data":[[1],[2]],"shape":[2,1],"datatype":"INT64"}],'
    b'"parameters":{"sequence_id":7,"sequence_start":true}}',
)
kserve("strings", b'{"inputs":[{"name":"s","shape":[2],"datatype":"BYTES","data":["a","\\u00e9\\n"]}]}')
kserve(
    "binary",
    b'{"inputs":[{"name":"x","shape":[1],"datatype":"FP32","parameters":{"binary_data_size":4}}],'
    b'"parameters":{"binary_data_output":true}}',
    b"\0\0\x60\x40",
)
kserve(
    "classes",
    b'{"inputs":[{"name":"x","shape":[1,3],"datatype":"FP16","data":[1,3,2]}],'
    b'"outputs":[{"name":"x","parameters":{"classification":2}}]}',
)

# The first byte picks the model.
save("tfs_json", "row", b'\x00{"instances":[[1,2],[3,4]]}')
save("tfs_json", "column", b'\x00{"inputs":{"x":[[NaN],[-Infinity]]}}')
save(
    "tfs_json",
    "named",
    b'\xff{"signature_name":"s","instances":[{"x":1,"n":2,"s":{"b64":"YQ=="}},{"n":3,"s":"b","x":4}]}',
)
save("tfs_json", "bytes", b'\x05{"inputs":["a",{"b64":"/w=="}]}')


def varint(n):
    out = b""
    while True:
        out += bytes([(n & 127) | (128 if n > 127 else 0)])
        n >>= 7
        if not n:
            return out


def field(number, data):
    """A length-delimited field."""
    return varint(number << 3 | 2) + varint(len(data)) + data


half = b"\0\0\x60\x40"  # 3.5
tensor = field(1, b"x") + field(2, b"FP32") + field(3, b"\x01\x01")
parameter = field(4, field(1, b"sequence_id") + field(2, b"\x10\x05"))
save("infer_proto", "raw", field(1, b"m") + field(5, tensor) + field(7, half))
save("infer_proto", "contents", field(1, b"m") + field(3, b"7") + parameter + field(5, tensor + field(5, field(6, half))))
listed = b"\x08\x01" + field(2, field(2, b"\x08\x02")) + field(5, half)
save("infer_proto", "float_val", field(1, field(1, b"m")) + field(2, field(1, b"x") + field(2, listed)))
content = b"\x08\x01" + field(2, field(2, b"\x08\x01")) + field(4, half)
save("infer_proto", "content", field(1, field(1, b"m")) + field(2, field(1, b"x") + field(2, content)))


save("embeddings", "text", b'{"inputs":"a text","role":"query","normalize":true,"dimensions":2}')
save("embeddings", "tensors", b'{"inputs":["a","b"],"embedder":"e","type":"tensor<float>(x[2])","truncate":true}')
save("embeddings", "openai", b'{"model":"e","input":[[1,2],[3]],"encoding_format":"base64","user":"u","input_type":"document"}')
save("embeddings", "openai_text", b'{"model":"e","input":"a","encoding_format":"float","dimensions":1}')

save("evaluation_request", "models", b"/\n\n\n")
save("evaluation_request", "get", b"/m/f%20g/eval\na=%7B%7Bx%3A0%7D%3A1%7D&missing-value=-1&format.tensors=long\n\n")
save("evaluation_request", "form", b"/m/eval\n\napplication/x-www-form-urlencoded\na=[1,2]&b=x+y")
save("evaluation_request", "json", b'/m/eval\na=1\napplication/json; charset=utf-8\n{"b":[[1,2]],"missing-value":0,"format.tensors":"hex"}')


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


secret = bytes(range(32))
key_set = js.dumps({"keys": [{"kty": "oct", "kid": "k", "alg": "HS256", "use": "sig", "k": base64url(secret).decode()}]})
claims = {"iss": "i", "sub": "s", "exp": 4e9, "nbf": 0, "roles": ["read", "shop:write"]}
message = b".".join(base64url(js.dumps(part).encode()) for part in ({"alg": "HS256", "kid": "k"}, claims))
signature = base64url(hmac.new(secret, message, hashlib.sha256).digest())
of_file = b"0123456789abcdef0123"
entries = b"""[[tokens]]
name = "a"
token = "0123456789abcdef0123"
roles = ["read", "shop:write"]
expires = 2027-01-31T01:00:00+01:00
[[tokens]]
name = "b"
sha256 = "%s"
roles = ["admin"]
""" % hashlib.sha256(b"another token of it").hexdigest().encode()
ed25519 = b'{"keys":[{"kty":"OKP","crv":"Ed25519","x":"%s"},' % base64url(bytes(range(32)))
points = b'{"kty":"EC","crv":"P-256","x":"%s","y":"%s"}]}' % (base64url(bytes(32)), base64url(secret))
save("credentials", "jwt", message + b"." + signature + b"\n" + key_set.encode() + b"\n")
save("credentials", "token", of_file + b"\n\n" + entries)
save("credentials", "hash", b"another token of it\n" + ed25519 + points + b"\n" + entries)
