import { expect } from 'chai';
import { fixture } from '../fixtures.js';
import { until } from '../until.js';
import { startTestGateway, type TestGateway } from './harness.js';

describe('the API', () => {
  let api: TestGateway;

  before(async () => {
    api = await startTestGateway({
      HELPER_POOL_THREADS: '2',
      HELPER_PLUGINS: fixture('plugins/good'),
      HELPER_CORS_ORIGINS: 'https://app.example',
    });
  });

  after(() => api.close());

  describe('envelope', () => {
    it('holds data and meta on success', async () => {
      const { status, json, headers } = await api.call('/hello?name=Ada');
      expect(status).to.equal(200);
      expect(json.ok).to.equal(true);
      expect(json.data.greeting).to.equal('Hello Ada!');
      expect(json.meta).to.deep.equal({
        service: 'hello',
        dryrun: false,
        request_id: headers.get('x-request-id'),
      });
    });

    it('holds code and message on failure, with the service where the path is a helper’s', async () => {
      const { status, json } = await api.call('/hello?name=Ada', { key: null });
      expect(status).to.equal(401);
      expect(json.error.code).to.equal('key_missing');
      expect(json.meta.service).to.equal('hello');
    });

    it('says null for the service on any other path', async () => {
      const { status, json } = await api.call('/nowhere');
      expect(status).to.equal(404);
      expect(json.error.code).to.equal('not_found');
      expect(json.meta.service).to.equal(null);
    });

    it('tells the handler service and request id, and nothing of the key', async () => {
      const { json } = await api.call('/hello?name=Ada');
      expect(json.data.context).to.deep.equal({ service: 'hello', request_id: json.meta.request_id });
      expect(JSON.stringify(json)).not.to.include(api.key);
    });
  });

  describe('methods', () => {
    it('answers 405 with Allow to any other, with the service', async () => {
      const { status, json, headers } = await api.call('/hello?name=Ada', { method: 'DELETE' });
      expect(status).to.equal(405);
      expect(json.error.code).to.equal('method_not_allowed');
      expect(json.meta.service).to.equal('hello');
      expect(headers.get('allow')).to.equal('GET, HEAD, POST, OPTIONS');
    });

    it('names the methods that are allowed', async () => {
      const { json } = await api.call('/hello', { method: 'DELETE', key: null });
      expect(json.error.message).to.equal('This path takes GET, HEAD, POST and OPTIONS, not DELETE.');
      const ready = await api.call('/readyz', { method: 'PUT', key: null });
      expect(ready.json.error.message).to.equal('This path takes GET, HEAD and OPTIONS, not PUT.');
    });

    it('answers HEAD as GET, without a body', async () => {
      const head = await api.call('/hello?name=Ada', { method: 'HEAD' });
      expect(head.status).to.equal(200);
      expect(head.bytes.length).to.equal(0);
      expect(Number(head.headers.get('content-length'))).to.be.above(0);
      expect((await api.call('/hello', { method: 'HEAD' })).status).to.equal(400);
    });

    it('answers OPTIONS with Allow', async () => {
      const { status, headers } = await api.call('/hello', { method: 'OPTIONS', key: null });
      expect(status).to.equal(204);
      expect(headers.get('allow')).to.include('POST');
    });

    it('answers CORS to a configured origin alone', async () => {
      const preflight = (origin: string) =>
        api.call('/hello', {
          method: 'OPTIONS',
          key: null,
          headers: { origin, 'access-control-request-method': 'POST' },
        });
      const known = await preflight('https://app.example');
      expect(known.headers.get('access-control-allow-origin')).to.equal('https://app.example');
      const unknown = await preflight('https://evil.example');
      expect(unknown.headers.get('access-control-allow-origin')).to.equal(null);
      const failed = await api.call('/hello', { headers: { origin: 'https://app.example' } });
      expect(failed.status).to.equal(400);
      expect(failed.headers.get('access-control-allow-origin')).to.equal('https://app.example');
    });
  });

  describe('dry runs', () => {
    it('lift what is required and answer the operation', async () => {
      const { status, json } = await api.call('/hello?dryrun=1');
      expect(status).to.equal(200);
      expect(json.data).to.deep.equal({ operation: 'hello' });
      expect(json.meta.dryrun).to.equal(true);
    });

    it('still judge what is there', async () => {
      const { status, json } = await api.call('/hello?dryrun=true&times=9');
      expect([status, json.meta.dryrun]).to.deep.equal([400, true]);
    });

    it('answer what the plugin says', async () => {
      expect((await api.call('/text?dryrun=1&words=a,b,c')).json.data).to.deep.equal({ count: 3 });
    });

    it('take true, 1, false and 0, nothing else', async () => {
      expect((await api.call('/hello?dryrun=0&name=A')).json.meta.dryrun).to.equal(false);
      expect((await api.call('/hello?dryrun=yes&name=A')).status).to.equal(400);
    });
  });

  describe('paths that are not served', () => {
    for (const [path, meant] of [
      ['/text/difff', '/text/diff-two-strings'],
      ['/diff-two-strings', '/text/diff-two-strings'],
      ['/text/diff-two-strings/', '/text/diff-two-strings'],
      ['/TEXT/remove_stopwords', '/text/remove-stopwords'],
      ['/img/add-bordr', '/img/add-border'],
      ['/image/add-border', '/media/add-border'],
      ['/health', '/healthz'],
    ] as const) {
      it(`are told ${meant} for ${path}, without a key`, async () => {
        const { status, json } = await api.call(path, { key: null });
        expect([status, json.error.code]).to.deep.equal([404, 'not_found']);
        expect(json.error.message).to.match(/^Nothing is served at this path\. Did you mean /);
        expect(json.error.message).to.contain(`Did you mean ${meant}?`);
      });
    }

    it('are told nothing where none is near, and not what was sent', async () => {
      for (const path of ['//', '/nowhere', '/wp-login.php', `/${'a/'.repeat(2000)}`, '/%00%ff']) {
        const { json } = await api.call(path, { key: null });
        expect(json.error.message, path).to.equal('Nothing is served at this path.');
      }
    });
  });

  it('sends bytes as the plugin made them, and lets no browser take them for a page', async () => {
    const { headers, bytes } = await api.call('/text?words=%3Cscript%3E');
    expect(new TextDecoder().decode(bytes)).to.equal('<script>');
    expect(headers.get('content-type')).to.equal('text/plain; charset=utf-8');
    expect(headers.get('x-content-type-options')).to.equal('nosniff');
    expect(headers.get('content-security-policy')).to.include('sandbox');
  });

  it('needs no key for its health', async () => {
    expect((await api.call('/healthz', { key: null })).json.data).to.deep.equal({ status: 'alive' });
    // A start waits for the first of its threads alone.
    const ready = await until(async () => {
      const answer = await api.call('/readyz', { key: null });
      return answer.json.data.threads === 2 && answer;
    });
    expect(ready.json.data).to.deep.equal({
      status: 'ready',
      engine: 'sharp',
      keys: 'available',
      threads: 2,
    });
    expect((await api.call('/readyz', { method: 'POST', key: null })).status).to.equal(405);
  });
});
