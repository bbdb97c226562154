// A plugin's own project may know no types of Node, whose AbortSignal and URL are spoken of here.
/// <reference types="node" preserve="true" />
import type { Image } from '../../pool/image/engine.js';

/** What every call tells a plugin's functions. The API key is not part of it. */
export interface HelperContext {
  /** The helper's id, e.g. `text/remove-stopwords`. */
  service: string;
  request_id: string;
}

/** One level of the log: `log.info({ took }, 'translated %s', name)` or `log.info('translated %s', name)`. */
export interface LogLine {
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
  /** Bytes at most, where that is less than the gateway takes. */
  maxBytes?: number;
}

/** An answer of any status, whole. */
export interface Fetched {
  status: number;
  /** By their names in lower case. */
  headers: Record<string, string>;
  bytes: Uint8Array;
}

/** What a dry run tells the plugin's `dryrun`, which runs on the main thread and brings no file. */
export interface DryrunContext<Config = object> extends HelperContext {
  /** Aborts when the client has gone or the time is up. */
  signal: AbortSignal;
  log: HelperLog;
  config: Config;
}

/** What a call tells its handler, whatever it declares. */
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
