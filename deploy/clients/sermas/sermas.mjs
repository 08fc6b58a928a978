// A day of SERMAS's own client, as it comes from npm, with a service in the place of SERMAS's:
// it signs in by a module, writes tools, says something, hears what that sets off, renews its
// token, and is told of its own app alone.
//
//   node sermas.mjs http://127.0.0.1:8080 clinic avatar "$SECRET" other avatar "$OTHER_SECRET"
import { SermasApiClient } from '@sermas/api-client';
import mqtt from 'mqtt';

const [baseURL, appId, clientId, clientSecret, otherApp, otherId, otherSecret] = process.argv.slice(2);

// quiet is a logger for what goes well.
const said = (text) => console.error(text);
const quiet = { debug() {}, verbose() {}, log() {}, setLogLevels() {}, warn: said, error: said, fatal: said };

// waited gives events one by one to whoever waits for the next of a kind.
const waited = () => {
  const came = [], asked = [];
  return {
    push: (event) => (asked.length ? asked.shift()(event) : came.push(event)),
    next: () => (came.length ? came.shift() : new Promise((resolve) => asked.push(resolve))),
  };
};

// subscribed waits until the broker has taken the client's three subscriptions: one by one at
// first, and all at once when it connects again.
const subscribed = (client, packets = 3) => new Promise((resolve) => {
  let taken = 0;
  const broker = client.getBroker().getClient();
  const count = (packet) => {
    if (packet.cmd === 'suback' && ++taken === packets) {
      broker.off('packetreceive', count);
      resolve();
    }
  };
  broker.on('packetreceive', count);
});

const client = new SermasApiClient({ baseURL, appId, logger: quiet });
const granted = await client.loadToken(clientId, clientSecret, appId);
console.log('signed in:', granted.token_type, granted.expires_in, granted.scope);

const triggered = waited(), changed = waited(), unmatched = waited();
const { dialogue } = client.events;
dialogue.onToolTriggered((event) => event.tool && triggered.push(event)); // its topic has a + that not-matching fits, too
dialogue.onToolChanged(changed.push);
dialogue.onToolNotMatching(unmatched.push);
await subscribed(client);

// everything sees what the broker has for one who asks for all of it.
const other = new SermasApiClient({ baseURL, appId: otherApp, logger: quiet });
await other.loadToken(otherId, otherSecret, otherApp);
const everything = await mqtt.connectAsync(baseURL.replace('http', 'ws') + '/mqtt', { username: other.config.access_token });
const seen = waited();
everything.on('message', (topic) => seen.push(topic));
await everything.subscribeAsync('#');

const tools = client.api.dialogue;
const book = {
  name: 'book', description: 'User wants to book an appointment', skipResponse: true,
  schema: [{ parameter: 'day', type: 'string', description: 'day of the appointment' }, { parameter: 'userId', type: 'string', ignore: true, value: 'u7' }],
};
const repository = { appId, repositoryId: 'desk', options: { triggerOnce: false, exclusive: false }, tools: [book] };
const stored = await tools.setTools({ repositoryId: 'desk', requestBody: { ...repository, sessionId: 's1' } });
console.log('stored:', stored.repositoryId, stored.sessionId, stored.tools[0].name);
let event = await changed.next();
console.log('changed:', event.operation, event.record.repositoryId);

const say = (text) => tools.chatMessage({ appId, sessionId: 's1', requestBody: { appId, actor: 'user', text, language: 'en-GB', gender: '', messageId: '' } });
console.log('said:', await say('I want to book an appointment on Friday'));
event = await triggered.next();
console.log('triggered:', event.appId, event.sessionId, event.name, event.tool.schema.map((p) => `${p.parameter}=${p.value}`).join(' '), 'request' in event.tool);
await say('What a lovely sunset');
event = await unmatched.next();
console.log('not matching:', event.sessionId, event.repositories.join());

for (const message of await tools.getChatHistory({ sessionId: 's1' })) {
  console.log('remembered:', message.role, message.type, message.content);
}

await tools.addTools({ repositoryId: 'desk', requestBody: { ...repository, tools: [{ name: 'hours', description: 'User asks for opening hours' }] } });
event = await changed.next();
console.log('changed:', event.operation, event.record.tools.map((tool) => tool.name).join(' '));
await tools.setTools({ repositoryId: 'desk', requestBody: { ...repository, sessionId: 's2' } });
await client.api.platform.updateAppTools({ appId, requestBody: [book] });

const before = client.config.access_token, again = subscribed(client, 1);
await client.refreshToken();
console.log('renewed:', before !== client.config.access_token);
await again;
await say('I want to book an appointment on Monday');
event = await triggered.next();
console.log('triggered:', event.tool.schema[0].value);

await tools.removeRepository({ repositoryId: 'desk' });
const removals = [];
while (removals.at(-1) !== 'deleted desk') {
  event = await changed.next();
  if (event.operation === 'deleted' && event.sessionId === 's1') continue; // it moved
  removals.push(`${event.operation} ${event.record.repositoryId}`);
}
console.log('removed:', removals.at(-1));

await other.api.dialogue.setTools({ repositoryId: 'own', requestBody: { appId: otherApp, repositoryId: 'own', tools: [book] } });
console.log('another app sees:', await seen.next());

const refused = await tools.setTools({ repositoryId: 'x', requestBody: { ...repository, appId: otherApp, repositoryId: 'x' } }).catch((error) => error);
console.log('refused:', refused.status, refused.body.detail);
const unknown = await client.api.session.createSession({ requestBody: { appId } }).catch((error) => error);
console.log('left out:', unknown.status);
const stranger = await mqtt.connectAsync(baseURL.replace('http', 'ws') + '/mqtt', { username: granted.refresh_token, reconnectPeriod: 0 }).catch((error) => error);
console.log('stranger:', stranger instanceof Error);

await everything.endAsync();
await other.close();
await client.close();
