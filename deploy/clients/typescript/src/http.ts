import { NoAnswer, Problem, problemOf } from './problem.js';

/** A key or a session's token; or what gets one, which is asked again before and when a token ends. */
export type Token = string | (() => string | Promise<string>);

/** How a service is spoken to. */
export interface Options {
  /** Where the service is, as `https://earshot.example`. */
  url: string;
  /** The app, its `appId`. */
  app: string;
  /** A front-end takes a session's token, which its back-end makes. None is sent where it is missing. */
  token?: Token;
  /** How often a request is sent again that got no answer, or that the service cannot take now: 3. */
  retries?: number;
  /** How long one request may take, in milliseconds: 120,000. */
  timeout?: number;
  /** How long a stream of events may be silent, in milliseconds: 45,000. The service says something every 15 s. */
  silence?: number;
  /** In the place of the global one. */
  fetch?: typeof fetch;
  /** Reads JSON, in the place of `JSON.parse`, which rounds integers beyond 2^53. */
  parse?: (text: string) => unknown;
  /** Told what goes wrong where nobody waits for it, as in a handler of events: `console.error`. */
  onError?: (error: unknown) => void;
}

export interface Request {
  method: string;
  /** From the root of the service, escaped. */
  path: string;
  query?: Record<string, unknown> | undefined;
  headers?: Record<string, string> | undefined;
  body?: unknown;
  signal?: AbortSignal | undefined;
  /** Whether it may be sent again though it may have arrived: what has an id counts once. */
  repeatable: boolean;
}

/** The longest pause before a request is sent again; a service that asks for more is reported. */
const longestPause = 30_000;

/** Sends requests, again where that helps and does no harm. */
export class Http {
  readonly options: Options;
  #token: Promise<string> | undefined;

  constructor(options: Options) {
    if (!/^https?:\/\//.test(options.url)) throw new TypeError(`${JSON.stringify(options.url)} is not the URL of a service, as http://127.0.0.1:8080`);
    if (!options.app) throw new TypeError('app is missing: give the appId, as app: "clinic"');
    this.options = { ...options, url: options.url.replace(/\/+$/, '') };
  }

  /** Whether a token that ends can be followed by another one. */
  get renews(): boolean {
    return typeof this.options.token === 'function';
  }

  /** Lets the next request ask for another token. */
  renew(): void {
    this.#token = undefined;
  }

  report(error: unknown): void {
    (this.options.onError ?? console.error)(error);
  }

  /** The answer's JSON, or undefined where it has none. */
  async send<T>(request: Request): Promise<T> {
    let renewed = false;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#once<T>(request);
      } catch (error) {
        if (request.signal?.aborted) throw error;
        if (error instanceof Problem && error.status === 401 && this.renews && !renewed) {
          renewed = true;
          this.renew();
          continue;
        }
        const pause = pauseBefore(error, request.repeatable, attempt);
        if (pause === undefined || attempt >= (this.options.retries ?? 3)) throw error;
        await wait(pause, request.signal);
      }
    }
  }

  async #once<T>(request: Request): Promise<T> {
    const timeout = AbortSignal.timeout(this.options.timeout ?? 120_000);
    const { signal, release } = either(request.signal, timeout);
    try {
      const response = await this.open({ ...request, signal });
      const text = await response.text();
      return (text === '' ? undefined : (this.options.parse ?? JSON.parse)(text)) as T;
    } catch (error) {
      if (error instanceof Problem || error instanceof NoAnswer || error instanceof SyntaxError || request.signal?.aborted) throw error;
      throw new NoAnswer(`${request.method} ${request.path}: the answer broke off`, { cause: error });
    } finally {
      release();
    }
  }

  /** Sends one request. An answer that is a refusal is thrown as a Problem. */
  async open(request: Request): Promise<Response> {
    const headers = new Headers(request.headers);
    const token = await this.#bearer();
    if (token) headers.set('Authorization', `Bearer ${token}`);
    if (request.body !== undefined) headers.set('Content-Type', 'application/json');
    const asked: RequestInit = { method: request.method, headers, cache: 'no-store' };
    if (request.body !== undefined) asked.body = JSON.stringify(request.body);
    if (request.signal) asked.signal = request.signal;
    const send = this.options.fetch ?? globalThis.fetch;
    let response: Response;
    try {
      response = await send(`${this.options.url}${request.path}${queryOf(request.query)}`, asked);
    } catch (cause) {
      throw new NoAnswer(`${request.method} ${request.path}: no answer${reasonOf(cause)}`, { cause });
    }
    if (!response.ok) throw await problemOf(response);
    return response;
  }

  /** The JSON of each line of an answer, as it comes. */
  async *lines(path: string): AsyncGenerator<unknown> {
    const own = new AbortController();
    const asked = { method: 'GET', path, signal: own.signal, repeatable: true };
    const parse = this.options.parse ?? JSON.parse;
    try {
      const response = await this.open(asked).catch((error: unknown) => {
        if (!(error instanceof Problem) || error.status !== 401 || !this.renews) throw error;
        this.renew();
        return this.open(asked);
      });
      const reader = response.body?.getReader();
      const text = new TextDecoder();
      for (let rest = ''; reader; ) {
        const { done, value } = await reader.read();
        const pieces = (rest + text.decode(value, { stream: !done })).split('\n');
        rest = done ? '' : (pieces.pop() ?? '');
        for (const line of pieces) if (line.trim()) yield parse(line);
        if (done) return;
      }
    } catch (cause) {
      throw cause instanceof Problem || cause instanceof NoAnswer || cause instanceof SyntaxError ? cause : new NoAnswer(`GET ${path}: the answer broke off`, { cause });
    } finally {
      own.abort();
    }
  }

  async #bearer(): Promise<string> {
    const { token } = this.options;
    if (typeof token !== 'function') return token ?? '';
    const asked = (this.#token ??= (async () => token())());
    try {
      return await asked;
    } catch (cause) {
      if (this.#token === asked) this.#token = undefined; // the next one asks again
      throw new NoAnswer(`the function for the token failed${reasonOf(cause)}`, { cause });
    }
  }
}

/** Node keeps the reason of a failed fetch in its cause. */
function reasonOf(error: unknown): string {
  const { cause = error } = error as { cause?: unknown };
  return cause instanceof Error && cause.message ? `: ${cause.message}` : '';
}

function queryOf(query: Record<string, unknown> = {}): string {
  const given = Object.entries(query)
    .flatMap(([name, value]): [string, unknown][] => typeof value === 'object' && value !== null ? Object.entries(value).map(([member, of]) => [`${name}[${member}]`, of]) : [[name, value]])
    .filter(([, value]) => value !== undefined);
  return given.length === 0 ? '' : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

/** The pause after which a request may go well when it is sent again, in milliseconds; undefined where it will not. */
export function pauseBefore(error: unknown, repeatable: boolean, attempt: number): number | undefined {
  const longest = Math.min(100 * 2 ** attempt, 5_000);
  const pause = longest / 2 + (Math.random() * longest) / 2;
  if (error instanceof NoAnswer) return repeatable || isUnsent(error) ? pause : undefined;
  if (!(error instanceof Problem) || error.kind !== 'unavailable') return undefined;
  const taken = error.status === 502 || error.status === 504; // it may have been done
  const asked = (error.retryAfter ?? 0) * 1000;
  return (taken && !repeatable) || asked > longestPause ? undefined : Math.max(pause, asked);
}

/** Whether no connection was made. Node says so, a browser does not. */
function isUnsent({ cause }: NoAnswer): boolean {
  const { code } = ((cause as Error | undefined)?.cause ?? {}) as { code?: string };
  return code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'EAI_AGAIN';
}

/** Waits for milliseconds, or until the signal aborts, with whose reason it fails. */
export function wait(pause: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end);
      resolve();
    }, pause);
    if (signal?.aborted) end();
    else signal?.addEventListener('abort', end, { once: true });
  });
}

/** A signal that aborts with either of two. AbortSignal.any is younger than many browsers. */
export function either(first: AbortSignal | undefined, second: AbortSignal): { signal: AbortSignal; release: () => void } {
  if (!first) return { signal: second, release: () => {} };
  const both = new AbortController();
  const end = (event: Event) => both.abort((event.target as AbortSignal).reason);
  for (const one of [first, second]) {
    if (one.aborted) both.abort(one.reason);
    else one.addEventListener('abort', end, { once: true });
  }
  const release = () => [first, second].forEach((one) => one.removeEventListener('abort', end));
  return { signal: both.signal, release };
}

/** The path of segments, escaped. */
export const join = (...segments: string[]): string => segments.map((segment) => `/${encodeURIComponent(segment)}`).join('');
