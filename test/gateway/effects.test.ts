import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { openApiDocument } from '../../gateway/docs/openapi/document.js';
import { toolsOf } from '../../gateway/mcp/tools.js';
import { signUrl } from '../../gateway/signing/signed-url.js';
import type { EffectHelpers } from './effect-helpers.js';
import { runCommand, shareGateway, type TestGateway } from './harness.js';
import { master, signing } from './signing/signing.js';

describe('a helper with effects', () => {
  let effects: EffectHelpers;
  let api: TestGateway;
  let dataDir: string;
  let callsAtStart: string[];
  const calls = () => effects.calls();

  before(async () => {
    ({ api, effects, dataDir } = await shareGateway());
    callsAtStart = await calls();
  });

  beforeEach(() => effects.forgetCalls());

  it('has none at the start, for its examples or otherwise', () => {
    expect(callsAtStart).to.deep.equal([]);
  });

  it('is called by POST, and by GET and HEAD it is 405 that says so, with a key or without', async () => {
    const refused = [405, 'POST, OPTIONS'];
    for (const key of [api.key, null]) {
      const { status, headers, json } = await api.call('/act/notify?to=a', { key });
      expect([status, headers.get('allow')]).to.deep.equal(refused);
      expect([json.error.code, json.meta.service]).to.deep.equal(['method_not_allowed', 'act/notify']);
      expect(json.error.message).to.include('takes POST alone').and.include('signed url');
    }
    const head = await api.call('/act/notify?to=a', { method: 'HEAD' });
    expect([head.status, head.headers.get('allow')]).to.deep.equal(refused);
    const options = await api.call('/act/notify', { method: 'OPTIONS' });
    expect(options.headers.get('allow')).to.equal('POST, OPTIONS');
    expect(await calls()).to.deep.equal([]);
    for (const path of ['/act/notify', '/act/short']) {
      const { status, json } = await api.call(path, { body: { to: path } });
      expect([status, json.data]).to.deep.equal([200, { to: path }]);
    }
    expect(await calls()).to.deep.equal(['/act/notify', '/act/short']);
  });

  it('does nothing in a dry run, or for an input that is not valid', async () => {
    expect((await api.call('/act/notify', { body: { dryrun: true } })).status).to.equal(200);
    expect((await api.call('/act/notify', { body: {} })).status).to.equal(400);
    expect(await calls()).to.deep.equal([]);
  });

  it('is opened by no signed url, and says so', async () => {
    const kid = api.gateway.firstKey?.id ?? '';
    const exp = Math.floor(Date.now() / 1000) + 600;
    const url = signUrl({ url: '/act/notify?to=a', kid, secret: signing.current(kid, 1), exp });
    const opened = await api.call(url, { key: null });
    expect([opened.status, opened.headers.get('allow')]).to.deep.equal([405, 'POST, OPTIONS']);
    const posted = await api.call(url, { key: null, method: 'POST' });
    expect([posted.status, posted.json.error.details[0].field]).to.deep.equal([400, 'sig']);
    expect(await calls()).to.deep.equal([]);
  });

  it('makes each of several calls of one picture, and none of them is cached', async () => {
    const bytes = await readFile(new URL('../../../plugins/media/example.jpg', import.meta.url));
    const call = () => {
      const body = new FormData();
      body.set('file', new Blob([bytes], { type: 'image/jpeg' }), 'a.jpg');
      return api.call('/act/stamp', { body });
    };
    for (const { status, headers } of [...(await Promise.all([call(), call()])), await call()]) {
      expect([status, headers.get('etag'), headers.get('x-cache')]).to.deep.equal([200, null, null]);
      expect(headers.get('cache-control')).to.include('no-store');
    }
    expect(await calls()).to.deep.equal(['stamp', 'stamp', 'stamp']);
  });

  it('is no tool that only reads or may be repeated, and every other is', () => {
    const tools = [...toolsOf(api.gateway.registry).values()];
    for (const { helper, definition } of tools) {
      const { annotations = {} } = definition;
      if (helper.id.startsWith('act/')) {
        expect(annotations).to.not.have.any.keys('readOnlyHint', 'idempotentHint', 'destructiveHint');
        expect(annotations.openWorldHint).to.equal(true);
      } else expect(annotations).to.include({ readOnlyHint: true, idempotentHint: true });
    }
    expect(tools.length).to.be.above(5);
  });

  it('has POST alone in the document', () => {
    const { paths } = openApiDocument(api.gateway.registry, { version: '1' }) as {
      paths: Record<string, Record<string, Record<string, unknown>>>;
    };
    expect(Object.keys(paths['/act/notify'] ?? {})).to.deep.equal(['post']);
    expect(paths['/act/notify']?.post).to.include({ 'x-effects': true, 'x-idempotent': false });
    expect(paths['/act/short']?.post).to.include({ 'x-effects': true, 'x-idempotent': true });
    expect(Object.keys(paths['/media/resize'] ?? {})).to.deep.equal(['get', 'post']);
  });

  describe('from the command line', function () {
    this.timeout(60_000);
    const test = ['plugins', 'test', '--runs', '3'];

    it('is named by plugins check, and called by plugins test where that is asked for', async () => {
      const check = await runCommand(['plugins', 'check', effects.plugins], {});
      expect(check.stdout).to.match(
        /act\/notify .*\n +effects: POST only, an item of a job runs at most once/,
      );
      const skipped = await runCommand([...test, effects.plugins], {});
      expect(skipped.stdout).to.match(/act\/notify {2}skipped: it changes .* elsewhere: --effects calls it/);
      expect([skipped.code, await calls()]).to.deep.equal([0, []]);
      expect((await runCommand([...test, '--effects', effects.plugins], {})).code).to.equal(0);
      expect(await calls()).to.include('example');
    });

    it('is called here and there, with its parameters known, and in no url that is signed', async () => {
      const own = { HELPER_SIGNING_SECRET: master, HELPER_DATA_DIR: dataDir };
      const env = { HELPER_PLUGINS: effects.plugins, ...own };
      const server = ['call', '--server', api.url, '--key', api.key, 'act/notify'];
      const here = await runCommand(['call', 'act/notify', '--to', 'here'], env);
      const there = await runCommand([...server, '--to', 'there'], {});
      expect([here.code, there.code, await calls()]).to.deep.equal([0, 0, ['here', 'there']]);
      expect((await runCommand([...server, '--help'], {})).stdout).to.match(/--to VALUE +To whom/);
      const kid = api.gateway.firstKey?.id ?? '';
      const signed = await runCommand(['sign', '/act/notify?to=a', '--key', kid, '--json'], env);
      expect(JSON.parse(signed.stdout).error.message).to.match(/^url names act\/notify, .* takes POST alone/);
    });
  });
});
