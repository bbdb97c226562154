import type { Socket } from 'node:net';
import {
  createSource,
  type FetchOptions,
  type Source,
  type SourceOptions,
} from '../../../gateway/download/fetch.js';
import { until } from '../../needs.js';
import { type RawServer, redirect, startRawServer } from './raw-server.js';

/** A raw server and sources exempt for it, made and closed around the tests of the `describe` that calls this. */
export function serveRoutes() {
  const routes: Record<string, (socket: Socket) => void> = {};
  const sources: Source[] = [];
  let server: RawServer;
  const create = (options: Partial<SourceOptions> = {}) => {
    const origins = [server.origin];
    const created = createSource({ origins, timeoutMs: 60_000, maxBytes: 100_000, ...options });
    sources.push(created);
    return created;
  };
  before(async () => {
    const home = (socket: Socket) => void socket.end(redirect('/'));
    server = await startRawServer((socket, path) => (routes[path] ?? home)(socket));
  });
  afterEach(async () => {
    server.requests.length = 0;
    await until(() => server.open() === 0);
  });
  after(async () => {
    for (const each of sources) await each.close();
    await server.close();
  });
  const fetch = (path: string, options: FetchOptions = {}, source = create()) =>
    source.fetch(source.check(server.origin + path), options);
  return {
    routes,
    create,
    server: () => server,
    say(path: string, text: string | Buffer) {
      routes[path] = (socket) => socket.end(text);
    },
    fetch,
    get: async (path: string, source = create()) => (await fetch(path, {}, source)).body,
  };
}
