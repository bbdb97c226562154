import type { CallContext } from '../../gateway/helper.js';

/** What a handler is given that declares nothing besides its input; its log says nothing, and nothing can be fetched. */
export function callContext(service: string): CallContext<Record<never, never>, undefined> {
  const silent = () => {};
  return {
    service,
    request_id: 'test',
    signal: new AbortController().signal,
    log: { trace: silent, debug: silent, info: silent, warn: silent, error: silent, fatal: silent },
    config: {},
    state: undefined,
    fetch: async (url) => {
      throw new Error(`${service} is not meant to fetch ${url}`);
    },
  };
}
