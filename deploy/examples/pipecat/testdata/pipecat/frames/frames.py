"""Frames of Pipecat by their names, with the fields that the example uses."""

from dataclasses import dataclass


class Frame:
    pass


class EndFrame(Frame):
    pass


class CancelFrame(Frame):
    pass


class UserStartedSpeakingFrame(Frame):
    pass


@dataclass
class TextFrame(Frame):
    text: str


@dataclass
class TranscriptionFrame(TextFrame):
    user_id: str
    timestamp: str


@dataclass
class InterimTranscriptionFrame(TextFrame):
    user_id: str
    timestamp: str


@dataclass
class TTSSpeakFrame(Frame):
    text: str


@dataclass
class LLMMessagesAppendFrame(Frame):
    messages: list
    run_llm: bool
