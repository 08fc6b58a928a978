import type { components } from './schema.js';

type Schemas = components['schemas'];

/** A type all of whose lists and objects may be constants. */
type Constant<T> = T extends readonly (infer One)[] ? readonly Constant<One>[] : T extends object ? { readonly [K in keyof T]: Constant<T[K]> } : T;

/** What the service calls a tool, as it may stand in a program. */
export type ToolDefinition = Constant<Omit<Schemas['Tool'], 'name'>> & { readonly name: string };

/**
 * Takes a definition of a tool as it is, and lets the compiler know it to the letter: `Values` of it are the values
 * that its triggers have. A field that tools do not have is an error.
 */
export function defineTool<const T extends ToolDefinition>(tool: T & { [K in Exclude<keyof T, keyof Schemas['Tool']>]: never }): T {
  return tool;
}

type Simple = {
  string: string; number: number; integer: number; float: number; boolean: boolean; null: null;
  object: Record<string, unknown>; map: Record<string, unknown>; array: unknown[];
};

/** What a JSON Schema lets through, as far as types say it. */
type OfSchema<S, Filled> = S extends { enum: readonly (infer One)[] } ? One
  : S extends { const: infer One } ? One
  : S extends { type: 'array'; items: infer Items } ? OfSchema<Items, Filled>[]
  : S extends { properties: infer P } ? OfProperties<P, S extends { required: readonly (infer R)[] } ? R : never, Filled>
  : S extends { type: infer T extends keyof Simple } ? Simple[T]
  : unknown;

type OfProperties<P, Required, Filled> = Flat<
  { -readonly [K in keyof P as K extends Required ? K : P[K] extends Filled ? K : never]: OfSchema<P[K], Filled> } &
  { -readonly [K in keyof P as K extends Required ? never : P[K] extends Filled ? never : K]?: OfSchema<P[K], Filled> }
>;

type Flat<T> = { [K in keyof T]: T[K] };

/** The type of one parameter of a list. Allowed values are no types: they may be patterns. */
type OfParameter<P> = P extends { type: 'array'; items: infer Items } ? OfParameter<Items>[] : P extends { type: infer T extends keyof Simple } ? Simple[T] : unknown;

/** Whether a parameter has a value. Lists named schema say which are required, those named parameters which are not. */
type Has<P, Unsaid, Filled> = P extends Filled ? true : P extends { default: unknown } ? false : P extends { required: infer R } ? R : Unsaid;

type NameOf<P> = P extends { parameter: infer N extends string } | { name: infer N extends string } ? N : never;

type OfList<L extends readonly unknown[], Unsaid, Filled> = Flat<
  { [P in L[number] as Has<P, Unsaid, Filled> extends true ? NameOf<P> : never]: OfParameter<P> } &
  { [P in L[number] as Has<P, Unsaid, Filled> extends true ? never : NameOf<P>]?: OfParameter<P> }
>;

type Of<T, Filled> = T extends { name: 'collect-user-message' } ? { value: string }
  : T extends { schema: infer L extends readonly unknown[] } ? OfList<L, false, Filled>
  : T extends { parameters: infer L extends readonly unknown[] } ? OfList<L, true, Filled>
  : T extends { parameters: infer S extends object } | { inputSchema: infer S extends object } ? OfSchema<S, Filled>
  : T extends { name: string; parameters?: never; schema?: never; inputSchema?: never } ? Record<string, never>
  : Record<string, unknown>;

/** The values that a trigger of a tool has, defaults filled in. Of a tool that is known by its name alone: anything. */
export type Values<T> = Of<T, { default: unknown } | { value: unknown }>;

/** The values that a tool is fired with: what has a default may be left out. */
export type GivenValues<T> = Of<T, never>;
