// The tools of a session for the official client of MCP, in the revision that it finds and in the
// one before. A new repository is heard of, and the user is asked for what a call lacks.
//
//   node mcp.mjs http://127.0.0.1:8080/v1/apps/clinic sessions/s1 "$KEY" "$ADMIN_KEY"
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const [app, session, key, adminKey] = process.argv.slice(2);

// What a user would say to a form.
const says = { day: 'Monday', confirm: true };

async function connected(options) {
  const client = new Client({ name: 'clinic', version: '1.0.0' }, { ...options, capabilities: { elicitation: { form: {} } } });
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    const fields = Object.keys(params.requestedSchema.properties);
    console.log('asked:', params.message);
    return { action: 'accept', content: Object.fromEntries(fields.map((field) => [field, says[field]])) };
  });
  const requestInit = { headers: { Authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${app}/${session}/mcp`), { requestInit }));
  const { tools } = await client.listTools();
  console.log(client.getNegotiatedProtocolVersion(), tools.map((tool) => tool.name).join(' '));
  return client;
}

const textOf = (result) => result.content[0].text;

const told = Promise.withResolvers();
const newest = await connected({
  versionNegotiation: { mode: 'auto' },
  listChanged: { tools: { onChanged: (fault, tools) => (fault ? told.reject(fault) : told.resolve(tools)) } },
});
console.log('booked:', JSON.stringify((await newest.callTool({ name: 'book', arguments: { day: 'Friday' } })).structuredContent));
console.log('booked:', textOf(await newest.callTool({ name: 'book', arguments: {} })));
console.log('cancelled:', textOf(await newest.callTool({ name: 'cancel', arguments: {} })));
const wrong = await newest.callTool({ name: 'book', arguments: { day: 'Sunday' } });
console.log('wrong:', wrong.isError, textOf(wrong));
await fetch(`${app}/repositories/late`, {
  method: 'PUT',
  headers: { Authorization: `Bearer ${adminKey}`, 'Content-Type': 'application/json' },
  body: JSON.stringify({ tools: [{ name: 'latecomer' }] }),
});
console.log('changed:', (await told.promise).map((tool) => tool.name).join(' '));
await newest.close();

const before = await connected({});
console.log('booked:', textOf(await before.callTool({ name: 'book', arguments: { day: 'Friday' } })));
await before.close();
