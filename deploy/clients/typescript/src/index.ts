import { Http, join, type Options } from './http.js';
import type { components, paths } from './schema.js';
import { Session } from './session.js';
import type { ToolDefinition } from './tools.js';

export type { Event, Events, Following } from './events.js';
export type { Options, Token } from './http.js';
export { type Code, type Fault, type Kind, NoAnswer, Problem } from './problem.js';
export type { components, paths } from './schema.js';
export { type Firing, type Handler, type Said, type Saying, Session, type Trigger } from './session.js';
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
export class Earshot {
  readonly #http: Http;

  constructor(options: Options) {
    this.#http = new Http(options);
  }

  /** Names a conversation. */
  session(id: string): Session {
    return new Session(this.#http, id);
  }

  /** Makes a repository of these tools, or replaces it. For back-ends. */
  async putTools(repositoryId: string, tools: readonly ToolDefinition[], options?: Schemas['Options']): Promise<Schemas['StoredRepository']> {
    const path = `/v1${join('apps', this.#http.options.app, 'repositories', repositoryId)}`;
    return this.#http.send({ method: 'PUT', path, body: { tools, options }, repeatable: true });
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
    const known: Record<string, unknown> = { appId: this.#http.options.app, ...segments };
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(known[name])));
    return this.#http.send({ ...rest, method: method.toUpperCase(), path: filled, repeatable: method !== 'post' });
  }
}
