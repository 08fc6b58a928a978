import type { components } from './schema.js';

/** What is wrong, for programs: it stays the same for ever. */
export type Code = components['schemas']['ProblemCode'];

/** One fault of a body: `pointer` (RFC 6901) says where, empty for the body as a whole. */
export type Fault = NonNullable<components['schemas']['Problem']['errors']>[number];

/** What went wrong, for a `switch`. */
export type Kind = 'invalid' | 'unauthorized' | 'forbidden' | 'missing' | 'conflict' | 'too large' | 'unavailable' | 'other';

const kinds: Record<number, Kind> = {
  400: 'invalid', 401: 'unauthorized', 403: 'forbidden', 404: 'missing', 409: 'conflict', 412: 'conflict',
  413: 'too large', 422: 'invalid', 429: 'unavailable', 502: 'unavailable', 503: 'unavailable', 504: 'unavailable',
};

/** What the service says of a request that it refuses (RFC 9457). */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly status: number;
  readonly type: string;
  readonly title: string;
  /** What is wrong this time, and the way out. */
  readonly detail: string;
  /** Which of all problems it is; `undefined` where somebody in between has answered. */
  readonly code: Code | undefined;
  /** Of the trigger, with `trigger_ended` and `trigger_owes`. */
  readonly state: string | undefined;
  /** The limit that is reached, with `rate_limited` and `limit_reached`. */
  readonly limit: string | undefined;
  /** Every fault of the body, at most 100. */
  readonly errors: readonly Fault[];
  /** Of a message that is kept undecided: sent again under this id, it is decided. */
  readonly messageId: string | undefined;
  /** What a message has set off that was to be withdrawn as a draft. */
  readonly matches: readonly components['schemas']['Match'][];
  /** The earlier name of `matches`, the same. */
  readonly triggers: readonly components['schemas']['Match'][];
  /** For how many seconds the service wants to be left alone. */
  readonly retryAfter: number | undefined;

  constructor(read: Partial<components['schemas']['Problem']> & { status: number }, retryAfter?: number) {
    const title = read.title ?? 'Refused';
    const faults = (read.errors ?? []).map((fault) => (fault.pointer ? `${fault.pointer}: ${fault.detail}` : fault.detail));
    super([`${read.status} ${title}${read.detail ? `: ${read.detail}` : ''}`, ...faults].join('; '));
    this.status = read.status;
    this.type = read.type ?? 'about:blank';
    this.title = title;
    this.detail = read.detail ?? '';
    this.code = read.code;
    this.state = read.state;
    this.limit = read.limit;
    this.errors = read.errors ?? [];
    this.messageId = read.messageId;
    this.matches = read.matches ?? [];
    this.triggers = this.matches;
    this.retryAfter = retryAfter;
  }

  /** What went wrong, by the status. */
  get kind(): Kind {
    return kinds[this.status] ?? 'other';
  }
}

/** A request that got no answer, or no whole one: nobody knows whether it arrived. `cause` says why. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/** Reads a refusal. What is none of Earshot's is said to be so. */
export async function problemOf(response: Response): Promise<Problem> {
  const seconds = Number.parseInt(response.headers.get('Retry-After') ?? '', 10);
  const retryAfter = Number.isNaN(seconds) ? undefined : seconds;
  const text = await response.text().catch(() => '');
  try {
    const read = JSON.parse(text) as components['schemas']['Problem'];
    if (read?.status === response.status) return new Problem(read, retryAfter);
  } catch {
    // Somebody in between has answered.
  }
  return new Problem({ status: response.status, title: response.statusText || 'Refused', detail: 'the answer is not one of Earshot’s: is the URL right?' }, retryAfter);
}
