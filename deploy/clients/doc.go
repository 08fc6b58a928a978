// Package clients is where clients are tried. go is the client for Go, a module by itself that needs the standard
// library alone, and go/langchain has its tools in the types of langchaingo; their tests and examples run beside a
// service. typescript is the client for pages and Node, packed and installed as npm does it, which lives a story
// beside a service and on a page in Chromium, before a network that loses things. python is the client for Python,
// which lives the same story. golang is generated from /openapi.json with oapi-codegen, as people do who write no
// client by hand, and typescript/test/openapi-fetch.ts uses generated types with openapi-fetch: they make an app, a
// key and tools, post a message, read triggers and meet problems. What NATS gets is checked against /asyncapi.json.
//
// everything is the reference server of MCP, whose tools are a source of the service's. chat has
// programs that take the service for their model, by OpenAI's client and by the AI SDK; agents has
// one of OpenAI's agents. sermas has SERMAS's own client, as npm gives it, and an MQTT client beside it.
//
// golang is a module by itself, so that its generator is no part of Earshot's.
package clients
