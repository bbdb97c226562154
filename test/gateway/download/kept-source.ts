import { type Cache, createCache } from '../../../gateway/cache.js';
import type { CachedFile } from '../../../gateway/download/exchange.js';
import type { FetchOptions, Source } from '../../../gateway/download/fetch.js';
import { ok } from './raw-server.js';
import { serveRoutes } from './routes.js';

/** When a test's clock begins. */
export const start = Date.UTC(2026, 0, 1);

/** A server, and for each test a source before it that keeps files, with a clock of its own. */
export function serveKept() {
  let source: Source;
  let cache: Cache;
  const clock = { seconds: 0 };
  // Before the hook of the routes, which sees that every connection is closed.
  afterEach(() => source.close());
  const { routes, create, server, codeOf } = serveRoutes();
  const open = (bytes: number) => {
    cache = createCache(bytes);
    source = create({
      cache: cache.namespace<CachedFile>('source'),
      now: () => start + clock.seconds * 1000,
    });
  };
  beforeEach(() => {
    clock.seconds = 0;
    open(1e6);
  });

  const fetch = (path: string, options: FetchOptions = {}) =>
    source.fetch(source.check(server().origin + path), { tenant: 'a', ...options });
  const headOf = (at: number) => server().requests.at(at) ?? '';
  return {
    routes,
    server,
    codeOf,
    fetch,
    clock,
    headOf,
    source: () => source,
    cache: () => cache,
    asked: () => server().requests.length,
    get: async (path: string, options: FetchOptions = {}) =>
      Buffer.from((await fetch(path, options)).body).toString(),
    /** Opens another source, with so many bytes to keep files in. */
    async reopen(bytes: number) {
      await source.close();
      open(bytes);
    },
    /** A file with headers, each of a line of its own. */
    say(path: string, body: string, ...headers: string[]) {
      routes[path] = (socket) => void socket.write(ok(body, headers.map((line) => `${line}\r\n`).join('')));
    },
    /** Answers 304 with these headers where it is asked whether something still holds, else with a file; gives how often it was asked. */
    about(path: string, first: string | Buffer, then: string) {
      let times = 0;
      routes[path] = (socket) => {
        times += 1;
        const isAbout = /^if-(none-match|modified-since): /m.test(headOf(-1));
        socket.write(isAbout ? `HTTP/1.1 304 Not Modified\r\n${then}\r\n` : first);
      };
      return () => times;
    },
  };
}
