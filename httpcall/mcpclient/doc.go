// Package mcpclient speaks to MCP servers over Streamable HTTP: it lists their tools and calls
// them, whichever revision of the protocol they are of. What goes over the wire is sent by a
// http.RoundTripper of the caller, who thereby decides which addresses are reached and with
// which credentials.
//
// Nothing that a server answers is taken on trust. Answers, lists and their pages are bounded,
// a stream ends with the call that it is for, redirects are not followed, nothing is answered
// to a server that asks something itself, and numbers keep the digits that were sent. A session
// is used by one call at a time, so that an answer that breaks it breaks no other call.
package mcpclient
