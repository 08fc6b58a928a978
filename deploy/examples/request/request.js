// Posts a message over NATS, and prints which tools it sets off. Whoever runs several replicas
// of the service need not know where: NATS hands a request to one of them.
import { ServiceError, Svcm } from "@nats-io/services";
import { connect, errors } from "@nats-io/transport-node";

const connection = await connect({ servers: process.env.NATS_URL });
const services = new Svcm(connection).client({ strategy: "timer", maxWait: 500 });

const found = [];
for await (const one of await services.info("earshot")) found.push(one);
console.log(`${found[0]?.name} ${found[0]?.version} has ${found[0]?.endpoints.map((e) => e.subject).join(", ")}`);

// ask asks until there is an answer. Without one nobody knows what was done: the same messageId
// or triggerId again gets the same answer, and sets nothing off again.
async function ask(subject, body) {
  for (let tries = 1; ; tries++) {
    try {
      const reply = await connection.request(subject, JSON.stringify(body), { timeout: 10_000 });
      if (!ServiceError.isServiceError(reply)) return reply.json();
      const { code, message } = ServiceError.toServiceError(reply);
      if (code !== 503 || tries === 5) throw Object.assign(new Error(message), { code, problem: reply.json() });
      await new Promise((wait) => setTimeout(wait, 1000 * Number(reply.headers.get("Retry-After") || 1)));
    } catch (fault) {
      const lost = fault instanceof errors.TimeoutError || fault instanceof errors.RequestError;
      if (!lost || tries === 5) throw fault;
    }
  }
}

const session = process.argv[2] ?? "s1";
const text = process.argv[3] ?? "I want an appointment on Friday";
for (const time of ["first", "second"]) {
  const answer = await ask(`earshot.v1.message.clinic.${session}`, { messageId: "m1", actor: "user", text });
  for (const match of answer.matches) console.log(`${time} time: ${match.name} ${JSON.stringify(match.values)} ${match.triggerId}`);
}
const fired = await ask(`earshot.v1.trigger.clinic.${session}`, { triggerId: `by-${session}`, name: "book", values: { day: "Monday" }, source: "task" });
console.log(`fired: ${fired.name} ${JSON.stringify(fired.values)}`);
try {
  await ask("earshot.v1.trigger.clinic", { name: "book", values: { day: "Sunday" }, source: "task" });
} catch (fault) {
  console.log(`refused: ${fault.code} ${fault.problem.errors.map((e) => e.pointer).join(", ")}`);
}
let asked = 0, refused = 0;
for await (const one of await services.stats("earshot")) {
  for (const endpoint of one.endpoints) (asked += endpoint.num_requests), (refused += endpoint.num_errors);
}
console.log(`stats: ${asked} asked, ${refused} refused`);
await connection.drain();
