// An agent of the shop: gives the money for an order back, and has a report made. It sees two tools, which find and call
// all others. A slow call is a task: it outlives the replica that makes it, and the agent goes on at the next URL.
//
//   EARSHOT_KEY=KEY node agent.mjs yes http://127.0.0.1:8080/v1/apps/shop/sessions/s1/mcp [URL of another replica]
import { randomUUID } from 'node:crypto';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { withTasks } from '../../clients/agents/tasks.mjs';

const [says, ...replicas] = process.argv.slice(2);

// The client asks for one URL alone, which is that of the first replica: any other is as good.
let at = 0;
async function fetchAnywhere(_, init) {
  for (let tries = 1; ; tries++) {
    try {
      return await fetch(`${replicas[at]}?tools=search`, init);
    } catch (fault) {
      if (init.signal?.aborted || tries === replicas.length) throw fault;
      at = (at + 1) % replicas.length;
    }
  }
}

const client = new Client({ name: 'shop', version: '1.0.0' }, { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: 'auto' } });
client.setRequestHandler('elicitation/create', async ({ params }) => {
  console.log('asked:', params.message);
  return { action: 'accept', content: { confirm: says === 'yes' } }; // a user's answer, in an agent of yours
});
const requestInit = { headers: { Authorization: `Bearer ${process.env.EARSHOT_KEY}` } };
await client.connect(withTasks(new StreamableHTTPClientTransport(new URL(replicas[0]), { requestInit, fetch: fetchAnywhere })));
console.log('sees:', (await client.listTools()).tools.map((tool) => tool.name).join(' '));

/** Finds the tool for what is to be done, and calls it. A model would choose among what is found, and give the values. */
async function does(query, values) {
  const found = await client.callTool({ name: 'search_tools', arguments: { query } });
  const [{ name }] = found.structuredContent.tools;
  const id = randomUUID(); // of the trigger and its task: the same call under the same id is made once
  console.log('calls:', name, id);
  const call = { name: 'call_tool', arguments: { name, arguments: values }, _meta: { 'earshot/triggerId': id } };
  const onprogress = ({ progress, message }) => console.log(`${name} ${progress}: ${message}`);
  const result = await client.callTool(call, { onprogress, timeout: 3_600_000 });
  console.log(`${name}:`, result.content[0].text);
  return !result.isError;
}

if (await does('give the money for an order back', { order: 'A-17' })) await does('report the inventory', {});
await client.close();
