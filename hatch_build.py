"""The build hook of hatchling: builds the page's assets into wheels and source distributions.

`scripts/assets.py` does the work, and does nothing where the assets are current.
"""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent / "scripts"))

import assets  # the folder was added above


class AssetsHook(BuildHookInterface[Any]):
    """Builds the assets before their files are collected."""

    def dependencies(self) -> list[str]:
        """Return the package that has Node, if the assets must be built and the machine has no Node."""
        return [assets.NODE_PACKAGE] if assets.is_stale() and assets.find_node() is None else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the assets if they are stale. `version` is that of the target, such as `editable`."""
        if assets.is_stale():
            assets.build()
