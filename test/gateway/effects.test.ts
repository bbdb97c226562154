import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { openApiDocument } from '../../gateway/docs/openapi/document.js';
import { toolsOf } from '../../gateway/mcp/tools.js';
import { signUrl } from '../../gateway/signing/signed-url.js';
import type { EffectHelpers } from './effect-helpers.js';
import { runCommand, shareGateway, type TestGateway } from './harness.js';
import { signing } from './signing/signing.js';

describe('a helper with effects', () => {
  let effects: EffectHelpers;
  let api: TestGateway;
  let callsAtStart: string[];
  const calls = () => effects.calls();

  before(async () => {
    ({ api, effects } = await shareGateway());
    callsAtStart = await calls();
  });

  beforeEach(() => effects.forgetCalls());

  it('has none at the start, for its examples or otherwise', () => {
    expect(callsAtStart).to.deep.equal([]);
  });

  it('is called by POST, and by GET and HEAD it is 405 that says so, with a key or without', async () => {
    for (const key of [api.key, null]) {
      const { status, headers, json } = await api.call('/act/notify?to=a', { key });
      expect([status, headers.get('allow'), json.error.code]).to.deep.equal([
        405,
        'POST, OPTIONS',
        'method_not_allowed',
      ]);
      expect(json.meta.service).to.equal('act/notify');
      expect(json.error.message).to.include('takes POST alone').and.include('signed url');
    }
    const head = await api.call('/act/notify?to=a', { method: 'HEAD' });
    expect([head.status, head.headers.get('allow')]).to.deep.equal([405, 'POST, OPTIONS']);
    expect((await api.call('/act/notify', { method: 'OPTIONS' })).headers.get('allow')).to.equal(
      'POST, OPTIONS',
    );
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

  it('is not called by plugins test', async () => {
    const tried = await runCommand(['plugins', 'test', effects.plugins, '--runs', '3'], {});
    expect(tried.stdout).to.include(
      '/act/notify  skipped: it changes something elsewhere: --effects calls it',
    );
    expect([tried.code, await calls()]).to.deep.equal([0, []]);
  }).timeout(30_000);
});
