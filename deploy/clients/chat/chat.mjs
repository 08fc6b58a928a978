// Chat clients that take Earshot for their model:
//
//   npm ci && node chat.mjs http://127.0.0.1:8080/v1/apps/APP "$KEY"
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { stepCountIs, streamText, tool } from 'ai';
import OpenAI from 'openai';
import { z } from 'zod';

const [app, apiKey] = process.argv.slice(2);

// OpenAI's own client: a stream, which it asks for again by itself where the answer is 500 or
// the connection breaks.
const openai = new OpenAI({ baseURL: `${app}/openai/v1`, apiKey });
const answer = await openai.chat.completions.create({
  model: 'scripted', stream: true, user: 'watched', messages: [{ role: 'user', content: 'a table on Friday' }],
});
let text = '';
for await (const chunk of answer) text += chunk.choices[0]?.delta?.content ?? '';
console.log('openai:', text);

const refused = await new OpenAI({ baseURL: `${app}/openai/v1`, apiKey: 'wrong' }).models.list().catch((error) => error);
console.log('refused:', refused.status, refused.code);

// The AI SDK, with a tool of its own beside those in scope.
const provider = createOpenAICompatible({ name: 'earshot', baseURL: `${app}acting/sessions/acted/openai/v1`, apiKey });
const acted = streamText({
  model: provider('scripted'), prompt: 'a table on Friday', stopWhen: stepCountIs(4),
  tools: { clock: tool({ description: 'The time', inputSchema: z.object({}), execute: async () => 'noon' }) },
});
text = '';
for await (const delta of acted.textStream) text += delta;
const steps = await acted.steps;
console.log('ai:', text, '| own calls:', steps.flatMap((step) => step.toolCalls.map((call) => call.toolName)).join(' '));
