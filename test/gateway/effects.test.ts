import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { openApiDocument } from '../../gateway/docs/openapi/document.js';
import { toolsOf } from '../../gateway/mcp/tools.js';
import { signUrl } from '../../gateway/signing/sign-url.js';
import { runCommand } from './gateway-process.js';
import { startTestGateway, type TestGateway } from './harness.js';
import { master, signing } from './signing/signing.js';

const text = `{ type: 'object', required: ['to'], properties: { to: { type: 'string', maxLength: 100, description: 'To whom.' } } }`;

/** Each call that is made leaves a line. */
const helpers = (calls: string) => ({
  'act/notify.mjs': `import { appendFileSync } from 'node:fs';
    export default { summary: 'Notifies.', effects: true, input: ${text}, examples: [{ input: { to: 'example' } }],
      handler: ({ to }) => { appendFileSync(${JSON.stringify(calls)}, to + '\\n'); return { to }; } };`,
  'act/short.mjs': `import { appendFileSync } from 'node:fs';
    export default { summary: 'Notifies soon.', effects: true, idempotent: true, input: ${text}, inline: () => true,
      examples: [{ input: { to: 'example' } }],
      handler: ({ to }) => { appendFileSync(${JSON.stringify(calls)}, to + '\\n'); return { to }; } };`,
  'act/stamp.mjs': `import { appendFileSync } from 'node:fs';
    export default { summary: 'Stamps.', effects: true, source: 'image', input: { type: 'object', properties: {} },
      handler: (_, { image }) => { appendFileSync(${JSON.stringify(calls)}, 'stamp\\n'); return image.encode('png'); } };`,
});

describe('a helper with effects', () => {
  let folder: string;
  let plugins: string;
  let api: TestGateway;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'effects-'));
    plugins = join(folder, 'plugins');
    await mkdir(join(plugins, 'act'), { recursive: true });
    for (const [file, code] of Object.entries(helpers(join(folder, 'calls'))))
      await writeFile(join(plugins, file), code);
    const data = join(folder, 'data');
    api = await startTestGateway({
      HELPER_PLUGINS: plugins,
      HELPER_SIGNING_SECRET: master,
      HELPER_DATA_DIR: data,
    });
  });
  after(async () => {
    await api.close();
    await rm(folder, { recursive: true });
  });

  const calls = async () =>
    (await readFile(join(folder, 'calls'), 'utf8').catch(() => '')).split('\n').slice(0, -1);
  beforeEach(() => rm(join(folder, 'calls'), { force: true }));

  it('has none at the start, for its examples or otherwise', async () => {
    const other = await startTestGateway({ HELPER_PLUGINS: plugins });
    await other.close();
    expect(await calls()).to.deep.equal([]);
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

  it('is opened by no signed url, and says so to who sends one and to who wants one signed', async () => {
    const kid = api.gateway.firstKey?.id ?? '';
    const exp = Math.floor(Date.now() / 1000) + 600;
    const url = signUrl({ url: '/act/notify?to=a', kid, secret: signing.current(kid, 1), exp });
    const opened = await api.call(url, { key: null });
    expect([opened.status, opened.headers.get('allow')]).to.deep.equal([405, 'POST, OPTIONS']);
    const posted = await api.call(url, { key: null, method: 'POST' });
    expect([posted.status, posted.json.error.details[0].field]).to.deep.equal([400, 'sig']);
    expect(await calls()).to.deep.equal([]);
    const signed = await runCommand(['sign', '/act/notify?to=a', '--key', kid, '--json'], {
      HELPER_PLUGINS: plugins,
      HELPER_DATA_DIR: join(folder, 'data'),
      HELPER_SIGNING_SECRET: master,
    });
    expect(JSON.parse(signed.stdout).error.message).to.match(/^url names act\/notify, .* takes POST alone/);
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

  it('is called from the command line, here and there, with its parameters known', async () => {
    const here = await runCommand(['call', 'act/notify', '--to', 'here'], { HELPER_PLUGINS: plugins });
    const server = ['call', '--server', api.url, '--key', api.key, 'act/notify'];
    const there = await runCommand([...server, '--to', 'there'], {});
    expect([here.code, there.code]).to.deep.equal([0, 0]);
    expect(await calls()).to.deep.equal(['here', 'there']);
    const help = await runCommand([...server, '--help'], {});
    expect(help.stdout).to.match(/--to VALUE +To whom/);
  });

  it('is named by plugins check, and called by plugins test only where that is asked for', async () => {
    const check = await runCommand(['plugins', 'check', plugins], {});
    expect(check.stdout).to.match(/act\/notify .*\n +effects: POST only, an item of a job runs at most once/);
    const told = await runCommand(['plugins', 'test', plugins, '--runs', '3'], {});
    expect(told.stdout).to.include(
      '/act/notify  skipped: it changes something elsewhere: --effects calls it',
    );
    expect([told.code, await calls()]).to.deep.equal([0, []]);
    const tried = await runCommand(['plugins', 'test', plugins, '--runs', '3', '--effects'], {});
    expect(tried.code).to.equal(0);
    expect(await calls()).to.include('example');
  });
});
