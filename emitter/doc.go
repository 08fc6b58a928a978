// Package emitter publishes the events of Earshot on NATS JetStream: it delivers the
// effects of kind event for package trigger.
//
// Delivery is at least once. One attempt is one synchronous publish that waits for
// the acknowledgement of stream EARSHOT, and every attempt of an event carries the
// same Nats-Msg-Id, by which the stream drops what it has seen in the last ten
// minutes. A consumer that must not act twice on an event that was published again
// after a longer time tells it by its ce-id.
//
// The emitter never decides when to try again, and keeps nothing in memory: what is
// not acknowledged stays owed in the ledger. That is why the connection buffers
// nothing while it is down. A message that the client library sent by itself after a
// reconnect could overtake an earlier one of its session.
//
// Messages are CloudEvents 1.0 in binary mode, as the NATS protocol binding of
// CloudEvents describes it.
package emitter
