// Package mqtt serves the events of an app over MQTT in WebSockets, as the SERMAS toolkit does:
// its topics, its payloads, at /mqtt on the service's own port. Nothing has to be set up in NATS.
//
// The connections of one app share a broker that knows nothing of any other app, and is fed
// from the app's part of the stream. So no filter, client id or last will of a client reaches
// the events of others. Clients publish nothing.
//
// Messages have quality of service 0, as in SERMAS: who must not miss one subscribes on NATS, or
// resumes a stream of server-sent events. Sessions end with their connections, so that
// it does not matter which replica the next connection meets.
package mqtt
