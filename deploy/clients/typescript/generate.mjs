// Writes src/schema.ts, the types of the service's bodies and events:
//
//   node generate.mjs openapi.json asyncapi.json src/schema.ts
//
// The documents are /openapi.json and /asyncapi.json of a running service. What the client does
// not use is left out: routes that do not speak JSON, and the many refusals, which are Problem one and all.
import { readFile, writeFile } from 'node:fs/promises';
import openapiTS, { astToString } from 'openapi-typescript';

const [openapi, asyncapi, target] = process.argv.slice(2);
const document = JSON.parse(await readFile(openapi, 'utf8'));
const events = JSON.parse(await readFile(asyncapi, 'utf8'));

// shorten leaves out what is for readers of the reference.
function shorten(part) {
  delete part.headers;
  for (const content of Object.values(part.content ?? {})) {
    delete content.example;
    delete content.examples;
  }
}

const used = (path) => path.startsWith('/v1/') && !/\/(mcp|openai)\b/.test(path);
document.paths = Object.fromEntries(Object.entries(document.paths).filter(([path]) => used(path)));
for (const path of Object.values(document.paths)) {
  for (const operation of Object.values(path)) {
    for (const [status, response] of Object.entries(operation.responses ?? {})) {
      if (status >= '300') delete operation.responses[status];
      shorten(response);
    }
    operation.responses.default = { $ref: '#/components/responses/Refused' };
    shorten(operation.requestBody ?? {});
  }
}
for (const [name, response] of Object.entries(document.components.responses)) {
  if (response.content?.['application/problem+json']) delete document.components.responses[name];
  shorten(response);
}
document.components.responses.Refused = { description: 'Refused.', content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } } };
delete document.components.securitySchemes;

// The payloads of events, under names of their own, and which of them an event has.
const schemas = document.components.schemas;
const named = (ref) => `#/components/schemas/Event${ref.split('/').at(-1)}`;
const asked = new Set(Object.values(events.operations).filter((one) => one.reply).map((one) => one.channel.$ref.split('/').at(-1)));
const told = Object.entries(events.channels).filter(([name, channel]) => channel.address && !asked.has(name)).map(([, channel]) => channel);
const payloads = new Set();
function refer(part) {
  if (typeof part === 'string' && part.startsWith('#/components/')) {
    const [, , kind, name] = part.split('/');
    if (kind === 'schemas' && payloads.has(name)) return;
    if (kind === 'schemas') payloads.add(name);
    refer(events.components[kind][name]);
  } else if (part !== null && typeof part === 'object') Object.values(part).forEach(refer);
}
told.forEach((channel) => refer(channel.messages));
for (const [name, schema] of Object.entries(events.components.schemas)) {
  if (name === 'Headers' || !payloads.has(name)) continue; // the first is of NATS alone
  schemas[`Event${name}`] = JSON.parse(JSON.stringify(schema), (key, value) => (key === '$ref' ? named(value) : value));
}
const kinds = {};
for (const channel of told) {
  const [first, second] = channel.address.split('.');
  if (first !== 'tool' && first !== 'chat') continue;
  const [message] = Object.values(channel.messages);
  const { payload } = events.components.messages[message.$ref.split('/').at(-1)];
  kinds[`${first}.${second}`] = { description: channel.description, $ref: named(payload.$ref) };
}
schemas.Events = { type: 'object', description: 'The payload of each kind of event.', properties: kinds, required: Object.keys(kinds) };

// An object of which nothing is said has anything in it.
function open(schema) {
  if (Array.isArray(schema)) schema.forEach(open);
  if (schema === null || typeof schema !== 'object' || Array.isArray(schema)) return;
  if ([schema.type].flat().includes('object') && !schema.properties) schema.additionalProperties ??= true;
  Object.values(schema).forEach(open);
}
Object.values(schemas).forEach(open);

// An order of their own, so that a route which moves changes nothing here.
const written = astToString(await openapiTS(document, { alphabetize: true }));
await writeFile(target, `// Written by generate.mjs from /openapi.json and /asyncapi.json. Do not edit.\n${written}`);
