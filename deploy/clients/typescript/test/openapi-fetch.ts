// The types of the client with openapi-fetch, a small client for any OpenAPI document:
//
//   node built/openapi-fetch.js http://127.0.0.1:8080 "$EARSHOT_ADMIN_KEY"
import createClient from 'openapi-fetch';
import type { components, paths } from '@earshot/client';

const [url, adminKey] = process.argv.slice(2);
if (!url || !adminKey) throw new Error('give the URL of the service and its admin key');

const clientOf = (key: string) => createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${key}` } });
const appId = 'clinic-ts';

// The app, its tool, and a key for a back-end.
const admin = clientOf(adminKey);
const app = await admin.PUT('/v1/apps/{appId}', { params: { path: { appId } }, body: { name: 'Clinic' } });
if (app.error) throw new Error(app.error.detail);

const tool: components['schemas']['Tool'] = {
  name: 'request-for-appointment',
  description: 'User needs an appointment',
  schema: [{ parameter: 'day', type: 'string', description: 'wished day', required: true, allowedValues: ['Monday', 'Tuesday', 'Friday'] }],
  examples: ['I want an appointment', 'Can I come in on Monday?'],
};
const repository = await admin.PUT('/v1/apps/{appId}/repositories/{repositoryId}', {
  params: { path: { appId, repositoryId: 'booking' } },
  body: { tools: [tool] },
});
if (repository.error) throw new Error(repository.error.detail);

const key = await admin.POST('/v1/apps/{appId}/keys', { params: { path: { appId } }, body: { scopes: ['messages', 'triggers'] } });
if (key.error) throw new Error(key.error.detail);

// A message, and what it set off.
const backEnd = clientOf(key.data.key);
const said = await backEnd.POST('/v1/apps/{appId}/sessions/{sessionId}/messages', {
  params: { path: { appId, sessionId: 's1' } },
  body: { actor: 'user', text: 'I want an appointment on Friday' },
});
if (said.error) throw new Error(said.error.detail);
if (!('matches' in said.data)) throw new Error('the message is not decided');

const listed = await backEnd.GET('/v1/apps/{appId}/triggers', { params: { path: { appId }, query: { limit: 10 } } });
if (listed.error) throw new Error(listed.error.detail);
const [first] = listed.data.items;
if (!first || first.triggerId !== said.data.matches[0]?.triggerId) throw new Error(`not as it should be: ${JSON.stringify(listed.data)}`);
const read = await backEnd.GET('/v1/apps/{appId}/triggers/{triggerId}', { params: { path: { appId, triggerId: first.triggerId } } });
console.log('fired', read.data?.name, 'on', read.data?.values.day);

// How faults come back.
const faulty = await backEnd.POST('/v1/apps/{appId}/sessions/{sessionId}/messages', {
  params: { path: { appId, sessionId: 's1' } },
  body: { actor: 'user', text: ' ' },
});
for (const fault of faulty.error?.errors ?? []) console.log('fault at', fault.pointer);
const refused = await backEnd.GET('/v1/apps/{appId}', { params: { path: { appId } } });
console.log('refused:', refused.error?.status);
