// Slow calls with the official client of MCP. Without tasks it waits, and hears of the progress, in both revisions. With
// them, by tasks.mjs: a slow call, a call that asks first, one that lacks two values,
// and one that waits for an answer and is given up.
//
//   node mcp-tasks.mjs http://127.0.0.1:8080/v1/apps/clinic sessions/s1 "$KEY" http://127.0.0.1:9090/release
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { withTasks } from './tasks.mjs';

const [app, session, key, release] = process.argv.slice(2);
const says = { day: 'Monday', hour: 9, confirm: true }; // what a user would say to a form

const requestInit = { headers: { Authorization: `Bearer ${key}` } };
const transport = () => new StreamableHTTPClientTransport(new URL(`${app}/${session}/mcp`), { requestInit });
const textOf = (result) => result.content[0].text;

// The endpoint of report answers when it is told to: when the client has heard of its call.
async function report(client) {
  const told = [];
  const onprogress = ({ progress, message }) => {
    if (told.push(progress) === 4) fetch(release, { method: 'POST' });
    if (told.length === 1) console.log('hears:', message);
  };
  const result = await client.callTool({ name: 'report', arguments: {} }, { onprogress, timeout: 120_000 });
  console.log('report:', textOf(result), '|', told.slice(0, 4).join(' '));
}

for (const versionNegotiation of [{ mode: 'auto' }, undefined]) {
  const plain = new Client({ name: 'clinic', version: '1.0.0' }, { versionNegotiation });
  await plain.connect(transport());
  console.log(plain.getNegotiatedProtocolVersion());
  await report(plain);
  await plain.close();
}

const client = new Client({ name: 'clinic', version: '1.0.0' }, { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: 'auto' } });
client.setRequestHandler('elicitation/create', async ({ params }) => {
  console.log('asked:', params.message);
  const fields = Object.keys(params.requestedSchema.properties);
  return { action: 'accept', content: Object.fromEntries(fields.map((field) => [field, says[field]])) };
});
await client.connect(withTasks(transport()));

await report(client);
console.log('cancel:', textOf(await client.callTool({ name: 'cancel', arguments: { day: 'Friday' } })));
console.log('move:', textOf(await client.callTool({ name: 'move', arguments: {} })));

const givenUp = new AbortController();
const reason = await client.callTool({ name: 'measure', arguments: {} }, { signal: givenUp.signal, onprogress: () => givenUp.abort('no more') }).catch((fault) => fault.message);
let state;
for (let tries = 0; tries < 200 && state !== 'failed'; tries++) {
  await new Promise((later) => setTimeout(later, 50));
  state = (await (await fetch(`${app}/triggers?name=measure`, requestInit)).json()).items[0].state;
}
console.log('measure:', reason, '|', state);
await client.close();
