// OpenAI's client with the Responses API, which takes Earshot for its model:
//
//   npm ci && node responses.mjs http://127.0.0.1:8080/v1/apps/APP "$KEY"
import OpenAI from 'openai';

const [app, apiKey] = process.argv.slice(2);
const input = 'a table on Friday';
const clock = { type: 'function', name: 'clock', parameters: { type: 'object', properties: {} }, strict: false };

// Heard, and no more: the model's host keeps the response, and the conversation goes on from it.
const heard = new OpenAI({ baseURL: `${app}/sessions/heard/openai/v1`, apiKey });
const first = await heard.responses.create({ model: 'scripted', input, instructions: 'Be kind.' });
const second = await heard.responses.create({ model: 'scripted', input: 'thank you', previous_response_id: first.id });
console.log('heard:', first.output_text, '|', second.output_text, '|', (await heard.models.retrieve('scripted')).id);

const refused = await new OpenAI({ baseURL: `${app}/openai/v1`, apiKey: 'wrong' }).responses.create({ model: 'scripted', input }).catch((error) => error);
console.log('refused:', refused.status, refused.code);
const nowhere = await heard.responses.retrieve(first.id).catch((error) => error);
console.log('not served:', nowhere.status, nowhere.code);

// Acted upon: once whole, once as a stream, each with a tool of the client's own, whose result goes on from the response.
const acted = (session) => new OpenAI({ baseURL: `${app}acting/sessions/${session}/openai/v1`, apiKey });
async function answer(client, ask) {
  const called = await ask(client, { model: 'scripted', input, tools: [clock] });
  const outputs = called.output.filter((item) => item.type === 'function_call').map((item) => ({ type: 'function_call_output', call_id: item.call_id, output: 'noon' }));
  const last = await ask(client, { model: 'scripted', input: outputs, tools: [clock], previous_response_id: called.id });
  return [called.output.map((item) => item.name ?? item.type).join(' '), last.output_text, called.tools.map((tool) => tool.name).join(' '), called.usage.total_tokens].join(' | ');
}
console.log('whole:', await answer(acted('whole'), (client, body) => client.responses.create(body)));

let text = '';
const streamed = await answer(acted('streamed'), async (client, body) => {
  const stream = client.responses.stream(body);
  for await (const event of stream) if (event.type === 'response.output_text.delta') text += event.delta;
  return await stream.finalResponse();
});
console.log('streamed:', streamed, '|', text);
