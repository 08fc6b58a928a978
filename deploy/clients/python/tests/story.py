"""A request for an appointment, from the tools to what came of it, and what else the client does.

python_test.go runs it beside a service, for Client and AsyncClient:

    EARSHOT_URL   the service        EARSHOT_KEY      its admin key
    DESK_URL      takes the calls    EARSHOT_TROUBLE  the service behind a network that fails
"""

import asyncio
import os
import threading
import time
import unittest
from typing import Any, Dict, List

from earshot import AsyncClient, Client, NoAnswer, Problem
from earshot.types import EventFired, EventResult, Tool

APP = "clinic-python"
TOOLS: List[Tool] = [
    {
        "name": "request-for-appointment",
        "description": "User needs an appointment",
        "schema": [{"parameter": "day", "type": "string", "required": True, "ask": "Which day suits you?", "allowedValues": ["Monday", "Friday"]}],
        "examples": ["I want an appointment", "Can I come in on [Monday](day)?"],
        "url": os.environ["DESK_URL"],
    },
    {"name": "double", "answer": {"within": "1m"}, "request": {"timeout": "1m"}, "schema": [{"parameter": "n", "type": "integer"}]},
    {"name": "refund", "confirm": "always", "schema": [{"parameter": "order", "type": "string"}]},
    {"name": "light", "settle": "60s"},
    {"name": "away", "url": "http://127.0.0.1:9/nobody"},
]


def setUpModule() -> None:
    with Client(app=APP) as clinic:
        clinic.put({"name": "Clinic", "settings": {"chatEvents": True}})
        clinic.put_tools("booking", TOOLS)


class Story(unittest.TestCase):
    def setUp(self) -> None:
        self.clinic = Client(app=APP)
        self.addCleanup(self.clinic.close)

    def test_a_user_asks_for_an_appointment(self) -> None:
        with Client(app=APP, key=self.clinic.session("story").token("1h")["token"]) as page:
            visit = page.session("story")
            with visit.follow() as events:
                asked = visit.say("I want an appointment")
                self.assertEqual([], asked["matches"])
                self.assertEqual("Which day suits you?", asked["ask"])
                self.assertEqual("request-for-appointment", visit.state()["open"][0]["name"])
                given = visit.say("on Friday, please")
                self.assertEqual({"booked": "Friday"}, given["matches"][0]["call"]["result"])
                fired: List[EventFired] = []
                results: List[EventResult] = []
                for event in events:
                    if event["kind"] == "tool.trigger":
                        fired.append(event["data"])
                    if event["kind"] == "tool.result":
                        results.append(event["data"])
                        break
            self.assertEqual([{"day": "Friday"}], [trigger["values"] for trigger in fired])
            self.assertEqual([{"booked": "Friday"}], [result["result"] for result in results])
            self.assertEqual(["I want an appointment", "on Friday, please"], [entry["text"] for entry in visit.history()])
            with self.assertRaises(Problem) as refused:
                page.session("another").say("hello")
            self.assertEqual("forbidden", refused.exception.kind)
        self.assertEqual("delivered", self.clinic.trigger(given["matches"][0]["triggerId"])["state"])

    def test_a_function_is_a_tool(self) -> None:
        def double(values: Dict[str, Any], trigger: EventFired) -> int:
            self.assertEqual("double", trigger["name"])
            if values["n"] > 2**62:
                raise ValueError("too much")
            return int(values["n"]) * 2

        threading.Thread(target=lambda: Client(app=APP).serve({"double": double}, after="0"), daemon=True).start()
        self.assertEqual(2 * 4611686018427387901, self.clinic.fire("double", {"n": 4611686018427387901})["call"]["result"])
        failed = self.clinic.session("serve").fire("double", {"n": 2**62 + 1})["call"]
        self.assertEqual(("failed", "too much"), (failed["state"], failed["error"]))

    def test_what_waits_is_decided(self) -> None:
        visit = self.clinic.session("decide")
        waits = visit.fire("refund", {"order": "A1"}, source="ui")
        with self.assertRaises(Problem) as refused:
            visit.confirm(waits["triggerId"], "forged")
        self.assertEqual(("conflict", 409, "digest_differs"), (refused.exception.kind, refused.exception.status, refused.exception.code))
        self.assertNotEqual("confirming", visit.confirm(waits["triggerId"], waits["digest"])["state"])
        self.assertEqual("cancelled", visit.deny(visit.fire("refund", {"order": "B2"})["triggerId"])["state"])
        self.assertEqual("cancelled", visit.cancel(visit.fire("light")["triggerId"])["state"])
        pending = self.clinic.fire("away")["triggerId"]
        self.assertEqual((pending, "pending"), (self.clinic.retry(pending)["triggerId"], self.clinic.retry(pending)["state"]))
        visit.draft("Ich möchte einen Termin", message_id="m1", language="de", time_zone="Europe/Berlin", metadata={"line": 2}, id_tokens={"corp": "x"}, explain=True)
        draft = visit.draft("I want an appointment on Monday", message_id="m1")
        self.assertEqual("draft", draft["matches"][0].get("state"))
        self.assertEqual("Monday", visit.commit("m1")["matches"][0]["values"]["day"])
        with self.assertRaises(Problem) as late:
            visit.withdraw("m1")
        self.assertEqual("request-for-appointment", late.exception.matches[0]["name"])
        self.assertEqual(4, len(list(visit.triggers(limit=1))))
        self.assertEqual(["light"], [record["name"] for record in visit.triggers(name="light")])
        self.assertIn("light", [tool["name"] for tool in visit.tools()])
        self.assertEqual([], visit.say("I want an appointment on Monday", dry_run=True)["rejected"])
        visit.put({"user": "ada l.", "metadata": {"tier": "gold"}})
        with self.assertRaises(Problem) as other:
            visit.say("hello", user="bob")
        self.assertEqual("session_of_another_user", other.exception.code)
        self.assertEqual(["ada l."], [one.get("user") for one in self.clinic.sessions(user="ada l.", metadata={"tier": "gold"})])
        self.assertEqual([], list(self.clinic.sessions(metadata={"tier": "silver"})))
        self.assertEqual(1, self.clinic.erase_user("ada l."))
        with self.assertRaises(Problem) as gone:
            visit.state()
        self.assertEqual("missing", gone.exception.kind)

    def test_a_token_that_ended_is_followed_by_another(self) -> None:
        made: List[str] = []

        def renew() -> str:
            made.append("none" if not made else self.clinic.session("renewed").token("3s")["token"])
            return made[-1]

        with Client(app=APP, key=renew) as page:
            visit = page.session("renewed")
            self.assertEqual("Which day suits you?", visit.say("I want an appointment")["ask"])
            self.assertEqual(2, len(made), "the first was refused, and the second is kept")
            with visit.follow() as events:
                time.sleep(4)  # the token ends meanwhile
                self.clinic.session("renewed").fire("refund", {"order": "A1"})
                for event in events:
                    if event["kind"] == "tool.confirm":
                        self.assertEqual("refund", event["data"]["name"])
                        break
            self.assertGreaterEqual(len(made), 3, "the events went on under another token")
        with Client(app=APP, key=lambda: "none") as nobody, self.assertRaises(Problem) as refused:
            nobody.get()
        self.assertEqual("unauthorized", refused.exception.kind)

    def test_everything_has_a_method(self) -> None:
        with Client(app="python-all") as app:
            app.put({"name": "All"})
            self.assertEqual("Some", app.patch({"name": "Some"})["name"])
            self.assertEqual("Some", app.get()["name"])
            made = app.make_key({"name": "desk", "scopes": ["messages"]})
            self.assertEqual([made["keyId"]], [key["keyId"] for key in app.keys()])
            app.revoke_key(made["keyId"])
            self.assertTrue(app.who_am_i())
            self.assertIn("python-all", [one["appId"] for one in app.apps()])
            visit = app.session("all")
            stored = visit.put_repository({"tools": [TOOLS[3]]})
            visit.patch_repository(stored["repositoryId"], [{"name": "lamp", "url": os.environ["DESK_URL"]}])
            self.assertEqual(2, len(visit.repository(stored["repositoryId"])["tools"]))
            visit.delete_tool(stored["repositoryId"], "lamp")
            self.assertEqual([stored["repositoryId"]], [one["repositoryId"] for one in visit.repositories()])
            self.assertEqual(["light"], [tool["name"] for tool in visit.find_tools("light")])
            visit.delete_repository(stored["repositoryId"])
            sent = visit.send("hello", user="ada")
            self.assertEqual("hello", visit.message(sent)["text"])
            visit.say("hello again")
            self.assertTrue(visit.explain(sent))
            self.assertEqual(["hello", "hello again"], [entry["text"] for entry in visit.messages()])
            self.assertTrue(list(visit.export()))
            self.assertTrue(list(app.export_user("ada")))
            self.assertEqual("all", app.call("GET", "/v1/apps/{appId}/sessions/{sessionId}", path={"sessionId": "all"})["sessionId"])
            visit.erase()
            app.delete()

    def test_a_refusal_says_all_that_is_wrong(self) -> None:
        with self.assertRaises(Problem) as refused:
            self.clinic.put_tools("faulty", [{"name": "a b", "url": "ftp://x"}])
        self.assertEqual(["/tools/0/name", "/tools/0/url"], [fault["pointer"] for fault in refused.exception.errors])
        self.assertRegex(str(refused.exception), r"^400 .*/tools/0/name: ")
        with Client("http://127.0.0.1:1", app=APP, retries=1) as nobody, self.assertRaises(NoAnswer):
            nobody.session("s").say("hello")
        with self.assertRaisesRegex(ValueError, "is not the URL of a service"):
            Client("earshot", app=APP)
        self.assertEqual(APP, self.clinic.request("GET", "")["appId"])

    def test_what_a_network_loses_is_said_once_and_heard_once(self) -> None:
        texts = ["für Frau Müller 🙂\u2028", "and for Mr Mayer", "and for me"]
        with Client(os.environ["EARSHOT_TROUBLE"], app=APP, silence=0.3) as troubled:
            visit, heard = troubled.session("trouble"), []
            with visit.follow() as events:
                for text in texts:
                    visit.say(text)
                for event in events:
                    if event["kind"] == "chat.message":
                        heard.append(event["data"]["text"])
                    if len(heard) == len(texts):
                        break
            self.assertEqual(texts, heard)
            self.assertEqual({"booked": "Friday"}, visit.fire("request-for-appointment", {"day": "Friday"})["call"]["result"])
            self.assertEqual(texts, [entry["text"] for entry in visit.history()])


class AsyncStory(unittest.IsolatedAsyncioTestCase):
    async def test_a_user_asks_for_an_appointment(self) -> None:
        async with AsyncClient(app=APP) as clinic:
            visit = clinic.session("async")
            async with visit.follow() as events:
                self.assertEqual("Which day suits you?", (await visit.say("I want an appointment"))["ask"])
                await visit.say("on Friday, please")
                async for event in events:
                    if event["kind"] == "tool.result":
                        self.assertEqual({"booked": "Friday"}, event["data"]["result"])
                        break
            self.assertEqual(2, len([entry async for entry in visit.messages(limit=1)]))

    async def test_a_coroutine_is_a_tool(self) -> None:
        async def double(values: Dict[str, Any]) -> Dict[str, Any]:
            return {"doubled": values["n"] * 2}

        async with AsyncClient(app=APP) as clinic:
            visit = clinic.session("serve-async")
            served = asyncio.create_task(visit.serve({"double": double}, after="0"))
            self.assertEqual({"doubled": 42}, (await visit.fire("double", {"n": 21}))["call"]["result"])
            served.cancel()


def what_does_not_type(clinic: Client) -> None:
    """Never called: mypy, which is strict, wants each of these to be wrong."""
    clinic.put_tools("desk", [{"name": "x", "descripton": "y"}])  # type: ignore[typeddict-item]
    clinic.put_tools("desk", [{"name": "x", "confirm": "sometimes"}])  # type: ignore[typeddict-item]
    clinic.session("s").say("x")["machtes"]  # type: ignore[typeddict-item]
    with clinic.follow() as events:
        for event in events:
            if event["kind"] == "tool.trigger":
                event["data"]["missing"]  # type: ignore[typeddict-item]
            if event["kind"] == "tool.rejected":
                event["data"]["missing"]


if __name__ == "__main__":
    unittest.main()
