import { nameOf } from '../json-data.js';
import { fetchAfterEnd } from './fetch-error.js';
import type { Fetched, FetchRequest } from './messages.js';

/** What a handler may say of a fetch. */
export interface FetchOptions {
  accept?: string;
  maxBytes?: number;
}

export type CallFetch = (url: string | URL, options?: FetchOptions) => Promise<Fetched>;

export interface FetchParts {
  /** Has the gateway fetch; rejects with an error made by `fetchError`, or with the reason for which the call is given up. */
  ask(request: FetchRequest): Promise<Fetched>;
  /** Whether the call has been answered. */
  ended(): boolean;
}

/** Of one call at a time; the others wait. */
const mostAtOnce = 8;

/** A handler's `fetch`: judges what it was given, and keeps the bounds of one call. */
export function createCallFetch({ ask, ended }: FetchParts): CallFetch {
  let running = 0;
  const waiting: (() => void)[] = [];

  async function enter(): Promise<void> {
    if (running < mostAtOnce) running += 1;
    // Whoever leaves hands on the place.
    else await new Promise<void>((resolve) => waiting.push(resolve));
  }

  function leave(): void {
    const next = waiting.shift();
    if (next) next();
    else running -= 1;
  }

  return async function fetch(url, options = {}) {
    const request = requestOf(url, options);
    await enter();
    try {
      if (ended()) throw fetchAfterEnd();
      return await ask(request);
    } finally {
      leave();
    }
  };
}

/** Throws what is an author's slip: it is a fault, unlike a url that may not be fetched. */
function requestOf(url: unknown, options: unknown): FetchRequest {
  if (typeof url !== 'string' && !(url instanceof URL)) {
    throw new TypeError(`fetch takes a url as a string or a URL, but it was given ${nameOf(url)}`);
  }
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(
      `fetch takes options as an object, {accept, maxBytes}, but they are ${nameOf(options)}`,
    );
  }
  const { accept, maxBytes, ...others } = options as FetchOptions & Record<string, unknown>;
  const unknown = Object.keys(others);
  if (unknown.length > 0) {
    throw new TypeError(
      `fetch takes the options accept and maxBytes alone, and sends a GET; ${unknown.join(', ').slice(0, 200)} cannot be set`,
    );
  }
  if (accept !== undefined && (typeof accept !== 'string' || !/^[\t\x20-\x7e]{1,1000}$/.test(accept))) {
    throw new TypeError('the option accept of fetch must be an Accept header, such as application/json');
  }
  if (maxBytes !== undefined && !(Number.isInteger(maxBytes) && maxBytes > 0)) {
    throw new TypeError('the option maxBytes of fetch must be a whole number above 0');
  }
  return {
    url: String(url),
    ...(accept === undefined ? {} : { accept }),
    ...(maxBytes === undefined ? {} : { maxBytes }),
  };
}
