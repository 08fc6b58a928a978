import type { Event, Events, Following } from './events.js';
import { type Http, join } from './http.js';
import type { components } from './schema.js';
import { type Handler, nameOf, newId, Scope } from './scope.js';
import type { ToolDefinition } from './tools.js';

type Schemas = components['schemas'];

/** What a message set off, and the first things that a front-end looks for in it. */
export type Said = Schemas['Answer'] & {
  /** What to ask the user next, where a call lacks values and its parameter has a question. */
  ask: string | undefined;
  /** The reply for people: a text as it is, a result as JSON; undefined for none. */
  text: string | undefined;
};

/** What may be said of a message beside its text. */
export type Saying = Partial<Pick<Schemas['Message'], 'messageId' | 'actor' | 'language' | 'timeZone' | 'metadata' | 'user'>> & {
  /** ID tokens of the user, by the names of the app's authServices. */
  idTokens?: Record<string, string>;
  /** Nothing is stored, and nothing fires. */
  dryRun?: boolean;
  /** The answer says why it came out so. */
  explain?: boolean;
  signal?: AbortSignal;
};

/** Events that are followed: what ends that, and what came of the first attempt, undefined where it went well. */
interface Stream {
  end: AbortController;
  stands: Promise<unknown>;
}

/** How many triggers are remembered, so that one that comes again is not handled again. */
const remembered = 1_000;

/** One conversation of an app. Making one asks nobody, and a session begins with its first use. */
export class Session extends Scope {
  readonly id: string;
  readonly #handlers = new Map<string, Set<(event: Event) => unknown>>();
  readonly #seen = new Set<string>();
  #stream: Stream | undefined;
  #after = '';

  constructor(http: Http, id: string) {
    super(http, join('sessions', id));
    this.id = id;
  }

  /**
   * Posts what a user says, and waits for what it sets off. It has an id, under which it counts once, however often
   * the request has to be sent.
   */
  async say(text: string, saying: Saying = {}): Promise<Said> {
    await this.#followed();
    return said(await this.http.send<Schemas['Answer']>(this.#message({ text, ...saying })));
  }

  /** Matches what a user has said so far, as an interim transcript: nothing fires. The same messageId with another text replaces it. */
  async draft(text: string, saying: Saying & { messageId: string }): Promise<Said> {
    return said(await this.http.send<Schemas['Answer']>(this.#message({ text, ...saying }, { final: false })));
  }

  /** Decides a draft. */
  async commit(messageId: string): Promise<Said> {
    await this.#followed();
    return said(await this.http.send<Schemas['Answer']>({ method: 'POST', path: `${this.path}${join('messages', messageId)}/commit`, repeatable: true }));
  }

  /** Takes a draft back. Of a message that was decided it is a Problem of kind `conflict`, with its triggers. */
  async withdraw(messageId: string): Promise<void> {
    await this.http.send({ method: 'DELETE', path: `${this.path}${join('messages', messageId)}`, repeatable: true });
  }

  #message({ idTokens = {}, dryRun, explain, signal, ...message }: Saying & { text: string }, more: object = {}) {
    const headers = Object.fromEntries(Object.entries(idTokens).map(([service, token]) => [`${service}_token`, token]));
    return {
      method: 'POST', path: `${this.path}/messages`, query: { dryRun, explain }, headers, signal, repeatable: true,
      body: { messageId: newId(), actor: 'user', ...message, ...more },
    };
  }

  /** Posts a message and waits only until it is stored; what it sets off comes as events. The message's id. */
  async send(text: string, saying: Omit<Saying, 'dryRun' | 'explain'> = {}): Promise<string> {
    await this.#followed();
    const posted = this.#message({ text, ...saying });
    const taken = await this.http.send<Schemas['Accepted']>({ ...posted, headers: { ...posted.headers, Prefer: 'respond-async' } });
    return taken.messageId;
  }

  /** Reads one message with what came of it. */
  async message(messageId: string): Promise<Schemas['Entry']> {
    return this.request('GET', `${this.path}${join('messages', messageId)}`);
  }

  /** Why a message came out as it did. */
  async explain(messageId: string): Promise<Schemas['Explanation']> {
    return this.request('GET', `${this.path}${join('messages', messageId)}/explain`);
  }

  /** All that is kept of the session, line by line. For back-ends. */
  export(): AsyncGenerator<unknown> {
    return this.http.lines(`${this.path}/export`);
  }

  /** The history, oldest first unless it is asked for otherwise, page after page. */
  messages({ order, since }: { order?: 'asc' | 'desc'; since?: Date } = {}): AsyncGenerator<Schemas['Entry']> {
    return this.pages('/messages', { order, since: since?.toISOString() });
  }

  /** @deprecated It is called `messages` now. */
  async *history({ order, since }: { order?: 'asc' | 'desc'; since?: Date } = {}): AsyncGenerator<Schemas['Entry']> {
    yield* this.messages({ ...(order && { order }), ...(since && { since }) });
  }

  /** The session, with the calls that lack values (`open`). One that nobody used is a Problem of kind `missing`. */
  async get(): Promise<Schemas['Session']> {
    return this.request('GET', this.path);
  }

  /** @deprecated It is called `get` now. */
  async state(): Promise<Schemas['Session']> {
    return this.get();
  }

  /** Says what is known of the session in advance. For back-ends. */
  async put(session: Schemas['SessionRequest']): Promise<Schemas['Session']> {
    return this.http.send({ method: 'PUT', path: this.path, body: session, repeatable: true });
  }

  /** Makes a token for a front-end, good for this session alone, as long as is said: `"1h"`. For back-ends. */
  async token(expiresIn?: string): Promise<Schemas['MadeToken']> {
    return this.http.send({ method: 'POST', path: `${this.path}/token`, body: { expiresIn }, repeatable: true });
  }

  /** Ends the session: its history and its repositories go. With `erase` all that was said and done in it. For back-ends. */
  async close({ erase }: { erase?: boolean } = {}): Promise<void> {
    this.stop();
    await this.http.send({ method: 'DELETE', path: this.path, query: { erase }, repeatable: true });
  }

  /** Forgets all that was said and done in the session, on the streams too. What is owed is dropped. For back-ends. */
  async erase(): Promise<void> {
    await this.close({ erase: true });
  }

  /**
   * Calls a handler with each event of a kind, from now on, and returns what ends that. All handlers share one
   * connection, which is made again where it ends, and goes on where it was. What is said or fired after this is not
   * missed: `say` waits until the events are followed.
   */
  on<K extends keyof Events>(kind: K, handler: (data: Events[K], event: Event<K>) => unknown): () => void {
    const take = (event: Event) => handler(event.data as Events[K], event as Event<K>);
    const handlers = this.#handlers.get(kind) ?? new Set();
    this.#handlers.set(kind, handlers.add(take));
    this.#stream ??= this.#begin();
    return () => {
      handlers.delete(take);
      if ([...this.#handlers.values()].every((some) => some.size === 0)) this.stop();
    };
  }

  /**
   * Calls a handler with the values of each trigger of a tool, once for each. Of a tool that waits for an answer (`answer`),
   * what the handler returns is its result, and what it throws the reason why it was not done.
   */
  onTrigger<const T extends ToolDefinition | string>(tool: T, handler: Handler<T>): () => void {
    return this.on('tool.trigger', async (trigger) => {
      if (trigger.name !== nameOf(tool)) return;
      await this.handle(handler, trigger);
    });
  }

  /** Resolves when the events of handlers are followed, and fails where they cannot be now. */
  async following(): Promise<void> {
    const fault = await this.#followed();
    if (fault !== undefined) throw fault;
  }

  /** Ends the events of all handlers. They go on where they were with the next handler. */
  stop(): void {
    this.#handlers.clear();
    this.#stream?.end.abort();
    this.#stream = undefined;
  }

  protected override ready(): Promise<unknown> {
    return this.#followed();
  }

  /** Waits for what comes of the first attempt to follow the events, where there are handlers. */
  async #followed(): Promise<unknown> {
    if ([...this.#handlers.values()].some((some) => some.size > 0)) this.#stream ??= this.#begin();
    return this.#stream?.stands;
  }

  #begin(): Stream {
    const end = new AbortController();
    const stands = new Promise<unknown>((resolve) => {
      const following = { after: this.#after, signal: end.signal, onOpen: () => resolve(undefined), onBreak: resolve };
      this.#run(following).then(resolve, (error: unknown) => {
        if (this.#stream?.end === end) this.#stream = undefined; // the next word tries again
        this.http.report(error);
      });
    });
    return { end, stands };
  }

  async #run(following: Following): Promise<void> {
    for await (const event of this.events(following)) {
      this.#after = event.id;
      if (this.#isNew(event)) for (const handler of this.#handlers.get(event.kind) ?? []) void this.#call(handler, event);
    }
  }

  async #call(handler: (event: Event) => unknown, event: Event): Promise<void> {
    try {
      await handler(event);
    } catch (error) {
      this.http.report(error);
    }
  }

  /** Delivery is at least once: an event has the same id each time. */
  #isNew(event: Event): boolean {
    const id = `${event.kind} ${event.data.id}`;
    if (this.#seen.has(id)) return false;
    this.#seen.add(id);
    for (const oldest of this.#seen) {
      if (this.#seen.size <= remembered) break;
      this.#seen.delete(oldest);
    }
    return true;
  }
}

function said(answer: Schemas['Answer']): Said {
  const ask = answer.rejected.map((lacking) => lacking.ask).find((question) => question !== undefined);
  const { reply } = answer;
  const text = reply === null || reply === undefined ? undefined : typeof reply === 'string' ? reply : JSON.stringify(reply);
  return { ...answer, ask, text };
}
