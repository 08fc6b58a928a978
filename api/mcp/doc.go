// Package mcp serves the tools of an app, or of a session, to agents by the Model Context
// Protocol: revision 2026-07-28, which knows no sessions, and by initialize the two before.
//
// A call of a tool is a direct trigger with the source agent. What takes longer than the
// tool's request may take, and what waits for a subscriber's answer, for a yes or for values,
// is a task (the extension io.modelcontextprotocol/tasks): its id is that of the trigger, so
// the ledger keeps it, on every replica and through every crash.
//
// The official Go SDK speaks the protocol: the handshake, discovery, and the refusal of
// whatever is not plainly right. What is asked for all the time, and has to cost as little as
// the REST call beside it (tools/list, tools/call, tasks/…, subscriptions/listen), is answered
// here once it is known to be right: the SDK makes a connection of its own, and some 400 kB of
// garbage, for each request.
package mcp
