// Package api is the front of Earshot: REST over HTTP, its description as OpenAPI and
// AsyncAPI, a page for people, and the probes that operators need.
//
// It decides nothing. A handler reads a request, untrusted and bounded, names every
// fault in it at once, asks the store or the engine, and writes what they answer.
// Every error of theirs becomes a problem (RFC 9457) in one function, problemOf.
//
// Each group of routes stands in its own file and lists them in a table; the
// middleware reads the table as well, so that a route cannot forget to check its
// key, its ids or its query parameters.
package api
