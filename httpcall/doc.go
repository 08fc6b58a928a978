// Package httpcall delivers calls: it sends what a fired tool owes to an HTTP
// endpoint.
//
// Caller is the effect.Deliverer of that kind. One Deliver is one attempt: the URL
// and the body are filled, the credential is had, the request is signed and sent, and
// the answer becomes an Outcome. When the next attempt is due is the ledger's affair.
//
// There are two kinds: the call of a tool's URL, and the request of an http tool to a
// source of its app. They differ in how the request is made up (prepare.go, tool.go)
// and in nothing behind that.
//
// What it promises:
//
//   - Every attempt of a call carries one webhook-id and Idempotency-Key, so that the
//     endpoint can tell a repeat from a new call.
//   - A call whose credential is not to be had is not made. It is never made without.
//   - No connection is opened to an address that the operator's policy keeps closed,
//     whatever name led there; token requests go through the same transport. Redirects
//     are not followed and no proxy is used.
//   - Values reach the path, the query and the body of a request, and those headers
//     of an http tool that are parameters, escaped for where they stand, and nothing
//     else of it.
//   - No outcome and no log line holds a credential, also where the endpoint sends it
//     back.
//
// What it does not promise is that a call is made once: an answer may be lost, and
// then the call is made again unless the tool is marked as not idempotent.
package httpcall
