"""make_weights.py FILE MEGABYTES: a package with an array of so many megabytes, which `weights.total()` adds up."""

import sys

import numpy as np
from stead_package import PackageExporter

SOURCE = '''
import stead_package_importer

def total():
    values = stead_package_importer.load_pickle("weights_data", "values.pkl")
    return float(values.sum())
'''


def main() -> None:
    file, megabytes = sys.argv[1], int(sys.argv[2])
    with PackageExporter(file) as exporter:
        exporter.extern("numpy.**")
        exporter.save_source_string("weights", SOURCE, is_package=False)
        values = np.arange(megabytes * 250_000, dtype=np.float32)
        exporter.save_pickle("weights_data", "values.pkl", values)


main()
