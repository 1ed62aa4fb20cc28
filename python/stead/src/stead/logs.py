"""Records of `logging` as records of stead's log."""

import logging
import sys


class Handler(logging.Handler):
    """Gives records to stead, which writes them with the name of the component and of the logger."""

    def emit(self, record):
        try:
            runtime = sys.modules["_stead_runtime"]
            runtime.log(record.levelno, record.name, self.format(record))
        except Exception:
            self.handleError(record)


def install():
    """Has all records from level INFO on go to stead, once in an interpreter; outside of stead nothing changes."""
    root = logging.getLogger()
    if "_stead_runtime" not in sys.modules or any(isinstance(handler, Handler) for handler in root.handlers):
        return
    root.addHandler(Handler())
    if root.level == logging.WARNING:
        root.setLevel(logging.INFO)
