// Package natstest runs a real NATS server with JetStream for tests, inside the test
// process: on loopback, on a free port, with its files in a directory of the test.
//
// A Server can be stopped and started again on the same port and files, which is how
// tests take the broker away. Stopping is orderly; what a kill of the process leaves
// behind has to be tested against the nats-server program.
package natstest
