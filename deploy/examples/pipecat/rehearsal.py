"""A conversation without a microphone: the processor in a pipeline of two, with frames that are made here."""

import asyncio
import os
import sys

from earshot_processor import EarshotProcessor
from pipecat.frames.frames import EndFrame, InterimTranscriptionFrame, LLMMessagesAppendFrame, TranscriptionFrame, TTSSpeakFrame, UserStartedSpeakingFrame
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor


delivered, seen, news = set(), set(), asyncio.Event()  # tools that the model knows as delivered, and those whose event came


class Earshot(EarshotProcessor):
    async def on_earshot_event(self, event, data):
        if event in ("tool.trigger", "tool.cancelled"):
            print("event:", event, data["name"], data.get("reason", ""))
        if event == "tool.trigger":
            seen.add(data["name"])
            news.set()


class Rest(FrameProcessor):
    """What stands behind it: the model and the voice."""

    async def process_frame(self, frame, direction):
        await super().process_frame(frame, direction)
        if isinstance(frame, TTSSpeakFrame):
            print("speaks:", frame.text)
        elif isinstance(frame, LLMMessagesAppendFrame):
            known = frame.messages[0]["content"].split("\n")[1:]
            print("the model knows:", *known)
            delivered.update(line.split()[0] for line in known if line.endswith(": delivered"))
        elif isinstance(frame, TranscriptionFrame):
            print("the model hears:", frame.text)


async def main():
    earshot = Earshot(os.environ["EARSHOT_URL"] + "/v1/apps/clinic/sessions/pipecat", os.environ["EARSHOT_KEY"])
    earshot.link(Rest())
    for text in sys.argv[1:]:
        words = text.split()
        frames = [UserStartedSpeakingFrame()]
        frames += [InterimTranscriptionFrame(" ".join(words[:n]), "ada", "") for n in range(1, len(words))]
        for frame in frames + [TranscriptionFrame(text, "ada", "")]:
            await earshot.process_frame(frame, FrameDirection.DOWNSTREAM)
    while delivered - seen:  # an event may come after the answer
        news.clear()
        await news.wait()
    await earshot.process_frame(EndFrame(), FrameDirection.DOWNSTREAM)
    print("closed")


asyncio.run(main())
