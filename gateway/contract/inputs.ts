import type { Shape } from './value.js';

/** A value as a handler gets it, for a schema of which the literals are known. */
export type ValueOf<S> = Shape<S, S, 'got'>;

/** What a handler gets for its `input`: required and defaulted parameters are present. */
export type InputOf<S> = Named<Shape<S, S, 'got'>>;

/** The same in a dry run, in which `required` is lifted. */
export type DryrunInputOf<S> = Named<Shape<S, S, 'rehearsed'>>;

/** What a caller sends: defaulted parameters may be missing, colours and choices come in any spelling. */
export type SentInputOf<S> = Named<Shape<S, S, 'sent'>>;

/** Parameters are closed: a schema without any has none. */
type Named<Input> = string extends keyof Input ? Record<never, never> : Input;
