"""The client of Earshot: what users say sets off tools.

    from earshot import Client

    with Client("http://127.0.0.1:8080", app="clinic") as clinic:
        answer = clinic.session("s1").say("I want an appointment on Friday")
        for match in answer["matches"]:
            print(match["name"], match["values"])

Client and Session wait; AsyncClient and AsyncSession are the same with await. Answers are those of the service,
whose types are in earshot.types.
"""

from . import types
from ._async import AsyncClient, AsyncFollowed, AsyncSession
from ._sync import Client, Followed, Session
from ._version import VERSION as __version__
from ._wire import EarshotError, NoAnswer, Problem, Said

__all__ = ["AsyncClient", "AsyncFollowed", "AsyncSession", "Client", "EarshotError", "Followed", "NoAnswer", "Problem", "Said", "Session", "__version__", "types"]
