import type { CallFetch, CallLog, CallScope, Redactor } from './call-scope.js';

/** What a thread keeps of a helper for all of its calls. */
export interface HelperParts {
  config: Readonly<Record<string, string>>;
  /** What the plugin's `setup` gave. */
  state: unknown;
  redactor: Redactor | undefined;
}

/**
 * A handler's second argument. What costs something to make stands behind getters; so does what may be secret, which JSON of a
 * whole context then does not hold.
 */
export class HandlerContext {
  readonly service: string;
  readonly request_id: string;
  declare image?: unknown;
  declare files?: Record<string, unknown>;
  readonly #scope: CallScope;
  readonly #parts: HelperParts;

  constructor(scope: CallScope, parts: HelperParts) {
    this.service = scope.ids.service;
    this.request_id = scope.ids.request_id;
    this.#scope = scope;
    this.#parts = parts;
  }

  get config(): HelperParts['config'] {
    return this.#parts.config;
  }

  get state(): unknown {
    return this.#parts.state;
  }

  get signal(): AbortSignal {
    return this.#scope.signal;
  }

  get log(): CallLog {
    return this.#scope.log;
  }

  get fetch(): CallFetch {
    return this.#scope.fetch;
  }
}
