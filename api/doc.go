// Package api is the HTTP server of Earshot: the REST API, its event streams, and the
// probes that operators need.
//
// It decides nothing. A handler reads a request, untrusted and bounded, names every
// fault in it at once, asks the store or the engine, and writes what they answer.
// Every error of theirs becomes a problem (RFC 9457) in one function, answer.ProblemOf.
//
// A request goes one way: the middleware that New lists, the table of routes, a handler.
// Each group of routes is in its own file and lists them in the table; the middleware
// reads the table as well, so that a route cannot forget to check its key, its ids or its
// query parameters.
package api
