import type { Socket } from 'node:net';
import { expect } from 'chai';
import { type Cache, createCache } from '../../../gateway/cache.js';
import type { CachedFile } from '../../../gateway/download/exchange.js';
import type { Source } from '../../../gateway/download/fetch.js';
import {
  createSourceFiles,
  type FileRequest,
  type FileWait,
  type SourceFiles,
} from '../../../gateway/download/source-files.js';
import { GatewayError } from '../../../gateway/errors.js';
import { createInboundBudget, type InboundBudget } from '../../../gateway/http/inbound-budget.js';
import { until } from '../../needs.js';
import { ok, rejection } from './raw-server.js';
import { serveRoutes } from './routes.js';

describe('createSourceFiles', () => {
  let source: Source;
  let inboundBudget: InboundBudget;
  let cache: Cache;
  let files: SourceFiles;
  /** Calls that asked whether they may come. */
  let expected: number;
  /** Milliseconds of the budget's clock. */
  let time: number;
  afterEach(async () => {
    inboundBudget.close();
    await source.close();
  });
  const { routes, create, server, say } = serveRoutes();
  beforeEach(() => {
    expected = 0;
    time = 0;
    cache = createCache(1e6);
    const cachedFiles = cache.namespace<CachedFile>('source');
    source = create({ cache: cachedFiles });
    inboundBudget = createInboundBudget({ most: 10, bytes: 1e6, largest: 1e5, now: () => time });
    files = createSourceFiles({ source, inboundBudget, count: cachedFiles.count });
  });

  const bring = (path: string, wish: Partial<FileRequest & FileWait> = {}) =>
    files.bring(files.check(server().origin + path), {
      tenant: 'a',
      accept: 'image/*',
      maxBytes: undefined,
      signal: new AbortController().signal,
      expect: async () => {
        expected += 1;
      },
      ...wish,
    });
  const textOf = async (...given: Parameters<typeof bring>) =>
    Buffer.from((await bring(...given)).bytes).toString();
  /** A file that comes when the test says so. */
  const hold = (path: string) => {
    const waiting: Socket[] = [];
    routes[path] = (socket) => void waiting.push(socket);
    return {
      asked: () => until(() => waiting.length > 0),
      waiting,
      send: (answer: string | Buffer) => {
        for (const socket of waiting.splice(0)) socket.write(answer);
      },
    };
  };
  const uses = () =>
    Object.fromEntries(
      cache.stats().uses.flatMap(({ outcome, number }) => (number > 0 ? [[outcome, number]] : [])),
    );
  const fresh = 'cache-control: max-age=60\r\n';

  it('has 50 that want the same at once wait for one request, and one reservation', async () => {
    const { asked, waiting, send } = hold('/a');
    const all = Array.from({ length: 50 }, () => bring('/a'));
    await asked();
    expect(waiting).to.have.length(1);
    expect(inboundBudget.stats().arriving).to.equal(1);
    send(ok('bytes'));
    const came = await Promise.all(all);
    expect(server().requests).to.have.length(1);
    expect(expected).to.equal(1);
    expect(new Set(came.map(({ bytes }) => bytes)).size).to.equal(1);
    expect(came.every(({ shared }) => shared)).to.equal(true);
    expect(uses()).to.deep.equal({ miss: 1, shared: 49 });
  });

  it('never has one tenant wait with another', async () => {
    const { waiting, send } = hold('/a');
    const both = [bring('/a', { tenant: 'a' }), bring('/a', { tenant: 'b' })];
    await until(() => waiting.length === 2);
    send(ok('bytes', fresh));
    const [a, b] = await Promise.all(both);
    expect(a?.bytes).not.to.equal(b?.bytes);
  });

  it('does not mix what is wanted in another way', async () => {
    const { waiting, send } = hold('/a');
    const all = [bring('/a'), bring('/a', { accept: 'text/csv' }), bring('/a', { maxBytes: 4 })];
    await until(() => waiting.length === 3);
    send(ok('bytes'));
    expect((await rejection(all[2] as Promise<unknown>)).code).to.equal('image_too_large');
    for (const each of await Promise.all(all.slice(0, 2))) expect(each.bytes).to.have.length(5);
  });

  it('goes on when the one leaves with whom it began, whose bytes nobody else pays for', async () => {
    const { asked, send } = hold('/a');
    const leader = new AbortController();
    const first = bring('/a', { signal: leader.signal });
    const second = bring('/a');
    await asked();
    leader.abort(new Error('gone'));
    expect((await rejection(first)).message).to.equal('gone');
    expect(inboundBudget.stats().arriving).to.equal(1);
    send(ok('bytes'));
    const { bytes, shared, release } = await second;
    expect([Buffer.from(bytes).toString(), shared]).to.deep.equal(['bytes', false]);
    expect(inboundBudget.stats()).to.deep.equal({ arriving: 0, bytes: 5 });
    release();
    expect(inboundBudget.stats().bytes).to.equal(0);
  });

  it('ends when all have left, and asks anew for who comes then', async () => {
    const { asked } = hold('/a');
    const callers = [new AbortController(), new AbortController()];
    const all = callers.map(({ signal }) => bring('/a', { signal }));
    await asked();
    for (const caller of callers) caller.abort(new Error('gone'));
    for (const each of all) await rejection(each);
    await until(() => server().open() === 0 && inboundBudget.stats().arriving === 0);
    say('/a', ok('anew'));
    expect(await textOf('/a')).to.equal('anew');
  });

  it('tells each what went wrong, and keeps nothing of it', async () => {
    const { asked, send } = hold('/a');
    const all = [bring('/a'), bring('/a')];
    await asked();
    send(`HTTP/1.1 404 None\r\n${fresh}content-length: 0\r\n\r\n`);
    for (const each of all) expect((await rejection(each)).code).to.equal('source_failed');
    expect(inboundBudget.stats()).to.deep.equal({ arriving: 0, bytes: 0 });
    say('/a', ok('well'));
    expect(await textOf('/a')).to.equal('well');
  });

  it('ends a download that comes too slowly for all who wait', async () => {
    const { asked, waiting } = hold('/a');
    const leader = new AbortController();
    const all = [bring('/a', { signal: leader.signal }), bring('/a'), bring('/a')];
    await asked();
    waiting[0]?.write('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\na');
    await until(() => inboundBudget.stats().bytes === 1);
    leader.abort(new Error('gone'));
    time = 60_000;
    expect((await rejection(all[0] as Promise<unknown>)).message).to.equal('gone');
    for (const each of all.slice(1)) expect((await rejection(each)).code).to.equal('source_timeout');
  });

  it('asks no server where it may not come', async () => {
    const busy = async () => {
      throw new GatewayError('busy');
    };
    const all = [bring('/a', { expect: busy }), bring('/a', { expect: busy })];
    for (const each of all) expect((await rejection(each)).code).to.equal('busy');
    expect(server().requests).to.have.length(0);
  });

  it('hands out what is kept without a reservation or a transfer, and holds it once', async () => {
    say('/a', ok('bytes', `${fresh}content-type: image/png\r\n`));
    const first = await bring('/a');
    const others = [await bring('/a'), await bring('/a')];
    for (const each of others) {
      expect(each).to.include({ bytes: first.bytes, type: 'image/png', shared: true });
    }
    expect(server().requests).to.have.length(1);
    expect(expected).to.equal(1);
    expect(uses()).to.deep.equal({ miss: 1, hit: 2 });
    expect(inboundBudget.stats()).to.deep.equal({ arriving: 0, bytes: 5 });
    for (const each of [first, ...others]) {
      expect(inboundBudget.stats().bytes).to.equal(5);
      each.release();
      each.release();
    }
    expect(inboundBudget.stats().bytes).to.equal(0);
    const full = createInboundBudget({ most: 0, bytes: 0, largest: 0 });
    const again = createSourceFiles({ source, inboundBudget: full });
    const wish = { tenant: 'a', accept: 'image/*', maxBytes: undefined, signal: AbortSignal.abort() };
    const checked = again.check(`${server().origin}/a`);
    const busy = () => Promise.reject(new GatewayError('busy'));
    expect((await again.bring(checked, { ...wish, expect: busy })).bytes).to.equal(first.bytes);
    full.close();
  });

  it('hands out to be moved what nobody else has', async () => {
    say('/a', ok('bytes', 'cache-control: no-store\r\n'));
    const { bytes, shared } = await bring('/a');
    expect(shared).to.equal(false);
    expect(structuredClone(bytes, { transfer: [bytes.buffer] })).to.have.length(5);
  });

  it('counts what was asked about', async () => {
    say('/a', ok('bytes', 'etag: "a"\r\n'));
    await bring('/a');
    routes['/a'] = (socket) => void socket.write('HTTP/1.1 304 Not Modified\r\netag: "a"\r\n\r\n');
    expect(await textOf('/a')).to.equal('bytes');
    expect(uses()).to.deep.equal({ miss: 1, revalidated: 1 });
    expect(expected).to.equal(2);
  });

  it('judges a url again, whoever checked it', async () => {
    const wish = { tenant: 'a', accept: '*/*', maxBytes: 1, signal: new AbortController().signal };
    const refused = files.bring({ href: 'https://127.0.0.1/' }, { ...wish, expect: async () => {} });
    expect((await rejection(refused)).code).to.equal('source_refused');
  });
});
