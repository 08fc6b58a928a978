"""Writes what of the client is not written by hand:

    python generate.py openapi.json asyncapi.json src/earshot

types.py are the bodies and events, from /openapi.json and /asyncapi.json of a running service;
_sync.py is _async.py without async and await.
"""

from __future__ import annotations

import json
import keyword
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

HEAD = '''"""The bodies and events of the service. Written by generate.py: do not edit."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, TypedDict, Union
'''

# What is asked of the service in other ways than by this client.
LEFT = {"ChatRequest", "ModelAnswer", "OpenAIError", "RpcRequest", "RpcResponse"}


class Types:
    """Collects a TypedDict for each object."""

    def __init__(self) -> None:
        self.classes: list[str] = []

    def of(self, schema: dict[str, Any], name: str) -> str:
        """The type of a schema; an object in it gets that name."""
        if "$ref" in schema:
            return str(schema["$ref"].rsplit("/", 1)[1])
        for several in ("anyOf", "oneOf"):
            if several in schema:
                return self.union([self.of(one, f"{name}{i or ''}") for i, one in enumerate(schema[several])])
        if "enum" in schema or "const" in schema:
            return f"Literal[{', '.join(repr(one) for one in schema.get('enum', [schema.get('const')]))}]"
        kinds = schema.get("type", [])
        return self.union([self.one(kind, schema, name) for kind in ([kinds] if isinstance(kinds, str) else kinds)] or ["Any"])

    def one(self, kind: str, schema: dict[str, Any], name: str) -> str:
        if kind == "array":
            return f"List[{self.of(schema.get('items', {}), name + 'Item')}]"
        if kind == "object":
            return self.object(schema, name)
        return {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}[kind]

    def object(self, schema: dict[str, Any], name: str) -> str:
        if "properties" in schema:
            self.define(name, schema)
            return name
        more = schema.get("additionalProperties")
        return f"Dict[str, {self.of(more, name + 'Value') if isinstance(more, dict) else 'Any'}]"

    @staticmethod
    def union(types: list[str]) -> str:
        distinct = list(dict.fromkeys(types))
        return "Any" if "Any" in distinct else distinct[0] if len(distinct) == 1 else f"Union[{', '.join(distinct)}]"

    def define(self, name: str, schema: dict[str, Any]) -> None:
        required = set(schema.get("required", []))
        # A name of its own for each object within an object.
        typed = {key: (self.of(of, name + key[0].upper() + key[1:]), of.get("description", "")) for key, of in sorted(schema["properties"].items())}
        always = {key: one for key, one in typed.items() if key in required}
        sometimes = {key: one for key, one in typed.items() if key not in required}
        said = schema.get("description", "")
        if always and sometimes:
            self.write(f"_{name}", "TypedDict", "", always)
            self.write(name, f"_{name}, total=False", said, sometimes)
        else:
            self.write(name, "TypedDict" if always else "TypedDict, total=False", said, typed)

    def write(self, name: str, base: str, said: str, fields: dict[str, tuple[str, str]]) -> None:
        plain = {key: one for key, one in fields.items() if key.isidentifier() and not keyword.iskeyword(key)}
        if len(plain) < len(fields):  # keys that are no names, as "from", stand in a base of their own
            odd = ", ".join(f'"{key}": "{kind}"' for key, (kind, _) in fields.items() if key not in plain)
            total = ", total=False" if "total=False" in base else ""
            self.classes.append(f'_{name}Odd = TypedDict("_{name}Odd", {{{odd}}}{total})')
            base = f"_{name}Odd" + (f", {base}" if not base.startswith("TypedDict") else total)
        lines = [f"class {name}({base}):"]
        if said:
            lines.append(textwrap.fill(f'"""{said}"""', 110, initial_indent="    ", subsequent_indent="    "))
        for key, (kind, description) in plain.items():
            if description:
                lines.append(textwrap.fill(description, 110, initial_indent="    # ", subsequent_indent="    # "))
            lines.append(f"    {key}: {kind}")
        if len(lines) == 1:
            lines.append("    pass")
        self.classes.append("\n".join(lines))


def prefixed(schema: Any) -> Any:
    """The same with references to the schemas of events."""
    if isinstance(schema, dict):
        return {key: f"#/Event{value.rsplit('/', 1)[1]}" if key == "$ref" else prefixed(value) for key, value in schema.items()}
    return [prefixed(one) for one in schema] if isinstance(schema, list) else schema


def told(asyncapi: dict[str, Any]) -> list[dict[str, Any]]:
    """The channels of what is told, and not asked for."""
    asked = {operation["channel"]["$ref"].rsplit("/", 1)[1] for operation in asyncapi["operations"].values() if "reply" in operation}
    return [channel for name, channel in asyncapi["channels"].items() if channel["address"] and name not in asked]


def referred(asyncapi: dict[str, Any], part: Any, found: set[str]) -> set[str]:
    """The schemas that a part of the description refers to."""
    if isinstance(part, str) and part.startswith("#/components/"):
        _, _, kind, name = part.split("/")
        if kind == "schemas" and name in found:
            return found
        found.update([name] if kind == "schemas" else [])
        return referred(asyncapi, asyncapi["components"][kind][name], found)
    for one in part.values() if isinstance(part, dict) else part if isinstance(part, list) else []:
        referred(asyncapi, one, found)
    return found


def types(openapi: dict[str, Any], asyncapi: dict[str, Any]) -> str:
    payloads = referred(asyncapi, [channel["messages"] for channel in told(asyncapi)], set())
    schemas = {name: schema for name, schema in openapi["components"]["schemas"].items() if name not in LEFT}
    schemas.update({f"Event{name}": prefixed(schema) for name, schema in asyncapi["components"]["schemas"].items() if name in payloads and name != "Headers"})  # those are of NATS alone
    found, aliases = Types(), []
    for name, schema in sorted(schemas.items()):
        if "properties" in schema:
            found.define(name, schema)
        else:
            aliases.append(f"{name} = {found.of(schema, name + 'Object')}")
    kinds = []
    for channel in told(asyncapi):
        kind = ".".join(channel["address"].split(".")[:2])
        if re.match(r"(tool|chat)\.\w+$", kind):
            message = next(iter(channel["messages"].values()))["$ref"].rsplit("/", 1)[1]
            payload = asyncapi["components"]["messages"][message]["payload"]["$ref"].rsplit("/", 1)[1]
            name = "".join(part.capitalize() for part in kind.split("."))
            kinds.append(name)
            fields = {"id": ("str", "Goes on behind this event, where it is given as after."), "kind": (f'Literal["{kind}"]', ""), "data": (f"Event{payload}", "")}
            found.write(name, "TypedDict", channel["description"], fields)
    event = f"# An event: its kind tells which payload its data is.\nEvent = Union[{', '.join(sorted(kinds))}]"
    return "\n\n".join([HEAD, "\n".join(aliases), "\n\n\n".join(found.classes), event]) + "\n"


# What is another word where nothing waits.
WORDS = {
    "async def": "def", "async with": "with", "async for": "for", "await ": "", "AsyncClient": "Client", "AsyncSession": "Session", "AsyncFollowed": "Followed",
    "AsyncIterator": "Iterator", "AsyncScope": "Scope", "__aenter__": "__enter__", "__aexit__": "__exit__", "__aiter__": "__iter__", "aclose": "close", "aread": "read",
    "aiter_bytes": "iter_bytes", "aiter_lines": "iter_lines", "asyncio.sleep": "time.sleep", "import asyncio": "import time",
}


def synchronous(text: str) -> str:
    for word, instead in WORDS.items():
        text = text.replace(word, instead)
    return "# Written by generate.py from _async.py: do not edit.\n" + text


if __name__ == "__main__":
    openapi, asyncapi, folder = (Path(argument) for argument in sys.argv[1:])
    (folder / "types.py").write_text(types(json.loads(openapi.read_text()), json.loads(asyncapi.read_text())))
    (folder / "_sync.py").write_text(synchronous((folder / "_async.py").read_text()))
