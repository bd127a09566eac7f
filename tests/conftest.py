"""Which tests run side by side.

Those of the unit tier do as they please. The others are stories, each told in the order of its files by one process,
with a virtual cluster of its own.
"""

from __future__ import annotations

from stories import STORIES, story_of
from xdist.scheduler import LoadScopeScheduling


class _Stories(LoadScopeScheduling):
    """In the order of the collected tests."""

    def __init__(self, config, log):
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid):
        return story_of(nodeid) or nodeid


def pytest_xdist_make_scheduler(config, log):
    return _Stories(config, log) if config.getvalue("dist") == "loadscope" else None


def pytest_collection_modifyitems(items):
    places = {story: place for place, story in enumerate(STORIES)}
    items.sort(key=lambda item: places.get(story_of(item.nodeid), len(places)))
