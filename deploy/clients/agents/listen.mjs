// An agent of @openai/agents at its defaults, whose model is Earshot: the Responses API, and a tool of its own.
//
//   OPENAI_BASE_URL=http://127.0.0.1:8080/v1/apps/APP/sessions/SESSION/openai/v1 OPENAI_API_KEY="$KEY" node listen.mjs
import { Agent, Runner, tool } from '@openai/agents';
import { z } from 'zod';

let asked = 0;
const clock = tool({ name: 'clock', description: 'The time', parameters: z.object({}), execute: async () => (asked++, 'noon') });
const agent = new Agent({ name: 'desk', instructions: 'Book.', model: 'scripted', tools: [clock] });
const runner = new Runner({ tracingDisabled: true });

const whole = await runner.run(agent, 'a table on Friday');
console.log('whole:', whole.finalOutput, '| own calls:', asked);

const streamed = await runner.run(agent, [...whole.history, { role: 'user', content: 'another table on Monday' }], { stream: true });
let text = '';
for await (const delta of streamed.toTextStream()) text += delta;
await streamed.completed;
console.log('streamed:', text, '|', streamed.finalOutput, '| own calls:', asked);
