import { Http, join, type Options } from './http.js';
import type { components, paths } from './schema.js';
import { Scope } from './scope.js';
import { Session } from './session.js';

export type { Event, Events, Following } from './events.js';
export type { Options, Token } from './http.js';
export { type Code, type Fault, type Kind, NoAnswer, Problem } from './problem.js';
export type { components, paths } from './schema.js';
export type { Firing, Handler, Trigger } from './scope.js';
export { type Said, type Saying, Session } from './session.js';
export { version } from './version.js';
export { defineTool, type GivenValues, type ToolDefinition, type Values } from './tools.js';

/** The bodies of the service by their names in `/openapi.json`, as `Schemas['Record']`. */
export type Schemas = components['schemas'];

type Method = 'get' | 'put' | 'post' | 'patch' | 'delete';

/** The routes that have a method. */
type RouteOf<M extends Method> = { [P in keyof paths]: undefined extends paths[P][M] ? never : P }[keyof paths];

type Part<O, Name extends string> = O extends { parameters: { [K in Name]?: infer V } } ? Exclude<V, undefined> : never;

/** What a route's path asks for, but for the app, which the client knows. */
type PathOf<O> = Omit<Part<O, 'path'>, 'appId'>;

type BodyOf<O> = O extends { requestBody?: { content: { 'application/json': infer B } } } ? B : never;

type ResultOf<O> = O extends { responses: infer R } ? { [S in keyof R]: R[S] extends { content: { 'application/json': infer B } } ? B : never }[keyof R] : never;

/** What a call of a route takes. */
export type CallOf<O> = { headers?: Record<string, string>; signal?: AbortSignal }
  & (keyof PathOf<O> extends never ? { path?: never } : { path: PathOf<O> })
  & ([Part<O, 'query'>] extends [never] ? { query?: never } : { query?: Part<O, 'query'> })
  & ([BodyOf<O>] extends [never] ? { body?: never } : { body?: BodyOf<O> });

/** A call of which the types say no more. */
interface Plain {
  path?: Record<string, unknown>;
  query?: Record<string, unknown>;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** A client of one app of a service. Its requests are sent again where that helps and does no harm. */
export class Earshot extends Scope {
  constructor(options: Options) {
    super(new Http(options), '');
  }

  /** Names a conversation. */
  session(id: string): Session {
    return new Session(this.http, id);
  }

  /** Makes the app, or replaces what it is made of; its sessions and repositories stay. For back-ends. */
  async put(app: Schemas['App']): Promise<Schemas['StoredApp']> {
    return this.request('PUT', this.path, { body: app });
  }

  /** Changes a part of the app by a JSON merge patch (RFC 7386). For back-ends. */
  async patch(patch: object): Promise<Schemas['StoredApp']> {
    return this.request('PATCH', this.path, { body: patch });
  }

  /** Reads what the app is made of. Credentials read as `***`. */
  async get(): Promise<Schemas['StoredApp']> {
    return this.request('GET', this.path);
  }

  /** Removes the app with all that is its own. For back-ends. */
  async delete(): Promise<void> {
    await this.request('DELETE', this.path);
  }

  /** Makes a key of the app. It is shown this once. For back-ends. */
  async makeKey(key: Schemas['KeyRequest']): Promise<Schemas['MadeKey']> {
    return this.request('POST', `${this.path}/keys`, { body: key, repeatable: false });
  }

  /** The app's keys, without what they are. */
  keys(): AsyncGenerator<Schemas['Key']> {
    return this.pages('/keys');
  }

  /** Ends a key, and those that it made. */
  async revokeKey(keyId: string): Promise<void> {
    await this.request('DELETE', `${this.path}${join('keys', keyId)}`);
  }

  /** The sessions of the app: `user`, `metadata`, `state`, `usedSince` and `usedBefore` narrow them down. */
  sessions(query: Record<string, unknown> = {}): AsyncGenerator<Schemas['Session']> {
    return this.pages('/sessions', query);
  }

  /** All that is kept of the sessions of a user, line by line. */
  exportUser(user: string): AsyncGenerator<unknown> {
    return this.http.lines(`${this.path}${join('users', user)}/export`);
  }

  /** Forgets all sessions of a user, those that have ended as well, and says how many. */
  async eraseUser(user: string): Promise<number> {
    return (await this.request<Schemas['ErasedUser']>('DELETE', `${this.path}${join('users', user)}`, { query: { erase: true } })).erased;
  }

  /** All apps of the service, which takes the admin's key. */
  apps(): AsyncGenerator<Schemas['StoredApp']> {
    return this.list('/v1/apps') as AsyncGenerator<Schemas['StoredApp']>;
  }

  /** Whom the service takes the client for. */
  async whoAmI(): Promise<Schemas['Caller']> {
    return this.request('GET', '/v1/whoami');
  }

  /** Lists what a route lists, page after page: `earshot.list('/v1/apps/{appId}/triggers', { query: { state: 'failed' } })`. */
  async *list<P extends RouteOf<'get'>>(path: P, call?: CallOf<paths[P]['get']>): AsyncGenerator<ResultOf<paths[P]['get']> extends { items: (infer One)[] } ? One : never> {
    for (let after: string | undefined; ; ) {
      const page: { items: never[]; next?: string } = await this.#send('get', path, { ...call, query: { ...call?.query, ...(after ? { after } : {}) } });
      yield* page.items;
      if (!(after = page.next)) return;
    }
  }

  /**
   * Calls any route of the service: `earshot.call('get', '/v1/apps/{appId}/triggers/{triggerId}', { path: { triggerId } })`.
   * It is sent again where its answer was lost, unless it is a POST.
   */
  async call<M extends Method, P extends RouteOf<M>>(method: M, path: P, ...[call]: object extends CallOf<paths[P][M]> ? [call?: CallOf<paths[P][M]>] : [call: CallOf<paths[P][M]>]): Promise<ResultOf<paths[P][M]>> {
    return this.#send(method, path, (call ?? {}) as Plain);
  }

  #send<T>(method: string, path: string, { path: segments = {}, ...rest }: Plain): Promise<T> {
    const known: Record<string, unknown> = { appId: this.http.options.app, ...segments };
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(known[name])));
    return this.http.send({ ...rest, method: method.toUpperCase(), path: filled, repeatable: method !== 'post' });
  }
}
