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
import { codeOf, ok, rejection } from './raw-server.js';
import { serveRoutes } from './routes.js';

describe('createSourceFiles', () => {
  let source: Source;
  let inboundBudget: InboundBudget;
  let cache: Cache;
  let files: SourceFiles;
  /** How often a server was to be asked. */
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

  const busy = () => Promise.reject(new GatewayError('busy'));
  const bring = (path: string, wish: Partial<FileRequest & FileWait> = {}, by = files) =>
    by.bring(by.check(server().origin + path), {
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

  it('makes one request and one reservation for 50 that want the same at once', async () => {
    const { asked, waiting, send } = hold('/a');
    const all = Array.from({ length: 50 }, () => bring('/a'));
    await asked();
    expect([waiting.length, inboundBudget.stats().arriving]).to.deep.equal([1, 1]);
    send(ok('bytes'));
    const came = await Promise.all(all);
    expect([server().requests.length, expected]).to.deep.equal([1, 1]);
    expect(new Set(came.map(({ bytes }) => bytes)).size).to.equal(1);
    expect(came.every(({ shared }) => shared)).to.equal(true);
    expect(uses()).to.deep.equal({ miss: 1, shared: 49 });
  });

  it('coalesces neither tenants nor requests that differ', async () => {
    const { waiting, send } = hold('/a');
    const differing = [{}, { tenant: 'b' }, { accept: 'text/csv' }, { maxBytes: 4 }];
    const [small, ...all] = differing.map((wish) => bring('/a', wish)).reverse();
    await until(() => waiting.length === 4);
    send(ok('bytes', fresh));
    expect(await codeOf(small as Promise<unknown>)).to.equal('image_too_large');
    const came = await Promise.all(all);
    expect(new Set(came.map(({ bytes }) => bytes)).size).to.equal(3);
  });

  it('goes on when the call leaves that started it, and the calls that get the bytes hold them', async () => {
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

  it('ends when all have left, and asks anew for the next', async () => {
    const { asked } = hold('/a');
    const caller = new AbortController();
    const all = [1, 2].map(() => bring('/a', { signal: caller.signal }));
    await asked();
    caller.abort(new Error('gone'));
    for (const each of all) await rejection(each);
    await until(() => server().open() === 0 && inboundBudget.stats().arriving === 0);
    say('/a', ok('anew'));
    expect(await textOf('/a')).to.equal('anew');
  });

  it('gives each the error, and stores nothing of it', async () => {
    const { asked, send } = hold('/a');
    const all = [bring('/a'), bring('/a')];
    await asked();
    send(`HTTP/1.1 404 None\r\n${fresh}content-length: 0\r\n\r\n`);
    for (const each of all) expect(await codeOf(each)).to.equal('source_failed');
    expect(inboundBudget.stats()).to.deep.equal({ arriving: 0, bytes: 0 });
    say('/a', ok('well'));
    expect(await textOf('/a')).to.equal('well');
  });

  it('ends a download that comes too slowly for all who wait', async () => {
    const { asked, waiting } = hold('/a');
    const leader = new AbortController();
    const first = bring('/a', { signal: leader.signal });
    const others = [bring('/a'), bring('/a')];
    await asked();
    waiting[0]?.write('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\na');
    await until(() => inboundBudget.stats().bytes === 1);
    leader.abort(new Error('gone'));
    time = 60_000;
    expect((await rejection(first)).message).to.equal('gone');
    for (const each of others) expect(await codeOf(each)).to.equal('source_timeout');
  });

  it('asks no server where the call may not wait for one', async () => {
    for (const each of [bring('/a', { expect: busy }), bring('/a', { expect: busy })])
      expect(await codeOf(each)).to.equal('busy');
    expect(server().requests).to.have.length(0);
  });

  it('hands out what is cached without a reservation or a transfer, and holds it once', async () => {
    say('/a', ok('bytes', `${fresh}content-type: image/png\r\n`));
    const first = await bring('/a');
    const full = createInboundBudget({ most: 0, bytes: 0, largest: 0 });
    const beyond = createSourceFiles({ source, inboundBudget: full });
    const others = [await bring('/a', { expect: busy }), await bring('/a', { signal: AbortSignal.abort() })];
    for (const each of [...others, await bring('/a', {}, beyond)])
      expect(each).to.include({ bytes: first.bytes, type: 'image/png', shared: true });
    full.close();
    expect([server().requests.length, expected]).to.deep.equal([1, 1]);
    expect(uses()).to.deep.equal({ miss: 1, hit: 2 });
    expect(inboundBudget.stats()).to.deep.equal({ arriving: 0, bytes: 5 });
    for (const each of [first, ...others]) {
      expect(inboundBudget.stats().bytes).to.equal(5);
      each.release();
      each.release();
    }
    expect(inboundBudget.stats().bytes).to.equal(0);
  });

  it('hands out to be moved what no other call has', async () => {
    say('/a', ok('bytes', 'cache-control: no-store\r\n'));
    const { bytes, shared } = await bring('/a');
    expect(shared).to.equal(false);
    expect(structuredClone(bytes, { transfer: [bytes.buffer] })).to.have.length(5);
  });

  it('counts what was revalidated', async () => {
    say('/a', ok('bytes', 'etag: "a"\r\n'));
    await bring('/a');
    routes['/a'] = (socket) => void socket.write('HTTP/1.1 304 Not Modified\r\netag: "a"\r\n\r\n');
    expect(await textOf('/a')).to.equal('bytes');
    expect(uses()).to.deep.equal({ miss: 1, revalidated: 1 });
    expect(expected).to.equal(2);
  });
});
