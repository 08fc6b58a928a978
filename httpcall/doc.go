// Package httpcall delivers effects over HTTP: webhook calls of the URL of a tool that
// fired, requests of http tools to the sources of their app, and calls of the tools of MCP
// servers.
//
// Caller is an effect.Deliverer. One Deliver is one attempt, and goes one way: the app is
// looked up and the call bounded in time (caller.go); the request is prepared and signed
// (request.go), from a tool's URL and its templates (url.go, template.go) or from an http
// tool (tool.go), with its credentials (credentials.go); a token is requested where it
// needs one (tokens.go); the host must have room (limiter.go); the request is sent
// (exchange.go) to an address that may be called (guard), and the answer, redacted
// (redactor.go), becomes the outcome (failure.go). When the next attempt is due is for the
// ledger to say. The call of an MCP server's tool (mcp.go) is several requests, which
// mcpclient makes; all of them go the same way out (mcp_way.go), and their end is judged in the
// same way (mcp_outcome.go).
//
// What it promises:
//
//   - Every attempt of a call carries one webhook-id and Idempotency-Key, so that the
//     endpoint can tell a repeat from a new call.
//   - A call whose credentials cannot be obtained is not made. It is never made without.
//   - No connection is opened to an address that the operator's policy keeps closed,
//     whatever name led there; token requests go through the same transport. Redirects
//     are not followed and no proxy is used.
//   - Values reach the path, the query and the body of a request, and those headers
//     of an http tool that are parameters, each escaped for where it stands, and nothing
//     else.
//   - No outcome and no log line holds a credential, also where the endpoint sends it
//     back.
//
// What it does not promise is that a call is made once: an answer may be lost, and
// then the call is made again unless the tool is marked as not idempotent.
package httpcall
