// Package clients is where clients that are generated from /openapi.json are tried, as
// people do who write none by hand: golang with oapi-codegen, typescript with
// openapi-typescript and openapi-fetch. Each is generated anew from the document of a
// running service, compiled, and then makes an app, a key and tools, posts a message, reads
// triggers and meets problems. What NATS gets is checked against /asyncapi.json.
//
// everything is the reference server of MCP, whose tools are a source of the service's. chat has
// programs that take the service for their model, by OpenAI's client and by the AI SDK. sermas
// has SERMAS's own client, as npm gives it, and an MQTT client beside it.
//
// Both other folders are beginnings for clients of one's own. golang is a module by itself, so
// that its generator is no part of Earshot's.
package clients
