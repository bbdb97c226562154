import type { Binary, Declaration, Fetched, FetchOptions, UrlsOf } from '../plugins/contract.js';
import type { SentInputOf } from '../plugins/contract-values.js';

/** A file to call a helper with: its bytes, its path, or its bytes with what a caller says of them. */
export type GivenFile = Uint8Array | string | URL | { bytes: Uint8Array; type?: string; name?: string };

/** An answer in place of a server's: `status` is 200 by default, a text is sent as UTF-8. */
export interface FakeAnswer extends Partial<Omit<Fetched, 'bytes'>> {
  bytes?: Uint8Array | string;
}

/** Stands in for the network. What it throws with a `code` such as `source_timeout` is what the gateway's `fetch` throws. */
export type FakeFetch = (url: string, options: FetchOptions) => FakeAnswer | Promise<FakeAnswer>;

/** A line of a handler's log: pino's fields, and the level by its name. */
export interface LoggedLine extends Record<string, unknown> {
  level: string;
  msg?: string;
}

/** How a helper is called. */
export interface CallOptions<Files = Record<string, GivenFile>, Config = Record<string, string>> {
  /** By the names of the multipart fields; the picture of `source: 'image'` is `file`. */
  files?: Files;
  /** By the declaration's names, in place of the environment, which is not read. `setup` runs once for each. */
  config?: Config;
  /** Makes a dry run: the same as the parameter `dryrun`. */
  dryrun?: boolean;
  /** Where what the handler fetches, and files named by a url, come from; without it nothing is fetched. */
  fetch?: FakeFetch;
  /** Gives the call up, as a caller does who goes away. */
  signal?: AbortSignal;
  /** Called with each line that the handler logs; nothing is printed. */
  log?: (line: LoggedLine) => void;
  /** The helper's id in the handler's context; `test/helper` by default. */
  service?: string;
}

/** A body as it would be sent. */
export interface SentBody {
  body: Uint8Array;
  type: string;
  headers: Record<string, string>;
}

/** What `call` rejects with. */
export interface CallError extends Error {
  /** The gateway's code; `invalid_declaration`, `missing_config`, `setup_failed` and `output` are the author's own. */
  code: string;
  details?: { field: string; problem: string }[];
}

type Any = Record<string, unknown>;
type Parts<Helper> =
  Helper extends Declaration<
    infer Input,
    infer _Output,
    infer Source,
    infer Files,
    infer Config,
    infer _State,
    infer Result
  >
    ? // Without literal types its values are unknown.
      Input extends { type: 'object' }
      ? { input: Input; source: Source; files: Files; config: Config; result: Result }
      : undefined
    : undefined;

/** What a caller sends to a helper; any object where nothing is known of it. */
export type InputFor<Helper> =
  Parts<Helper> extends { input: infer Input; source: infer Source; files: infer Files }
    ? SentInputOf<Input> &
        (Source extends 'image' ? { url?: string } : unknown) &
        UrlsOf<Files> & { dryrun?: boolean }
    : Any;

/** How it may be called. */
export type OptionsFor<Helper> =
  Parts<Helper> extends {
    source: infer Source;
    files: infer Files;
    config: infer Config;
  }
    ? CallOptions<
        { [Name in keyof Files]?: GivenFile } & (Source extends 'image' ? { file?: GivenFile } : unknown),
        { [Name in keyof Config]?: string }
      >
    : CallOptions;

/** What it answers: `data`, where it may be; else a body. */
export type AnswerFor<Helper> =
  Parts<Helper> extends { result: infer Result }
    ? [Exclude<Result, Binary>] extends [never]
      ? SentBody
      : Exclude<Result, Binary>
    : Any;
