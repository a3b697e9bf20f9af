"""Has hatchling put the document of `sbom.py` into each wheel."""

import os
import sys
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))

import sbom  # noqa: E402


class SbomHook(BuildHookInterface):
    """Makes it before a wheel is built, beside the sources, and removes it."""

    def initialize(self, version: str, build_data: dict) -> None:
        self._folder = tempfile.TemporaryDirectory()
        path = Path(self._folder.name) / sbom.FILE_NAME
        date_s = os.environ.get("SOURCE_DATE_EPOCH")
        path.write_bytes(sbom.document(Path(self.root), date_s))
        build_data["sbom_files"].append(str(path))

    def finalize(self, version: str, build_data: dict, artifact_path: str) -> None:
        self._folder.cleanup()
