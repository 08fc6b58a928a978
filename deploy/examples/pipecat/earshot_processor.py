"""Earshot as a processor of Pipecat: it hears what the user says while they speak, and the tools that it finds take effect
when it is said. What it asks and replies is spoken; else the transcript goes on to the model, which is told what happened.
"""

import asyncio
import json
import uuid

import websockets
from pipecat.frames.frames import (
    CancelFrame,
    EndFrame,
    InterimTranscriptionFrame,
    LLMMessagesAppendFrame,
    TranscriptionFrame,
    TTSSpeakFrame,
    UserStartedSpeakingFrame,
)
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

HEADERS = "additional_headers" if int(websockets.__version__.split(".")[0]) >= 14 else "extra_headers"


class EarshotSocket:
    """A session of Earshot over one WebSocket, which is opened again when it is needed."""

    def __init__(self, url, key, told):
        self._url, self._key, self._told = url.replace("http", "ws", 1) + "/socket", key, told
        self._after, self._waiting, self._socket, self._reading = "", {}, None, None
        self._opening = asyncio.Lock()

    async def ask(self, request, **rest):
        """Asks for an operation, by its name over NATS, and returns its answer: status and body."""
        socket = await self._open()
        asked = {"id": uuid.uuid4().hex, "request": request, **rest}
        self._waiting[asked["id"]] = answer = asyncio.get_running_loop().create_future()
        await socket.send(json.dumps(asked))
        return await answer

    async def _open(self):
        async with self._opening:
            if self._reading is None or self._reading.done():
                self._socket = await websockets.connect(
                    f"{self._url}?lastEventId={self._after}", max_size=None, **{HEADERS: {"Authorization": f"Bearer {self._key}"}}
                )
                self._reading = asyncio.create_task(self._read(self._socket))
            return self._socket

    async def _read(self, socket):
        try:
            async for text in socket:
                frame = json.loads(text)
                self._after = frame.get("lastEventId", self._after)
                if "event" not in frame:
                    self._waiting.pop(frame["id"]).set_result(frame)
                elif frame["event"] not in ("open", "alive"):
                    await self._told(frame["event"], frame["data"])
        except websockets.ConnectionClosed:
            pass
        finally:
            for answer in self._waiting.values():
                answer.set_exception(ConnectionError("the socket was closed"))
            self._waiting.clear()

    async def close(self):
        if self._socket is not None:
            await self._socket.close()


class EarshotProcessor(FrameProcessor):
    """Stands behind the recognizer, before the aggregator of the user's context.

    url is that of the session, as http://127.0.0.1:8080/v1/apps/house/sessions/s1, and key one of the app with the scopes
    messages and triggers.
    """

    def __init__(self, url, key, **options):
        super().__init__(**options)
        self._earshot = EarshotSocket(url, key, self.on_earshot_event)
        self._message_id = None  # of what is being said
        self._settling = []  # triggers that may still be taken back
        self._tasks = set()

    async def on_earshot_event(self, event, data):
        """Is called with each event of the session: a result that comes later, a trigger of a button."""

    async def agent_said(self, text):
        """Puts what the agent's model has said into the history: a yes to it is none to a question of before."""
        await self._try("message", body={"actor": "agent", "text": text})

    async def process_frame(self, frame, direction):
        await super().process_frame(frame, direction)
        if isinstance(frame, UserStartedSpeakingFrame):  # what has not settled is taken back
            for trigger in self._settling:
                self._soon("cancel", triggerId=trigger)
            self._settling = []
        elif isinstance(frame, InterimTranscriptionFrame) and frame.text.strip():
            self._message_id = self._message_id or uuid.uuid4().hex
            self._soon("message", body={"messageId": self._message_id, "actor": "user", "text": frame.text, "final": False})
        elif isinstance(frame, TranscriptionFrame) and frame.text.strip():
            if await self._decided(frame.text):
                return  # it has been answered
        elif isinstance(frame, (EndFrame, CancelFrame)):
            await self._earshot.close()
        await self.push_frame(frame, direction)

    async def _decided(self, text):
        body = {"messageId": self._message_id or uuid.uuid4().hex, "actor": "user", "text": text, "final": True}
        self._message_id = None
        for _ in range(3):  # under the same id, so that it counts once
            answer = await self._try("message", body=body)
            if answer["status"] < 500:
                break
        if answer["status"] != 200:
            return False  # the pipeline goes on without Earshot
        said = answer["body"]
        self._settling += [match["triggerId"] for match in said["matches"] if match["state"] == "pending" and "dueAt" in match]
        questions = [match["question"] for match in said["matches"] if "question" in match]
        words = said["reply"] or next(iter(questions + [one["ask"] for one in said["rejected"] if "ask" in one]), None)
        if words:
            await self.push_frame(TTSSpeakFrame(words if isinstance(words, str) else json.dumps(words)), FrameDirection.DOWNSTREAM)
        if words or said["skipResponse"]:
            return True
        told = [f"{match['name']} {json.dumps(match['values'])}: {match['state']}" for match in said["matches"]]
        told += [f"{trigger['name']}: taken back" for trigger in said.get("retracted", [])]
        if told:
            happened = {"role": "system", "content": "The user's words set this off:\n" + "\n".join(told)}
            await self.push_frame(LLMMessagesAppendFrame([happened], run_llm=False), FrameDirection.DOWNSTREAM)
        return False

    def _soon(self, request, **rest):
        task = asyncio.create_task(self._try(request, **rest))
        self._tasks.add(task)  # which would else be collected
        task.add_done_callback(self._tasks.discard)

    async def _try(self, request, **rest):
        try:
            return await self._earshot.ask(request, **rest)
        except (OSError, websockets.WebSocketException):
            return {"status": 503}  # the message that decides is sent again
