// The tools of a session for an agent of @openai/agents. The model is none: it calls the first tool
// that it is offered, and says what came of it.
//
//   node openai.mjs http://127.0.0.1:8080/v1/apps/clinic/sessions/s1/mcp "$KEY"
import { Agent, MCPServerStreamableHttp, Runner, Usage } from '@openai/agents';

const [url, key] = process.argv.slice(2);
const server = new MCPServerStreamableHttp({ url, name: 'clinic', requestInit: { headers: { Authorization: `Bearer ${key}` } } });

const saying = (text) => ({ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text }] });
const model = {
  async getResponse({ input, tools }) {
    const result = input.find((item) => item.type === 'function_call_result');
    const call = { type: 'function_call', callId: 'c1', name: tools[0].name, arguments: '{"day":"Friday"}' };
    return { usage: new Usage(), output: [result ? saying(JSON.stringify(result.output)) : call] };
  },
};

await server.connect();
try {
  console.log('tools:', (await server.listTools()).map((tool) => tool.name).join(' '));
  console.log('booked:', (await server.callTool('book', { day: 'Monday' }))[0].text);
  const agent = new Agent({ name: 'clinic', instructions: 'Book.', mcpServers: [server], model });
  const runner = new Runner({ tracingDisabled: true });
  console.log('agent:', (await runner.run(agent, 'I want an appointment on Friday')).finalOutput);
} finally {
  await server.close();
}
