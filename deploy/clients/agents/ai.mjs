// The tools of a session for the AI SDK.
//
//   node ai.mjs http://127.0.0.1:8080/v1/apps/clinic/sessions/s1/mcp "$KEY"
import { createMCPClient } from '@ai-sdk/mcp';

const [url, key] = process.argv.slice(2);
const client = await createMCPClient({ transport: { type: 'http', url, headers: { Authorization: `Bearer ${key}` } } });
const tools = await client.tools();
console.log('tools:', Object.keys(tools).join(' '));
const result = await tools.book.execute({ day: 'Friday' }, { toolCallId: 'c1', messages: [] });
console.log('booked:', result.content[0].text);
console.log('revision:', client.initializeResult.protocolVersion);
await client.close();
