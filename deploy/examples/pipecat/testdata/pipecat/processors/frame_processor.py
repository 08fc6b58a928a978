"""Pipecat's processor by its names: frames go from one to the next, without Pipecat's queues and tasks."""

from enum import Enum


class FrameDirection(Enum):
    DOWNSTREAM = 1
    UPSTREAM = 2


class FrameProcessor:
    def __init__(self, **options):
        self._after = None

    def link(self, processor):
        self._after = processor

    async def process_frame(self, frame, direction):
        pass

    async def push_frame(self, frame, direction=FrameDirection.DOWNSTREAM):
        if self._after is not None:
            await self._after.process_frame(frame, direction)
