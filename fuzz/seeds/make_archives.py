"""Seeds of the target package_archive: a small package as zip, stored and deflated, and as tar.gz in two dialects."""

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

FOLDER = Path(__file__).parent / "package_archive"
LONG = "search/query-profiles/" + "long" * 30 + ".xml"
FILES = {
    "services.xml": b'<services version="1.0"><container id="c" version="1.0"><search/></container></services>',
    "hosts.xml": b'<hosts><host name="localhost"><alias>node</alias></host></hosts>',
    LONG: b'<query-profile id="default"><field name="hits">3</field></query-profile>',
    ".vespaignore": b"*.md\n",
    "application/empty": b"",
}


def zipped(method):
    to = io.BytesIO()
    with zipfile.ZipFile(to, "w", method) as archive:
        for name, contents in FILES.items():
            archive.writestr(zipfile.ZipInfo(name), contents, method)
    return to.getvalue()


def tarred(dialect):
    to = io.BytesIO()
    with tarfile.open(fileobj=to, mode="w", format=dialect) as archive:
        for name, contents in FILES.items():
            member = tarfile.TarInfo(name)
            member.size = len(contents)
            archive.addfile(member, io.BytesIO(contents))
    return gzip.compress(to.getvalue(), mtime=0)


SEEDS = {
    "stored.zip": zipped(zipfile.ZIP_STORED),
    "deflated.zip": zipped(zipfile.ZIP_DEFLATED),
    "gnu.tar.gz": tarred(tarfile.GNU_FORMAT),
    "pax.tar.gz": tarred(tarfile.PAX_FORMAT),
}

FOLDER.mkdir(exist_ok=True)
for name, contents in SEEDS.items():
    (FOLDER / name).write_bytes(contents)
