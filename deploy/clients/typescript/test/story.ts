// A request for an appointment, from the tools to what came of it, as a back-end and a front-end
// live it with the client. clients_test.go runs it beside a service:
//
//   EARSHOT_URL   the service        EARSHOT_KEY      its admin key
//   DESK_URL      takes the calls    EARSHOT_TROUBLE  the service behind a network that fails
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defineTool, Earshot, NoAnswer, Problem, type Event, type Schemas, type Values } from '@earshot/client';

const { EARSHOT_URL = '', EARSHOT_KEY = '', DESK_URL = '', EARSHOT_TROUBLE = '' } = process.env;
const app = 'clinic-typescript';

const appointment = defineTool({
  name: 'request-for-appointment',
  description: 'User needs an appointment',
  parameters: {
    type: 'object', required: ['day'],
    properties: {
      day: { type: 'string', description: 'wished day', enum: ['Monday', 'Friday'] },
      desk: { type: 'integer', default: 1 },
      note: { type: 'string' },
    },
  },
  examples: ['I want an appointment', 'Can I come in on [Monday](day)?'],
  url: DESK_URL,
});
const call = defineTool({
  name: 'call-a-nurse', description: 'User needs a nurse', examples: ['call a nurse'], answer: { within: '1m' }, request: { timeout: '1m' },
  schema: [{ parameter: 'room', type: 'integer', required: true, ask: 'Which room?' }, { parameter: 'loud', type: 'boolean' }],
});
const refund = defineTool({ name: 'refund', description: 'Pay back', confirm: 'always', parameters: [{ name: 'order', type: 'string', description: 'its number' }] });
const light = defineTool({ name: 'light', description: 'Turn on the light', settle: '60s' });
const away = defineTool({ name: 'away', description: 'Call somebody who is away', url: 'http://127.0.0.1:9/nobody' });

const backEnd = new Earshot({ url: EARSHOT_URL, app, token: EARSHOT_KEY });
await backEnd.put({ name: 'Clinic', settings: { chatEvents: true } });
await backEnd.putTools('booking', [appointment, call, refund, light, away]);

/** What a page does to begin: it gets a token of its session from its back-end. */
const frontEnd = (session: string, more = {}) =>
  new Earshot({ url: EARSHOT_URL, app, token: async () => (await backEnd.session(session).token()).token, ...more }).session(session);

/** The first of events that fits. */
async function first<K extends Event['kind']>(events: AsyncIterable<Event>, kind: K): Promise<Event<K>> {
  for await (const event of events) if (event.kind === kind) return event as Event<K>;
  throw new Error(`no ${kind}`);
}

test('a user asks for an appointment', async () => {
  const visit = frontEnd('story');
  const fired: Values<typeof appointment>[] = [];
  const day: string[] = [];
  const off = visit.onTrigger(appointment, (values) => {
    day.push(values.day);
    fired.push(values);
  });
  const done = new Promise<Schemas['EventResult']>((resolve) => visit.on('tool.result', resolve));

  const asked = await visit.say('I want an appointment');
  assert.deepEqual(asked.matches, []);
  assert.deepEqual(asked.rejected[0]?.missing, ['day']);
  assert.equal((await visit.get()).open?.[0]?.name, 'request-for-appointment');

  const given = await visit.say('on Friday, please');
  assert.equal(given.matches[0]?.name, 'request-for-appointment');
  assert.deepEqual(given.matches[0]?.call?.result, { booked: 'Friday' });

  const result = await done;
  assert.equal(result.ok, true);
  assert.deepEqual(result.result, { booked: 'Friday' });
  assert.deepEqual(fired, [{ day: 'Friday', desk: 1 }]);
  assert.deepEqual(day, ['Friday']);

  const record = await backEnd.call('get', '/v1/apps/{appId}/triggers/{triggerId}', { path: { triggerId: given.matches[0]?.triggerId ?? '' } });
  assert.equal(record.state, 'delivered');
  const said: string[] = [];
  for await (const entry of visit.messages()) said.push(entry.text);
  assert.deepEqual(said, ['I want an appointment', 'on Friday, please']);
  off();
  visit.stop();
});

test('a page does what a tool asks for, and says what came of it', async () => {
  const visit = frontEnd('answers');
  visit.onTrigger(call, ({ room, loud }) => {
    if (room > 9) throw new Error('there is no such room');
    return { called: room, loud: loud ?? false };
  });
  assert.equal((await visit.say('call a nurse')).ask, 'Which room?');
  const fired = await visit.say('7');
  assert.deepEqual(fired.matches[0]?.call?.result, { called: 7, loud: false });
  const failed = await visit.fire(call, { room: 10 });
  assert.deepEqual([failed.call?.state, failed.call?.error], ['failed', 'there is no such room']);
  visit.stop();
});

test('a user says yes or no to what waits', async () => {
  const visit = frontEnd('confirms');
  const events = visit.events({ after: '0' });
  const first1 = await visit.fire(refund, { order: 'A1' });
  const waiting = await first(events, 'tool.confirm');
  assert.equal(waiting.data.triggerId, first1.triggerId);
  await assert.rejects(visit.confirm({ ...waiting.data, digest: 'forged' }), (error) => error instanceof Problem && error.kind === 'conflict' && error.code === 'digest_differs');
  assert.notEqual((await visit.confirm(waiting.data)).state, 'confirming');
  assert.equal((await visit.deny(await visit.fire('refund', { order: 'B2' }))).state, 'cancelled');
  assert.equal((await visit.cancel(await visit.fire(light, {}))).state, 'cancelled');
  const pending = await backEnd.fire(away, {});
  assert.deepEqual([await backEnd.retry(pending), await backEnd.retry(pending.triggerId)].map(({ triggerId, state }) => [triggerId, state]), Array(2).fill([pending.triggerId, 'pending']));
  await visit.draft('I want an appointment on', { messageId: 'm1' });
  const draft = await visit.draft('I want an appointment on Monday', { messageId: 'm1' });
  assert.equal(draft.matches[0]?.state, 'draft');
  const decided = await visit.commit('m1');
  assert.equal(decided.matches[0]?.values['day'], 'Monday');
  await assert.rejects(visit.withdraw('m1'), (error) => error instanceof Problem && error.matches[0]?.triggerId === decided.matches[0]?.triggerId);
  const mondays: string[] = [];
  for await (const { name, values } of backEnd.list('/v1/apps/{appId}/sessions/{sessionId}/triggers', { path: { sessionId: 'confirms' }, query: { limit: 1 } })) {
    mondays.push(`${name} ${values['order'] ?? values['day'] ?? ''}`);
  }
  assert.deepEqual(mondays, ['request-for-appointment Monday', 'light ', 'refund B2', 'refund A1']);
  await backEnd.session('confirms').put({ user: 'ada l.', metadata: { tier: 'gold' } });
  await assert.rejects(backEnd.session('confirms').say('hello', { user: 'bob' }), (error) => error instanceof Problem && error.code === 'session_of_another_user');
  const hers: string[] = [];
  for await (const { sessionId, user } of backEnd.list('/v1/apps/{appId}/sessions', { query: { user: 'ada l.', metadata: { tier: 'gold' }, limit: 1 } })) hers.push(`${sessionId} ${user}`);
  assert.deepEqual(hers, ['confirms ada l.']);
  assert.equal((await backEnd.call('delete', '/v1/apps/{appId}/users/{user}', { path: { user: 'ada l.' }, query: { erase: true } })).erased, 1);
});

test('a refusal says all that is wrong, and where', async () => {
  await assert.rejects(backEnd.putTools('faulty', [{ name: 'a b', url: 'ftp://x' }]), (error) => {
    assert(error instanceof Problem);
    assert.deepEqual(error.errors.map((fault) => fault.pointer), ['/tools/0/name', '/tools/0/url']);
    assert.match(error.message, /^400 .*\/tools\/0\/name: /);
    return error.kind === 'invalid';
  });
  const other = new Earshot({ url: EARSHOT_URL, app, token: (await backEnd.session('own').token()).token }).session('other');
  await assert.rejects(other.say('hello'), (error) => error instanceof Problem && error.kind === 'forbidden');
  const faults: unknown[] = [];
  const lost = new Earshot({ url: EARSHOT_URL, app, token: 'none', onError: (error) => faults.push(error) }).session('s');
  lost.on('tool.trigger', () => {});
  await assert.rejects(lost.following(), (error) => error instanceof Problem && error.kind === 'unauthorized');
  assert.equal(faults.length, 1);
  await assert.rejects(new Earshot({ url: 'http://127.0.0.1:1', app, retries: 1 }).session('s').say('hello'), (error) => error instanceof NoAnswer && /: no answer: ./.test(error.message));
  assert.throws(() => new Earshot({ url: 'earshot', app }), /is not the URL of a service/);
  assert.throws(() => new Earshot({ url: EARSHOT_URL, app: '' }), /app is missing/);
});

test('everything has a method', async () => {
  const all = new Earshot({ url: EARSHOT_URL, app: 'typescript-all', token: EARSHOT_KEY });
  const ids = async <T>(list: AsyncIterable<T>, id: (one: T) => string | undefined) => {
    const found: (string | undefined)[] = [];
    for await (const one of list) found.push(id(one));
    return found;
  };
  await all.put({ name: 'All' });
  assert.equal((await all.patch({ name: 'Some' })).name, 'Some');
  assert.equal((await all.get()).name, 'Some');
  const made = await all.makeKey({ name: 'desk', scopes: ['messages'] });
  assert.deepEqual(await ids(all.keys(), (key) => key.keyId), [made.keyId]);
  await all.revokeKey(made.keyId);
  const { items: acts } = await all.call('get', '/v1/apps/{appId}/audit', { query: { action: 'key.revoke' } });
  assert.deepEqual([acts[0]?.by, acts[0]?.keyId], ['admin', made.keyId]);
  assert.ok(await all.whoAmI());
  assert.ok((await ids(all.apps(), (one) => one.appId)).includes('typescript-all'));
  const visit = all.session('all');
  const { repositoryId = '' } = await visit.putRepository({ tools: [light] });
  await visit.patchRepository(repositoryId, [{ name: 'double', answer: { within: '1m' }, request: { timeout: '1m' }, schema: [{ parameter: 'n', type: 'integer' }] }]);
  assert.equal((await visit.repository(repositoryId)).tools?.length, 2);
  assert.deepEqual(await ids(visit.repositories(), (one) => one.repositoryId), [repositoryId]);
  assert.ok((await visit.findTools('light')).some((tool) => tool.name === 'light'));
  assert.equal((await ids(visit.tools(), (tool) => tool.name)).length, 2);

  const ends = new AbortController();
  const served = all.serve({ double: ({ n }, trigger) => (trigger.name === 'double' ? Number(n) * 2 : undefined) }, { signal: ends.signal, after: '0' });
  const events = await visit.follow();
  const fired = await visit.fire('double', { n: 21 });
  assert.equal(fired.call?.result, 42);
  assert.equal((await first(events, 'tool.trigger')).data.name, 'double');
  ends.abort();
  await served;
  assert.equal((await visit.trigger(fired.triggerId)).state, 'delivered');
  assert.deepEqual(await ids(visit.triggers({ name: 'double' }), (record) => record.name), ['double']);
  await visit.deleteTool(repositoryId, 'light');
  await visit.deleteRepository(repositoryId);

  const sent = await visit.send('hello', { user: 'ada' });
  assert.equal((await visit.message(sent)).text, 'hello');
  await visit.say('hello again');
  assert.ok(await visit.explain(sent));
  assert.deepEqual(await ids(visit.messages(), (entry) => entry.text), ['hello', 'hello again']);
  assert.deepEqual(await ids(all.sessions({ user: 'ada' }), (one) => one.sessionId), ['all']);
  assert.ok((await ids(visit.export(), () => '')).length > 0);
  assert.ok((await ids(all.exportUser('ada'), () => '')).length > 0);
  assert.equal(await all.eraseUser('ada'), 1);
  await visit.erase();
  await all.delete();
  const nobody = new Earshot({ url: 'http://127.0.0.1:1', app, retries: 1 });
  await assert.rejects(nobody.makeKey({ name: 'x', scopes: ['messages'] }), NoAnswer);
});

test('a token that ends is followed by another one', async () => {
  let asked = 0;
  const token = async () => (asked++ === 0 ? 'has-ended' : (await backEnd.session('renews').token()).token);
  assert.equal((await frontEnd('renews', { token }).say('call a nurse')).ask, 'Which room?');
  assert.equal(asked, 2);

  // A token of one second: the events end with it, and go on with the next.
  let made = 0;
  const renewed = new Promise<void>((resolve) => {
    const visit = frontEnd('renews', {
      token: async () => {
        if (made++ > 0) resolve();
        return (await backEnd.session('renews').token(made === 1 ? '1s' : '1h')).token;
      },
    });
    visit.onTrigger(call, ({ room }) => {
      visit.stop();
      return `called from ${room}`;
    });
  });
  await renewed;
  const fired = await backEnd.session('renews').fire(call, { room: 3 }, { source: 'task' });
  assert.equal(fired.call?.result, 'called from 3');
});

test('what a network loses is said once, and heard once', async () => {
  const visit = frontEnd('trouble', { url: EARSHOT_TROUBLE, silence: 300 });
  const heard: string[] = [];
  let all: (value: unknown) => void;
  const three = new Promise((resolve) => (all = resolve));
  visit.on('chat.message', ({ text }) => {
    if (heard.push(text ?? '') === 3) all(undefined);
  });
  for (const text of ['für Frau Müller 🙂', 'and for Mr Mayer', 'and for me']) await visit.say(text);
  await three;
  assert.deepEqual(heard, ['für Frau Müller 🙂', 'and for Mr Mayer', 'and for me']);
  const fired = await visit.fire(appointment, { day: 'Friday' });
  assert.deepEqual(fired.call?.result, { booked: 'Friday' });
  const stored: string[] = [];
  for await (const { text } of visit.history({ order: 'desc' })) stored.push(text);
  assert.deepEqual(stored, [...heard].reverse());
  visit.stop();
});

test('an event that comes again is handled once, however its stream is written', async () => {
  const fired = JSON.stringify({ id: 't1', name: 'light', values: {} });
  const frame = `id: 7\r\nevent: tool.trigger\r\ndata: ${fired.slice(0, 1)}\r\ndata:${fired.slice(1)}\r\n\r\n`;
  const stream = `retry: 10\rid: 6\r\r: alive\n\n${frame}${frame}event: tool.trigger\ndata: of somebody else\n\nid: 8\nevent: tool.trigger\ndata: ${fired.replace('t1', 't2')}\n\n`;
  const asked: (string | null)[] = [];
  const replay: typeof fetch = async (_, { headers } = {}) => {
    asked.push(new Headers(headers).get('Last-Event-ID'));
    return new Response(stream, { headers: { 'Content-Type': 'text/event-stream' } });
  };
  const told: unknown[] = [];
  const visit = new Earshot({ url: EARSHOT_URL, app, fetch: replay, onError: (error) => told.push(error) }).session('replay');
  const handled: string[] = [];
  await new Promise<void>((resolve) => {
    visit.onTrigger('light', (_, { id }) => {
      handled.push(id);
    });
    const timer = setInterval(() => asked.length > 2 && (clearInterval(timer), resolve()), 20);
  });
  visit.stop();
  assert.deepEqual(handled, ['t1', 't2']);
  assert(told.length > 0, 'what is no JSON is told, and left');
  assert.deepEqual(asked.slice(0, 3), [null, '8', '8']);
});

// What does not compile.
export async function neverCalled(): Promise<void> {
  const visit = frontEnd('never');
  // @ts-expect-error: a tool has no such field.
  defineTool({ name: 'x', descripton: 'y' });
  // @ts-expect-error: no such day.
  await visit.fire(appointment, { day: 'Sunday' });
  // @ts-expect-error: the room is missing.
  await visit.fire(call, { loud: true });
  // @ts-expect-error: no such value.
  visit.onTrigger(call, ({ floor }) => floor);
  // @ts-expect-error: no such kind of event.
  visit.on('tool.fired', () => {});
  // @ts-expect-error: the route wants a trigger.
  await backEnd.call('get', '/v1/apps/{appId}/triggers/{triggerId}');
}
