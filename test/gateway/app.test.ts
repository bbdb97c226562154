import { expect } from 'chai';
import { type Answer, type CallInit, shareGateway, type TestGateway } from './harness.js';

describe('the API', () => {
  let api: TestGateway;

  before(async () => {
    ({ api } = await shareGateway());
  });

  const withoutKey = (path: string, init: CallInit = {}) => api.call(path, { key: null, ...init });
  const codeOf = ({ status, json }: Answer) => `${status} ${json.error?.code ?? 'ok'}`;
  const fieldsOf = ({ json }: Answer) => json.error.details.map(({ field }: { field: string }) => field);

  describe('envelope', () => {
    it('holds data and meta on success', async () => {
      const { status, json, headers } = await api.call('/hello?name=Ada');
      const request_id = headers.get('x-request-id');
      expect([status, json.ok, json.data.greeting]).to.deep.equal([200, true, 'Hello Ada!']);
      expect(json.meta).to.deep.equal({ service: 'hello', dryrun: false, request_id });
      // The handler gets nothing of the key.
      expect(json.data.context).to.deep.equal({ service: 'hello', request_id });
      expect(JSON.stringify(json)).not.to.include(api.key);
    });

    it('holds code and message on failure, with the service where the path is a helper’s', async () => {
      const missing = await withoutKey('/hello?name=Ada');
      expect([codeOf(missing), missing.json.meta.service]).to.deep.equal(['401 key_missing', 'hello']);
      const nowhere = await api.call('/nowhere');
      expect([codeOf(nowhere), nowhere.json.meta.service]).to.deep.equal(['404 not_found', null]);
    });
  });

  describe('methods', () => {
    it('answers 405 to any other, naming those that are allowed', async () => {
      const { status, json, headers } = await withoutKey('/hello?name=Ada', { method: 'DELETE' });
      expect([status, headers.get('allow')]).to.deep.equal([405, 'GET, HEAD, POST, OPTIONS']);
      expect([json.error, json.meta.service]).to.deep.equal([
        { code: 'method_not_allowed', message: 'This path takes GET, HEAD, POST and OPTIONS, not DELETE.' },
        'hello',
      ]);
      for (const method of ['PUT', 'POST']) {
        const ready = await withoutKey('/readyz', { method });
        expect(ready.json.error.message).to.equal(`This path takes GET, HEAD and OPTIONS, not ${method}.`);
      }
    });

    it('answers HEAD as GET, without a body', async () => {
      const head = await api.call('/hello?name=Ada', { method: 'HEAD' });
      expect([head.status, head.bytes.length]).to.deep.equal([200, 0]);
      expect(Number(head.headers.get('content-length'))).to.be.above(0);
      expect((await api.call('/hello', { method: 'HEAD' })).status).to.equal(400);
    });

    it('answers OPTIONS with Allow', async () => {
      const { status, headers } = await withoutKey('/hello', { method: 'OPTIONS' });
      expect([status, headers.get('allow')]).to.deep.equal([204, 'GET, HEAD, POST, OPTIONS']);
    });

    it('answers CORS to a configured origin alone', async () => {
      for (const [origin, allowed] of [
        ['https://app.example', 'https://app.example'],
        ['https://evil.example', null],
      ] as const) {
        const headers = { origin, 'access-control-request-method': 'POST' };
        const preflight = await withoutKey('/hello', { method: 'OPTIONS', headers });
        const refused = await api.call('/hello', { headers: { origin } });
        expect(refused.status).to.equal(400);
        for (const each of [preflight, refused])
          expect(each.headers.get('access-control-allow-origin')).to.equal(allowed);
      }
    });
  });

  it('lifts what is required in a dry run, and validates what is there', async () => {
    const { json } = await api.call('/hello?dryrun=1');
    expect([json.data, json.meta.dryrun]).to.deep.equal([{ operation: 'hello' }, true]);
    const wrong = await api.call('/hello?dryrun=true&times=9');
    expect([wrong.status, wrong.json.meta.dryrun]).to.deep.equal([400, true]);
    expect((await api.call('/text?dryrun=1&words=a,b,c')).json.data, 'the plugin’s own').to.deep.equal({
      count: 3,
    });
    expect((await api.call('/hello?dryrun=0&name=A')).json.meta.dryrun).to.equal(false);
    expect((await api.call('/hello?dryrun=yes&name=A')).status).to.equal(400);
  });

  it('names the path that was meant where none is served, without a key', async () => {
    for (const [path, meant] of [
      ['/text/difff', '/text/diff-two-strings'],
      ['/diff-two-strings', '/text/diff-two-strings'],
      ['/text/diff-two-strings/', '/text/diff-two-strings'],
      ['/TEXT/remove_stopwords', '/text/remove-stopwords'],
      ['/img/add-bordr', '/img/add-border'],
      ['/image/add-border', '/media/add-border'],
      ['/health', '/healthz'],
    ]) {
      const { status, json } = await withoutKey(path as string);
      expect([status, json.error.code]).to.deep.equal([404, 'not_found']);
      expect(json.error.message).to.match(/^Nothing is served at this path\. Did you mean /);
      expect(json.error.message).to.contain(`Did you mean ${meant}?`);
    }
    // Where none is near, what was sent is not echoed.
    for (const path of ['//', '/nowhere', '/wp-login.php', `/${'a/'.repeat(2000)}`, '/%00%ff'])
      expect((await withoutKey(path)).json.error.message, path).to.equal('Nothing is served at this path.');
  });

  it('sends bytes as the plugin made them, and lets no browser take them for a page', async () => {
    const { headers, bytes } = await api.call('/text?words=%3Cscript%3E');
    expect(new TextDecoder().decode(bytes)).to.equal('<script>');
    expect(headers.get('content-type')).to.equal('text/plain; charset=utf-8');
    expect(headers.get('x-content-type-options')).to.equal('nosniff');
    expect(headers.get('content-security-policy')).to.include('sandbox');
    expect(headers.get('ratelimit-policy'), 'there are no limits').to.equal(null);
  });

  it('needs no key for its health', async () => {
    expect((await withoutKey('/healthz')).json.data).to.deep.equal({ status: 'alive' });
    expect((await withoutKey('/readyz')).json.data).to.include({ status: 'ready', threads: 1 });
  });

  describe('keys', () => {
    it('may come as Authorization: Bearer', async () => {
      const headers = { authorization: `Bearer ${api.key}` };
      expect((await withoutKey('/hello?name=Ada', { headers })).status).to.equal(200);
    });

    const secret = 'hg_secretSECRETsecretSECRET';
    for (const [what, query, headers, seen] of [
      ['nowhere', '', {}, 'Send your API key in'],
      ['x-api-key', '', { 'x-api-key': secret }, 'the header x-api-key is not read'],
      ['api_key', `?api_key=${secret}`, {}, 'the query parameter api_key is not read'],
      ['key', `?key=${secret}`, {}, 'the query parameter key is not read'],
      ['apikey', `?apikey=${secret}`, {}, 'the query parameter apikey is not read'],
      ['token', `?token=${secret}`, {}, 'the query parameter token is not read'],
      ['Api-Key', `?Api-Key=${secret}`, {}, 'the query parameter api-key is not read'],
      ['AK', `?AK=${secret}`, {}, 'a query parameter ak in capital letters is not read'],
      ['an empty ak', '?ak=', {}, 'the query parameter ak is empty'],
      ['a bare header', '', { authorization: secret }, 'an Authorization header without Bearer'],
      ['Basic', '', { authorization: `Basic ${secret}` }, 'an Authorization: Basic header is not read'],
      ['Token', '', { authorization: `Token ${secret}` }, 'an Authorization header of another scheme'],
      ['two words', '', { authorization: `Bearer ${secret} b` }, 'followed by one key'],
      [
        'two',
        `?token=${secret}`,
        { 'x-api-key': secret },
        ': the header x-api-key and the query parameter token',
      ],
    ] as [string, string, Record<string, string>, string][]) {
      it(`that are sent where they are not read get an answer that says where they are: ${what}`, async () => {
        // Before the input is read.
        const answer = await withoutKey(`/hello${query}`, { headers });
        expect(codeOf(answer)).to.equal('401 key_missing');
        expect(answer.headers.get('www-authenticate')).to.match(/^Bearer/);
        expect(answer.json.error.message)
          .to.contain(seen)
          .and.contain('the query parameter ak')
          .and.contain('Authorization: Bearer');
        expect(JSON.stringify(answer.json)).not.to.contain(secret);
      });
    }

    it('are refused where they come twice, and alike where they are unknown or mistyped', async () => {
      const twice = await api.call(`/hello?ak=${api.key}&name=Ada`);
      expect([twice.status, ...fieldsOf(twice)]).to.deep.equal([400, 'ak']);
      const typo = `${api.key.slice(0, -1)}${api.key.endsWith('a') ? 'b' : 'a'}`;
      for (const key of [typo, 'nonsense', `${api.key}x`]) {
        const answer = await api.call('/hello?name=Ada', { key });
        expect(codeOf(answer)).to.equal('401 key_invalid');
        expect(JSON.stringify(answer.json)).not.to.include(key);
      }
    });

    it('are never logged', async () => {
      await api.call('/hello?name=Ada');
      await api.call(`/hello?name=Ada&ak=${api.key}`);
      expect(JSON.stringify(api.log)).not.to.include(api.key.slice(3, -6));
    });
  });

  describe('text helpers', () => {
    it('answer in a dry run as otherwise where they can', async () => {
      const diff = (query: string) => api.call(`/text/diff-two-strings?dryrun=1&${query}`);
      expect((await diff('a=1&b=2')).json.data).to.deep.equal({ diff: '@@ -1 +1 @@\n-1\n+2' });
      expect(fieldsOf(await diff('a=1'))).to.deep.equal(['b']);
    });

    it('say in words what a word is, and which language a code of two letters is', async () => {
      for (const [query, field, problem] of [
        ['also=two+words', 'also.0', /word(?!.*\\p)/],
        ['language=en', 'language', /; did you mean "eng"\?$/],
        ['language=de', 'language', /; did you mean "deu"\?$/],
        ['language=es', 'language', /; did you mean "spa"\?$/],
      ] as const) {
        const { json } = await api.call(`/text/remove-stopwords?text=x&${query}`);
        expect(json.error.details[0].field).to.equal(field);
        expect(json.error.details[0].problem).to.match(problem);
      }
    });
  });
});
