import type { Checked, CheckedFields } from './checked.js';
import type { DryrunContext, HandlerContext, HelperContext, SetupContext } from './context.js';
import type { FileField, FileFields, FilesOf, UrlsOf } from './files.js';
import type { DryrunInputOf, InputOf, SentInputOf } from './inputs.js';
import type { HelperResult } from './result.js';
import type { ConfigField, ConfigFields, ConfigOf } from './settings.js';

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
   * while it computes, nobody else is served.
   */
  runs?: 'pool' | (TakesImage<Source, Files> extends true ? never : 'inline');
  /**
   * Whether this call of a pool helper is known to stay under a millisecond: it then runs on the main thread, which saves the way
   * to a worker and back. Asked with the judged input; must itself cost next to nothing.
   */
  inline?: TakesFile<Source, Files> extends true ? never : (input: InputOf<Input>) => boolean;
  /** Milliseconds that a call may take, up to `HELPER_TASK_TIMEOUT_MS`. */
  timeoutMs?: number;
  /**
   * `false`: the picture that this helper makes is no function of its input and the content of its files alone; it draws the time, say,
   * or the `url` itself. It is made anew for each call then. Without it, a picture made of the same is used again, but for one whose
   * handler has fetched something.
   */
  cache?: boolean;
  /**
   * `true`: a call changes something elsewhere (it sends a message, books, deletes). Such a helper is called by POST alone, its
   * answers are never cached, agents are not told that it only reads, and a job runs an item of it at most once, unless `idempotent`.
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
  /** Makes what calls share, once in each thread before it takes any: it is `context.state`. Write it above `handler`. */
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
  dryrun?: 'run' | Rehearsal['dryrun'];
  // Written as methods, whose parameters may be narrower in a plugin than what is known here.
  handler(input: unknown, context: HelperContext): HelperResult | Promise<HelperResult>;
}

interface Rehearsal {
  dryrun(input: unknown, context: HelperContext): Record<string, unknown> | Promise<Record<string, unknown>>;
}
