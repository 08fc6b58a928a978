// The tools of a session for LangChain.
//
//   node langchain.mjs http://127.0.0.1:8080/v1/apps/clinic/sessions/s1/mcp "$KEY"
import { MultiServerMCPClient } from '@langchain/mcp-adapters';

const [url, key] = process.argv.slice(2);
const client = new MultiServerMCPClient({
  mcpServers: { clinic: { transport: 'http', url, headers: { Authorization: `Bearer ${key}` } } },
});
const tools = await client.getTools();
console.log('tools:', tools.map((tool) => tool.name).join(' '));
const result = await tools.find((tool) => tool.name === 'book').invoke({ day: 'Friday' });
console.log('booked:', result.text ?? result);
await client.close();
