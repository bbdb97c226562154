import { expect } from 'chai';
import { shareGateway, type TestGateway } from './harness.js';

describe('the API', () => {
  let api: TestGateway;

  before(async () => {
    ({ api } = await shareGateway());
  });

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

  it('says nothing of limits where there are none', async () => {
    const { headers } = await api.call('/hello?name=Ada');
    expect(headers.get('ratelimit-policy')).to.equal(null);
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
    expect((await api.call('/readyz', { key: null })).json.data).to.include({ status: 'ready', threads: 1 });
    expect((await api.call('/readyz', { method: 'POST', key: null })).status).to.equal(405);
  });

  describe('keys', () => {
    it('takes Authorization: Bearer as well', async () => {
      const headers = { authorization: `Bearer ${api.key}` };
      expect((await api.call('/hello?name=Ada', { key: null, headers })).status).to.equal(200);
    });

    it('takes an empty ak for a missing one', async () => {
      const { status, json, headers } = await api.call('/hello?name=Ada&ak=', { key: null });
      expect([status, json.error.code]).to.deep.equal([401, 'key_missing']);
      expect(headers.get('www-authenticate')).to.match(/^Bearer/);
    });

    describe('that are sent where they are not read', () => {
      const secret = 'hg_secretSECRETsecretSECRET';
      for (const [what, path, headers, seen] of [
        ['nowhere', '/hello', {}, ''],
        ['x-api-key', '/hello', { 'x-api-key': secret }, 'the header x-api-key is not read'],
        ['api_key', `/hello?api_key=${secret}`, {}, 'the query parameter api_key is not read'],
        ['key', `/hello?key=${secret}`, {}, 'the query parameter key is not read'],
        ['apikey', `/hello?apikey=${secret}`, {}, 'the query parameter apikey is not read'],
        ['token', `/hello?token=${secret}`, {}, 'the query parameter token is not read'],
        ['Api-Key', `/hello?Api-Key=${secret}`, {}, 'the query parameter api-key is not read'],
        ['AK', `/hello?AK=${secret}`, {}, 'a query parameter ak in capital letters is not read'],
        ['an empty ak', '/hello?ak=', {}, 'the query parameter ak is empty'],
        [
          'a bare Authorization',
          '/hello',
          { authorization: secret },
          'an Authorization header without Bearer',
        ],
        [
          'Basic',
          '/hello',
          { authorization: `Basic ${secret}` },
          'an Authorization: Basic header is not read',
        ],
        [
          'Token',
          '/hello',
          { authorization: `Token ${secret}` },
          'an Authorization header of another scheme',
        ],
        ['Bearer and two words', '/hello', { authorization: `Bearer ${secret} b` }, 'followed by one key'],
      ] as [string, string, Record<string, string>, string][]) {
        it(`are told what is read: ${what}`, async () => {
          const { status, json } = await api.call(path, { key: null, headers });
          expect([status, json.error.code]).to.deep.equal([401, 'key_missing']);
          expect(json.error.message).to.contain(seen);
          expect(json.error.message)
            .to.contain('the query parameter ak')
            .and.to.contain('Authorization: Bearer');
          expect(JSON.stringify(json)).not.to.contain(secret);
        });
      }

      it('are all named at once', async () => {
        const { json } = await api.call(`/hello?token=${secret}`, {
          key: null,
          headers: { 'x-api-key': secret },
        });
        expect(json.error.message).to.match(
          /^No key was found: the header x-api-key and the query parameter token are not read\. Send your API key/,
        );
      });
    });

    it('refuses ak twice', async () => {
      const { status, json } = await api.call(`/hello?ak=${api.key}&name=Ada`);
      expect([status, json.error.details[0].field]).to.deep.equal([400, 'ak']);
    });

    it('refuses an unknown and a mistyped key alike', async () => {
      const typo = `${api.key.slice(0, -1)}${api.key.endsWith('a') ? 'b' : 'a'}`;
      for (const key of [typo, 'nonsense', `${api.key}x`]) {
        const { status, json } = await api.call('/hello?name=Ada', { key: encodeURIComponent(key) });
        expect([status, json.error.code]).to.deep.equal([401, 'key_invalid']);
        expect(JSON.stringify(json)).not.to.include(key);
      }
    });

    it('asks for the key before it looks at the input', async () => {
      expect((await api.call('/hello?times=no', { key: null })).status).to.equal(401);
    });

    it('never logs the key', async () => {
      await api.call('/hello?name=Ada');
      await api.call(`/hello?name=Ada&ak=${api.key}`);
      expect(JSON.stringify(api.log)).not.to.include(api.key.slice(3, -6));
    });
  });

  describe('parameters of several types', () => {
    /** The same text by each way that text can come. */
    async function sent(parameters: Record<string, string>) {
      const form = new FormData();
      for (const [name, value] of Object.entries(parameters)) form.set(name, value);
      const answers = await Promise.all([
        api.call(`/shape?${new URLSearchParams(parameters)}`),
        api.call('/shape', { body: new URLSearchParams(parameters) }),
        api.call('/shape', { body: form }),
      ]);
      const [first] = answers.map(({ json }) => json.data ?? json.error.details);
      for (const { json } of answers) expect(json.data ?? json.error.details).to.deep.equal(first);
      return first;
    }

    it('come out as what was meant', async () => {
      expect(await sent({ either: '{"a":1}' })).to.deep.equal({ either: { a: 1 } });
      expect(await sent({ either: 'a,b' })).to.deep.equal({ either: ['a', 'b'] });
      expect(await sent({ either: '["a,b"]' })).to.deep.equal({ either: ['a,b'] });
      expect(await sent({ shape: '{"kind":"square","side":2}' })).to.deep.equal({
        shape: { kind: 'square', side: 2 },
      });
    });

    it('are refused by the alternative that was meant, in JSON as in text', async () => {
      for (const [value, field, problem] of [
        [{ either: { a: 'x' } }, 'either.a', /^must be a number of at most 1000, but is the string "x"$/],
        [{ either: { aa: 1 } }, 'either.aa', /^is not known here/],
        [{ shape: { kind: 'circle' } }, 'shape.r', /^is required: a number/],
        [{ shape: { kind: 'circle', r: 1, side: 1 } }, 'shape.side', /^is not known here/],
        [
          { shape: { kind: 'oval' } },
          'shape.kind',
          /^must be one of circle, square, but is the string "oval"$/,
        ],
        [{ shape: { r: 1 } }, 'shape.kind', /^is required: one of circle, square$/],
      ] as [Record<string, unknown>, string, RegExp][]) {
        const texts = Object.entries(value).map(([name, each]): [string, string] => [
          name,
          JSON.stringify(each),
        ]);
        const { json } = await api.call('/shape', { body: value });
        for (const details of [json.error.details, await sent(Object.fromEntries(texts))]) {
          expect(details).to.have.length(1);
          expect(details[0].field).to.equal(field);
          expect(details[0].problem).to.match(problem);
        }
      }
    });
  });

  describe('text helpers', () => {
    it('diff two strings, from the query and from JSON', async () => {
      const query = await api.call('/text/diff-two-strings?a=one&b=one%0Atwo');
      expect(query.json.data).to.deep.equal({ diff: '@@ -1 +1,2 @@\n one\n+two' });
      const json = await api.call('/text/diff-two-strings', { body: { a: 'x\ny', b: 'x\nz', context: 0 } });
      expect(json.json.data).to.deep.equal({ diff: '@@ -2 +2 @@\n-y\n+z' });
    });

    it('take an empty text for a text', async () => {
      expect((await api.call('/text/diff-two-strings?a=&b=')).json.data).to.deep.equal({ diff: '' });
      expect((await api.call('/text/remove-stopwords?text=')).status).to.equal(200);
    });

    it('return the diff in a dry run too, which needs both texts', async () => {
      const { json } = await api.call('/text/diff-two-strings?a=1&b=2&dryrun=1');
      expect([json.data.diff, json.meta.dryrun]).to.deep.equal(['@@ -1 +1 @@\n-1\n+2', true]);
      const missing = await api.call('/text/diff-two-strings?a=1&dryrun=1');
      expect(missing.json.error.details.map(({ field }: { field: string }) => field)).to.deep.equal(['b']);
    });

    it('remove stopwords and leave every space', async () => {
      const { json } = await api.call('/text/remove-stopwords?text=The+cat+is+on+the+mat,+not+off.&keep=not');
      expect(json.data).to.deep.equal({ text: ' cat    mat, not .' });
      expect(json.meta.service).to.equal('text/remove-stopwords');
    });

    it('preview a dry run without a text', async () => {
      const { status, json } = await api.call('/text/remove-stopwords?dryrun=true');
      expect([status, json.data, json.meta.dryrun]).to.deep.equal([
        200,
        { operation: 'remove-stopwords' },
        true,
      ]);
    });

    it('say in words what a word is', async () => {
      const { json } = await api.call('/text/remove-stopwords?text=x&also=two+words');
      expect(json.error.details[0].field).to.equal('also.0');
      expect(json.error.details[0].problem).to.match(/word/).and.not.to.include('\\p');
    });

    it('say which language a code of two letters is', async () => {
      for (const [said, meant] of [
        ['en', 'eng'],
        ['de', 'deu'],
        ['es', 'spa'],
      ]) {
        const { json } = await api.call(`/text/remove-stopwords?text=x&language=${said}`);
        expect(json.error.details[0].field).to.equal('language');
        expect(json.error.details[0].problem).to.match(new RegExp(`; did you mean "${meant}"\\?$`));
      }
    });
  });
});
