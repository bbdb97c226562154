/**
 * The public interface for helper plugins, imported as `helper-gateway/helper`. A leaf: it imports no code, so a
 * plugin pulls in nothing of the gateway.
 */
import type { Image } from '../pool/image/engine.js';

export type {
  Corner,
  EncodedImage,
  Image,
  ImageFormat,
} from '../pool/image/engine.js';

type ValueOf<S> = S extends { color: true }
  ? `#${string}`
  : S extends { fraction: true }
    ? number
    : S extends { choice: infer C }
      ? keyof C & string
      : S extends { enum: readonly (infer E)[] }
        ? E
        : S extends { type: 'string' }
          ? string
          : S extends { type: 'integer' | 'number' }
            ? number
            : S extends { type: 'boolean' }
              ? boolean
              : S extends { type: 'array'; items: infer I }
                ? ValueOf<I>[]
                : unknown;

type Properties<S> = S extends { properties: infer P } ? P : Record<never, never>;
type Required<S> = S extends { required: readonly (infer R)[] } ? R : never;
type Defaulted<P> = {
  [K in keyof P]: P[K] extends { default: unknown } ? K : never;
}[keyof P];
type Input<P, Present> = {
  [K in keyof P as K extends Present ? K : never]: ValueOf<P[K]>;
} & {
  [K in keyof P as K extends Present ? never : K]?: ValueOf<P[K]>;
};

/** The input that a handler gets for a schema written `as const`: required and defaulted parameters are present. */
export type InputOf<S> = Input<Properties<S>, Required<S> | Defaulted<Properties<S>>>;

/** The same in a dry run, in which `required` is lifted. */
export type DryrunInputOf<S> = Input<Properties<S>, Defaulted<Properties<S>>>;

/** What every call tells its handler. The API key is not part of it. */
export interface HelperContext {
  /** The helper's id, e.g. `text/remove-stopwords`. */
  service: string;
  request_id: string;
}

/** What a handler with `source: 'image'` gets besides. */
export interface ImageContext extends HelperContext {
  image: Image;
}

/** Bytes or text as an answer, in place of the JSON envelope. No other field may stand beside these two. */
export interface Binary {
  /** A string is sent as UTF-8. */
  body: Uint8Array | string;
  /** Media type, e.g. `image/png`; text without a charset gets `charset=utf-8`. */
  type: string;
}

/**
 * A JSON object becomes the envelope's `data`; a `Binary` is sent as it is. Anything else is a fault that the log tells of,
 * and so is what JSON would lose: functions, Maps, bytes, errors, promises and streams in the object.
 */
export type HelperResult = Binary | Record<string, unknown>;

export interface HelperExample<S> {
  summary?: string;
  input: Record<string, unknown> & { [K in keyof Properties<S>]?: unknown };
}

interface Common<S> {
  /** One sentence for people who choose a helper. */
  summary: string;
  /** More, as plain text: rules, defaults, limits. */
  description?: string;
  /** JSON Schema (draft-07) of an object; each property is a parameter. */
  input: S;
  /** Checked against `input` when the gateway starts. */
  examples?: readonly HelperExample<S>[];
}

/** A helper that takes parameters only. */
export interface TextHelper<S> extends Common<S> {
  /**
   * `pool` (default): in a worker thread. `inline`: on the main thread, for work that is known to stay under a millisecond;
   * while it computes, nobody else is served.
   */
  runs?: 'inline' | 'pool';
  /**
   * Whether this call of a pool helper is known to stay under a millisecond: it then runs on the main thread, which saves the way
   * to a worker and back. Asked with the judged input; must itself cost next to nothing.
   */
  inline?: (input: InputOf<S>) => boolean;
  source?: undefined;
  /** `run`: a dry run does what a real one does. A function: what a dry run answers as `data`. */
  dryrun?: 'run' | ((input: DryrunInputOf<S>, context: HelperContext) => Record<string, unknown>);
  handler: (input: InputOf<S>, context: HelperContext) => HelperResult | Promise<HelperResult>;
}

/** A helper that gets a picture, from the parameter `url` or the multipart file `file`. */
export interface ImageHelper<S> extends Common<S> {
  runs?: 'pool';
  source: 'image';
  dryrun?: (input: DryrunInputOf<S> & { url?: string }, context: HelperContext) => Record<string, unknown>;
  handler: (
    input: InputOf<S> & { url?: string },
    context: ImageContext,
  ) => HelperResult | Promise<HelperResult>;
}

/** A plugin's default export. */
export type HelperDeclaration<S = unknown> = TextHelper<S> | ImageHelper<S>;

/** Returns its argument; it is there for the types, a plain object of the same shape is as good. */
export function defineHelper<const S>(declaration: ImageHelper<S>): ImageHelper<S>;
export function defineHelper<const S>(declaration: TextHelper<S>): TextHelper<S>;
export function defineHelper(declaration: unknown): unknown {
  return declaration;
}

/**
 * An error for input that the schema cannot judge: thrown by a handler it becomes 400 `invalid_input` with this
 * field and problem. An object of the same shape, `{code: 'invalid_input', details: [{field, problem}]}`, is as good.
 */
export function invalidInput(field: string, problem: string): Error {
  return Object.assign(new Error(`${field} ${problem}`), {
    code: 'invalid_input',
    details: [{ field, problem }],
  });
}
