"""The version of the client, which is that of the service it belongs to."""

VERSION = "0.1.0"
USER_AGENT = f"earshot-python/{VERSION}"
