// Prints the tools that fire, from a durable consumer: what happens while this program is
// away is delivered when it is back. It answers those that wait for an answer.
import { AckPolicy, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";

const connection = await connect({ servers: process.env.NATS_URL, maxReconnectAttempts: -1 });
const durable = "example-js";
const manager = await jetstreamManager(connection);
await manager.consumers.add("EARSHOT", {
  durable_name: durable,
  filter_subject: "tool.trigger.clinic.>",
  ack_policy: AckPolicy.Explicit,
});
const stream = jetstream(connection);
const consumer = await stream.consumers.get("EARSHOT", durable);
const messages = await consumer.consume();
process.on("SIGINT", () => connection.drain());

console.log("subscribed");
for await (const message of messages) {
  const fired = message.json(); // its id is the same on every delivery
  console.log(`${fired.name} in ${fired.sessionId}: ${JSON.stringify(fired.values)}`);
  // The first answer holds, so that a second delivery does no harm.
  if (fired.answer) await stream.publish(fired.answer.subject, JSON.stringify({ ok: true, result: "printed" }));
  message.ack(); // when all is done; what is not acknowledged is delivered again
}
