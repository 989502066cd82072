"""Where the samples come from: folders of class folders, lists of files, targets given beside them."""

from pyfastdl.sources.opening import open_source
from pyfastdl.sources.sequences import Samples, Targets
from pyfastdl.sources.source import Source

__all__ = ["Samples", "Source", "Targets", "open_source"]
