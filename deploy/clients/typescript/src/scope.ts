import { type Event, type Events, type Following, follow } from './events.js';
import { type Http, join } from './http.js';
import type { components } from './schema.js';
import type { GivenValues, ToolDefinition, Values } from './tools.js';

type Schemas = components['schemas'];

/** What may be said of a direct trigger beside its values. */
export type Firing = Partial<Pick<Schemas['Direct'], 'triggerId' | 'repositoryId' | 'metadata' | 'source'>> & { signal?: AbortSignal };

/** A trigger: its id, or what has one. */
export type Trigger = string | { triggerId: string };

/** Does what a trigger asks for. Of a tool that waits for an answer, what it returns is the result. */
export type Handler<T = string> = (values: Values<T>, trigger: Events['tool.trigger']) => unknown;

/** How many handlers of `serve` are under way at the same time. */
const atOnce = 16;

/** What an app and a session have in common. */
export abstract class Scope {
  protected readonly http: Http;
  protected readonly app: string;
  protected readonly path: string;

  constructor(http: Http, path: string) {
    this.http = http;
    this.app = `/v1${join('apps', http.options.app)}`;
    this.path = `${this.app}${path}`;
  }

  protected request<T>(method: string, path: string, more: { body?: unknown; query?: Record<string, unknown>; headers?: Record<string, string>; signal?: AbortSignal | undefined; repeatable?: boolean } = {}): Promise<T> {
    return this.http.send<T>({ repeatable: true, ...more, method, path });
  }

  protected async *pages<T>(path: string, query: Record<string, unknown> = {}): AsyncGenerator<T> {
    for (let after: string | undefined; ; ) {
      const page = await this.request<{ items: T[]; next?: string }>('GET', `${this.path}${path}`, { query: { ...query, ...(after ? { after } : {}) } });
      yield* page.items;
      if (!(after = page.next)) return;
    }
  }

  /** Awaited before something is fired: who has handlers misses none of it. */
  protected async ready(): Promise<unknown> {
    return undefined;
  }

  /** Makes a repository of these tools, or replaces it. For back-ends. */
  async putTools(repositoryId: string, tools: readonly ToolDefinition[], options?: Schemas['Options']): Promise<Schemas['StoredRepository']> {
    return this.request('PUT', this.#repository(repositoryId), { body: { tools, options } });
  }

  /** Makes or replaces a repository. Without a `repositoryId` the service makes one up. For back-ends. */
  async putRepository(repository: Omit<Schemas['Repository'], 'tools'> & { tools?: readonly ToolDefinition[] }): Promise<Schemas['StoredRepository']> {
    if (repository.repositoryId) return this.request('PUT', this.#repository(repository.repositoryId), { body: repository });
    return this.request('POST', `${this.path}/repositories`, { body: repository, repeatable: false });
  }

  /** Adds or replaces tools of a repository by their names, and its options if they are given. For back-ends. */
  async patchRepository(repositoryId: string, tools: readonly ToolDefinition[], options?: Schemas['Options']): Promise<Schemas['StoredRepository']> {
    return this.request('PATCH', this.#repository(repositoryId), { body: { tools, options } });
  }

  /** Reads one repository. */
  async repository(repositoryId: string): Promise<Schemas['StoredRepository']> {
    return this.request('GET', this.#repository(repositoryId));
  }

  /** The repositories, page after page. */
  repositories(): AsyncGenerator<Schemas['StoredRepository']> {
    return this.pages('/repositories');
  }

  /** Removes a repository with its tools. */
  async deleteRepository(repositoryId: string): Promise<void> {
    await this.request('DELETE', this.#repository(repositoryId));
  }

  /** Removes one tool of a repository. */
  async deleteTool(repositoryId: string, name: string): Promise<void> {
    await this.request('DELETE', `${this.#repository(repositoryId)}${join('tools', name)}`);
  }

  #repository(repositoryId: string): string {
    return `${this.path}${join('repositories', repositoryId)}`;
  }

  /** The tools in scope, each as a model sees it. */
  tools(): AsyncGenerator<Schemas['ScopedTool']> {
    return this.pages('/tools');
  }

  /** The tools in scope that a text is about, the nearest first; the service's limit is 10. */
  async findTools(text: string, limit?: number): Promise<Schemas['ScopedTool'][]> {
    return (await this.request<{ items: Schemas['ScopedTool'][] }>('POST', `${this.path}/tools/search`, { body: { text, limit } })).items;
  }

  /** Fires a tool in scope without the matcher, once, however often the request has to be sent. */
  async fire<const T extends ToolDefinition | string>(tool: T, values: GivenValues<T>, { signal, ...firing }: Firing = {}): Promise<Schemas['Match']> {
    await this.ready();
    return this.request('POST', `${this.path}/triggers`, { signal, body: { triggerId: newId(), source: 'ui', ...firing, name: nameOf(tool), values } });
  }

  /** Records of triggers, the newest first: `state`, `name`, `since`, `until`, `order` and so on narrow them down. */
  triggers(query: Record<string, unknown> = {}): AsyncGenerator<Schemas['Record']> {
    return this.pages('/triggers', query);
  }

  /** Reads the record of a trigger, with all attempts. */
  async trigger(triggerId: string): Promise<Schemas['Record']> {
    return this.request('GET', `${this.app}${join('triggers', triggerId)}`);
  }

  /** Delivers again what has failed of a trigger, and reads its record. */
  async retry(trigger: Trigger): Promise<Schemas['Record']> {
    await this.#decide(trigger, 'retry'); // the answer has no body
    return this.trigger(idOf(trigger));
  }

  /** Lets a match or a `tool.confirm` event go that waits for a yes. */
  async confirm(waiting: { triggerId: string; digest?: string }): Promise<Schemas['Record']> {
    return this.#decide(waiting, 'confirm', { digest: waiting.digest });
  }

  /** Ends what waits for a yes. */
  async deny(trigger: Trigger): Promise<Schemas['Record']> {
    return this.#decide(trigger, 'deny');
  }

  /** Takes back what settles. */
  async cancel(trigger: Trigger): Promise<Schemas['Record']> {
    return this.#decide(trigger, 'cancel');
  }

  /** Says what came of a trigger that waits for an answer. The first answer holds. */
  async answer(trigger: Trigger, result?: unknown): Promise<Schemas['Record']> {
    return this.#decide(trigger, 'answer', { ok: true, result: result ?? null });
  }

  /** Says that what a trigger asks for was not done, and why. */
  async fail(trigger: Trigger, error: string): Promise<Schemas['Record']> {
    return this.#decide(trigger, 'answer', { ok: false, error });
  }

  #decide(trigger: Trigger, how: string, body?: unknown): Promise<Schemas['Record']> {
    return this.request('POST', `${this.app}${join('triggers', idOf(trigger))}/${how}`, { body });
  }

  /** The events as they come, on a connection of their own: `for await (const event of session.events())`. */
  events(following: Following = {}): AsyncGenerator<Event> {
    return follow(this.http, `${this.path}/events`, following);
  }

  /** As `events`, connected when it returns: what is said from then on is not missed. */
  async follow(following: Following = {}): Promise<AsyncGenerator<Event>> {
    const own = new AbortController();
    const end = () => own.abort(following.signal?.reason);
    if (following.signal?.aborted) end();
    following.signal?.addEventListener('abort', end, { once: true });
    let first: Promise<IteratorResult<Event>> | undefined;
    let events!: AsyncGenerator<Event>;
    await new Promise<void>((resolve, reject) => {
      const onOpen = () => {
        resolve();
        following.onOpen?.();
      };
      events = this.events({ ...following, onOpen, signal: own.signal });
      first = events.next();
      first.then(() => resolve(), reject);
    });
    return (async function* () {
      try {
        for (let next = await first; next && !next.done; next = await events.next()) yield next.value;
      } finally {
        following.signal?.removeEventListener('abort', end);
        own.abort();
      }
    })();
  }

  /**
   * Answers the triggers of tools that wait for an answer, by their names: what a handler returns is the result, and
   * what it throws the reason why it was not done. It goes on until the signal aborts. Delivery is at least once; the
   * first answer to a trigger holds.
   */
  async serve(handlers: Record<string, Handler>, following: Following = {}): Promise<void> {
    const underWay = new Set<Promise<void>>();
    for await (const event of await this.follow(following)) {
      const handler = event.kind === 'tool.trigger' && Object.hasOwn(handlers, event.data.name) ? handlers[event.data.name] : undefined;
      if (event.kind !== 'tool.trigger' || !event.data.answer || !handler) continue;
      const one: Promise<void> = this.handle(handler, event.data).catch((error: unknown) => this.http.report(error)).finally(() => underWay.delete(one));
      underWay.add(one);
      if (underWay.size >= atOnce) await Promise.race(underWay);
    }
    await Promise.all(underWay);
  }

  /** Does what a trigger asks for, and says what came of it where that is waited for. */
  protected async handle<T>(handler: Handler<T>, trigger: Events['tool.trigger']): Promise<void> {
    try {
      const result = await handler(trigger.values as Values<T>, trigger);
      if (trigger.answer) await this.answer(trigger.id, result);
    } catch (error) {
      if (!trigger.answer) throw error;
      await this.fail(trigger.id, error instanceof Error ? error.message : String(error));
    }
  }
}

const idOf = (trigger: Trigger): string => (typeof trigger === 'string' ? trigger : trigger.triggerId);

export const nameOf = (tool: ToolDefinition | string): string => (typeof tool === 'string' ? tool : tool.name);

/** An id that nobody else makes. crypto.randomUUID is there on pages from https and localhost alone. */
export function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
