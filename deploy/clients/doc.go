// Package clients is where clients are tried. go is the client for Go, a module by itself that needs
// the standard library alone, and go/langchain has its tools in the types of langchaingo; their tests
// and examples run beside a service. The others are generated from /openapi.json, as people do who
// write none by hand: golang with oapi-codegen, typescript with openapi-typescript and
// openapi-fetch. Each is generated anew from the document of a running service, compiled, and then
// makes an app, a key and tools, posts a message, reads triggers and meets problems: golang is there
// to show that the document is good for that. What NATS gets is checked against /asyncapi.json.
//
// everything is the reference server of MCP, whose tools are a source of the service's. chat has
// programs that take the service for their model, by OpenAI's client and by the AI SDK. sermas
// has SERMAS's own client, as npm gives it, and an MQTT client beside it.
//
// golang and typescript are beginnings for clients of one's own. golang is a module by itself, so
// that its generator is no part of Earshot's.
package clients
