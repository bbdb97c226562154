import type { Image } from '../../pool/image/engine.js';
import type { Checked, CheckedFields } from './contract-schema.js';
import type { DryrunInputOf, InputOf, SentInputOf, Shape } from './contract-values.js';

/** The context of each of a plugin's functions. The API key is not part of it. */
export interface HelperContext {
  /** The helper's id, e.g. `text/remove-stopwords`. */
  service: string;
  request_id: string;
}

/** One level of the log: `log.info({ took }, 'translated %s', name)` or `log.info('translated %s', name)`. */
interface LogLine {
  (fields: object, message?: string, ...values: unknown[]): void;
  (message: string, ...values: unknown[]): void;
}

/** The gateway's log; each line carries the call's `request_id` and `service`. */
export interface HelperLog {
  trace: LogLine;
  debug: LogLine;
  info: LogLine;
  warn: LogLine;
  error: LogLine;
  fatal: LogLine;
}

export interface FetchOptions {
  /** The `accept` that is asked with. */
  accept?: string;
  /** Bytes at most, where that is less than the gateway's own limit. */
  maxBytes?: number;
}

/** An answer of any status, whole. */
export interface Fetched {
  status: number;
  /** By their names in lower case. */
  headers: Record<string, string>;
  bytes: Uint8Array;
}

/** The context of `dryrun`, which runs on the main thread and gets no file. */
export interface DryrunContext<Config = object> extends HelperContext {
  /** Aborts when the client disconnects or the time is up. */
  signal: AbortSignal;
  log: HelperLog;
  config: Config;
}

/** The context of every handler, whatever the plugin declares. */
export interface CallContext<Config = object, State = unknown> extends DryrunContext<Config> {
  /** What `setup` made in this thread. */
  state: State;
  /**
   * A GET through the gateway's guard against private addresses. What the guard refuses, and what fails on the way, is thrown; not
   * caught, it is answered as the error that it is.
   */
  fetch: (url: string | URL, options?: FetchOptions) => Promise<Fetched>;
}

/** All of it: `image` with `source: 'image'`, `files` where there are any. */
export type HandlerContext<Source, Files, Config, State> = CallContext<Config, State> &
  (Source extends 'image' ? { image: Image } : unknown) &
  (keyof Files extends never ? unknown : { files: Files });

/** What `setup` is given. */
export interface SetupContext<Config = object> {
  config: Config;
  /** Aborts when the thread ends before it is ready. */
  signal: AbortSignal;
}

/** A value from the environment. */
export interface ConfigField {
  /** The variable, such as `TRANSLATE_API_KEY`; not one of the gateway's own, which begin with `HELPER_`. */
  readonly env: string;
  /** Whether it is never shown. */
  readonly secret?: boolean;
  /** What holds where the variable is not set. */
  readonly default?: string;
  /** Whether the gateway does not start without it. */
  readonly required?: boolean;
  readonly description?: string;
}

export type ConfigFields = { readonly [name: string]: ConfigField };

/** `context.config`: what is neither required nor defaulted may be undefined. */
export type ConfigOf<Config> = keyof Config extends never
  ? Record<never, never>
  : { readonly [Name in keyof Config]: string | (Config[Name] extends Given ? never : undefined) };
type Given = { required: true } | { default: string };

/** A file that the caller uploads in a multipart field of its name, or names by a url in a parameter, of the same name or another. */
export interface FileField {
  /** `image`: a picture, opened; `bytes`: any file as it came. */
  readonly kind: 'image' | 'bytes';
  /** The parameter that holds the url, such as `mark_url`; the file's own name where this is missing. */
  readonly parameter?: string;
  /**
   * A parameter of `input` in whose place the file may come: exactly one of the two has to, but in a dry run. The parameter is
   * not among the `required`, and has no `default`.
   */
  readonly insteadOf?: string;
  /** Parameters of `input` that mean nothing beside the file: a call that brings both is refused. */
  readonly notWith?: readonly string[];
  /** Parameters of `input` that mean nothing without the file. */
  readonly options?: readonly string[];
  /** Media types that are accepted, such as `application/pdf` or `text/*`; any where this is missing. */
  readonly types?: readonly `${string}/${string}`[];
  readonly required?: boolean;
  /** Bytes at most, where that is less than the gateway's own limit. */
  readonly maxBytes?: number;
  readonly description?: string;
}

export type FileFields = { readonly [name: string]: FileField };

/** The parameters that hold urls of files, by their names: there where a file came by its url. */
export type UrlsOf<Files> = keyof Files extends never
  ? unknown
  : { [Name in keyof Files as UrlName<Files[Name], Name>]?: string };
type UrlName<Field, Name> = Field extends { readonly parameter: infer Parameter extends string }
  ? Parameter
  : Name;

/** A file of kind `bytes` as a handler gets it. */
export interface FileBytes {
  bytes: Uint8Array;
  /** Media type, as the caller or the server that it came from said. */
  type: string;
  /** The name that it was uploaded by. */
  name?: string;
}

/** `context.files`: what is not required may be missing. */
export type FilesOf<Files> = keyof Files extends never
  ? Record<never, never>
  : {
      readonly [Name in keyof Files]:
        | FileOf<Files[Name]>
        | (Files[Name] extends { required: true } ? never : undefined);
    };
type FileOf<Field> = Field extends { kind: 'image' }
  ? Image
  : Field extends { kind: 'bytes' }
    ? FileBytes
    : Image | FileBytes;

/** Bytes or text as an answer, in place of the JSON envelope. No other field may stand beside these. */
export interface Binary {
  /** A string is sent as UTF-8. */
  body: Uint8Array | string;
  /** Media type, e.g. `image/png`; text without a charset gets `charset=utf-8`. */
  type: string;
  /** More header fields of the answer, such as `content-disposition`. */
  headers?: Readonly<Record<string, string>>;
}

/** The `data` that a schema for the output describes. */
export type DataOf<Output> = Shape<Output, Output, 'sent'>;

/**
 * A JSON object becomes the envelope's `data`; a `Binary` is sent as it is. Anything else is a fault, which is logged,
 * and so is what JSON would lose: functions, Maps, bytes, errors, promises and streams in the object.
 */
export type HelperResult<Data = Record<string, unknown>> = Binary | Data;

/** The url of a picture that was not uploaded. */
type SourceInput<Source> = Source extends 'image' ? { url?: string } : unknown;

/** A picture is work for the pool; a short call and a dry run bring no file at all. */
type TakesImage<Source, Files> = Source extends 'image'
  ? true
  : Files[keyof Files] extends { kind: 'bytes' }
    ? false
    : true;
type TakesFile<Source, Files> = Source extends 'image' ? true : keyof Files extends never ? false : true;

export interface HelperExample<Input> {
  summary?: string;
  input: Input;
}

/** What a plugin declares. Its path below the folder of plugins is its route. */
export interface Declaration<Input, Output, Source, Files, Config, State, Result> {
  /** One sentence for people who choose a helper. */
  summary: string;
  /** More, as plain text: rules, defaults, limits. */
  description?: string;
  /** JSON Schema (draft-07) of an object; each property is a parameter. */
  input: Checked<Input>;
  /** JSON Schema of the answer's `data`, for documentation and agents; `plugins test` checks answers by it. */
  output?: Checked<Output>;
  /** Checked against `input` when the gateway starts. */
  examples?: readonly HelperExample<
    NoInfer<SentInputOf<Input> & SourceInput<Source> & UrlsOf<Files> & { dryrun?: boolean }>
  >[];
  /**
   * `pool` (default): in a worker thread. `inline`: on the main thread, for work that is known to stay under a millisecond;
   * while it computes, no other call is served.
   */
  runs?: 'pool' | (TakesImage<Source, Files> extends true ? never : 'inline');
  /**
   * Whether this call of a pool helper is known to stay under a millisecond: it then runs on the main thread, which saves the way
   * to a worker and back. Called with the checked input; must itself cost next to nothing.
   */
  inline?: TakesFile<Source, Files> extends true ? never : (input: InputOf<Input>) => boolean;
  /** Milliseconds for a call, up to `HELPER_TASK_TIMEOUT_MS`. */
  timeoutMs?: number;
  /**
   * `false`: the picture that this helper makes is no function of its input and the content of its files alone; it draws the time, say,
   * or the `url` itself. It is made anew for each call then. Without it, a picture made of the same is used again, but for one whose
   * handler has fetched something.
   */
  cache?: boolean;
  /**
   * `true`: a call changes something elsewhere (it sends a message, books, deletes). Such a helper is called by POST alone, its
   * answers are never cached, agents do not get the hint that it only reads, and a job runs an item of it at most once, unless `idempotent`.
   */
  effects?: boolean;
  /** Beside `effects`: the same call made twice has the effect of one, so that a job may run an item of it again. */
  idempotent?: boolean;
  /** `image`: one required picture, from the parameter `url` or the multipart field `file`, is `context.image`. */
  source?: Source;
  /** Files by their names: each a multipart field, or a parameter that holds a url (`parameter`); they are `context.files`. */
  files?: CheckedFields<Files, FileField>;
  /** Values from the environment by their names: they are `context.config`. */
  config?: CheckedFields<Config, ConfigField>;
  /** Makes what calls share, once in each thread before its first call: `context.state`. Write it above `handler`. */
  setup?: (given: SetupContext<ConfigOf<Config>>) => State | Promise<State>;
  /** `run`: a dry run does what a real one does. A function: what a dry run answers as `data`. */
  dryrun?:
    | (TakesFile<Source, Files> extends true ? never : 'run')
    | ((
        input: DryrunInputOf<Input> & SourceInput<Source> & UrlsOf<Files>,
        context: DryrunContext<ConfigOf<Config>>,
      ) => Record<string, unknown> | Promise<Record<string, unknown>>);
  /** Answers a call. */
  handler: (
    input: InputOf<Input> & SourceInput<Source> & UrlsOf<Files>,
    context: HandlerContext<Source, FilesOf<Files>, ConfigOf<Config>, State>,
  ) => Result | Promise<Result>;
}

/** Any plugin's default export, of which nothing more is known: `defineHelper` makes one, and so does a plain object. */
export interface HelperDeclaration {
  summary: string;
  description?: string;
  input: unknown;
  output?: unknown;
  examples?: readonly HelperExample<Record<string, unknown>>[];
  runs?: 'inline' | 'pool';
  inline?(input: unknown): boolean;
  timeoutMs?: number;
  cache?: boolean;
  effects?: boolean;
  idempotent?: boolean;
  source?: 'image' | undefined;
  files?: FileFields;
  config?: ConfigFields;
  setup?(given: SetupContext): unknown;
  dryrun?: 'run' | DryRunMethod['dryrun'];
  // Written as methods, whose parameters may be narrower in a plugin than what is known here.
  handler(input: unknown, context: HelperContext): HelperResult | Promise<HelperResult>;
}

interface DryRunMethod {
  dryrun(input: unknown, context: HelperContext): Record<string, unknown> | Promise<Record<string, unknown>>;
}
