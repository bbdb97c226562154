import { expect } from 'chai';
import {
  type Answer,
  type CallInit,
  gauge,
  maxImageBytes,
  maxTextBytes,
  shareGateway,
  type TestGateway,
} from './harness.js';

describe('input of the API', () => {
  let api: TestGateway;

  before(async () => {
    ({ api } = await shareGateway());
  });

  const problems = ({ json }: Answer): string[] =>
    json.error.details.map(({ field, problem }: Record<string, string>) => `${field} ${problem}`);

  /** Posts text as this type. */
  const post = (body: CallInit['body'], type = 'application/json', more = {}) =>
    api.call('/hello', { method: 'POST', body, headers: { 'content-type': type, ...more } });

  /** A form of fields, each a text or a file of a name. */
  function formOf(...fields: [name: string, value: string | Blob][]): FormData {
    const form = new FormData();
    for (const [name, value] of fields) {
      if (typeof value === 'string') form.append(name, value);
      else form.append(name, value, 'x.png');
    }
    return form;
  }

  it('comes from the query, JSON, a form or multipart', async () => {
    const texts = { name: 'Ada', times: '2' };
    for (const [path, init] of [
      ['/hello?name=Ada&times=2', {}],
      ['/hello?name=Ada&times=2', { method: 'POST' }],
      ['/hello', { body: { name: 'Ada', times: 2 } }],
      ['/hello', { body: new URLSearchParams(texts) }],
      ['/hello', { body: formOf(...Object.entries(texts)) }],
      // The body wins.
      ['/hello?name=Query&times=2', { body: { name: 'Ada' } }],
    ] as const)
      expect((await api.call(path, init)).json.data.greeting).to.equal('Hello Ada! Hello Ada!');
    // Text is read as the wanted type; JSON is strict.
    expect(problems(await api.call('/hello', { body: texts }))).to.deep.equal([
      'times must be an integer from 1 to 5, but is the string "2"',
    ]);
  });

  it('gets every problem at once', async () => {
    const { status, json } = await api.call('/hello?times=9&nmae=x&times=8&%zz=1&z=%zz');
    expect([status, json.error.code]).to.deep.equal([400, 'invalid_input']);
    const fields = json.error.details.map(({ field }: { field: string }) => field);
    expect(fields.sort().join()).to.equal('name,nmae,query,times,times,z');
  });

  it('that could not be read is not called missing too', async () => {
    const body = formOf(['name', 'Ada'], ['name', 'Bob']);
    const twice = 'name must be given once, but is given more than once';
    expect(problems(await api.call('/hello', { body }))).to.deep.equal([twice]);
    expect(problems(await api.call('/hello?name=%ff'))).to.have.length(1);
  });

  it('is not echoed at length, whatever is wrong with it', async () => {
    const twice = Array.from({ length: 100 }, (_, at) => `"k${at}":1,"k${at}":1`).join();
    const long = 'x'.repeat(700);
    const answers = await Promise.all([
      post(`{${twice}}`),
      api.call('/hello', { body: new URLSearchParams(`${'a=1&'.repeat(2)}${long}=1&${long}=2`) }),
      api.call(`/hello?${Array.from({ length: 100 }, (_, at) => `k${at}=%zz`).join('&')}`),
    ]);
    for (const { status, json } of answers) {
      expect(status).to.equal(400);
      expect(json.error.details.length).to.be.at.most(51);
      for (const { field } of json.error.details) expect(field.length).to.be.below(70);
    }
  });

  it('has lists comma-separated in text and as arrays in JSON', async () => {
    const query = await api.call('/text?words=a,b');
    const json = await api.call('/text', { body: { words: ['a', 'b'] } });
    expect(new TextDecoder().decode(query.bytes)).to.equal('a\nb');
    expect(query.bytes).to.deep.equal(json.bytes);
  });

  it('must be an object in JSON, without a name twice and in UTF-8, and cannot reach into prototypes', async () => {
    for (const [body, problem] of [
      ['[]', /^body /],
      ['{', /^body /],
      ['null', /^body /],
      ['{"name":"a","name":"b"}', /^name /],
      [Buffer.from('{"name":"\xff"}', 'latin1'), /^body must be UTF-8 text$/],
      ['{"name":"Ada","__proto__":{"times":3}}', /^__proto__ /],
    ] as const) {
      const answer = await post(body);
      expect([answer.status, answer.json.error.code], String(body)).to.deep.equal([400, 'invalid_input']);
      expect(problems(answer)[0]).to.match(problem);
    }
    expect((await api.call('/hello?name=Ada&__proto__=1&constructor=2')).status).to.equal(400);
    const { json } = await api.call('/hello', { body: { name: 'Ädä 😀' } });
    expect(json.data.greeting).to.equal('Hello Ädä 😀!');
  });

  it('as curl sends it by default gets the hint that it is JSON', async () => {
    const [problem, ...others] = problems(await post('{"name":"Ada"}', 'application/x-www-form-urlencoded'));
    expect(problem).to.match(/^body looks like JSON.*Content-Type: application\/json/);
    expect(others).to.deep.equal([]);
  });

  it('that brings a picture twice, under another name or as text gets that problem alone', async () => {
    const file = new Blob(['x']);
    const twice = 'file must be given once, but is given more than once';
    const howTo = 'in a multipart/form-data body (curl: -F file=@photo.jpg)';
    for (const [form, problem] of [
      [formOf(['file', 'a'], ['file', file]), twice],
      [formOf(['file', file], ['file', file]), twice],
      [formOf(['image', file]), 'image must not be a file; the file field is called file'],
      [formOf(['file', 'x.png']), `file must be uploaded as a file, ${howTo}`],
    ] as const)
      expect(problems(await api.call('/team/size', { body: form }))).to.deep.equal([problem]);
    expect(problems(await api.call('/hello', { body: formOf(['image', file]) }))).to.include(
      'image is not taken by this helper, which works without a file',
    );
  });

  it('of another type is 415, and so is a compressed one', async () => {
    for (const answer of [
      await post('x', 'text/plain'),
      await post('{}', undefined, { 'content-encoding': 'gzip' }),
    ])
      expect([answer.status, answer.json.error.code]).to.deep.equal([415, 'unsupported_media_type']);
  });

  it('past the limit is 413, however it comes', async () => {
    const long = 'x'.repeat(maxTextBytes + 1);
    const chunked = new Blob([JSON.stringify({ name: long })]).stream();
    const type = { 'content-type': 'application/json' };
    const answers = await Promise.all([
      api.call('/hello', { body: { name: long } }),
      api.call('/hello', { body: new URLSearchParams({ name: long }) }),
      api.call('/hello', { body: formOf(['name', long]) }),
      api.call('/team/size', { body: formOf(['file', new Blob(['x'.repeat(maxImageBytes + 1)])]) }),
      api.call('/hello', { method: 'POST', body: chunked, headers: type, duplex: 'half' } as never),
    ]);
    for (const { status, json } of answers) {
      expect([status, json.error.code]).to.deep.equal([413, 'too_large']);
      expect(json.error.message).to.match(new RegExp(`${maxTextBytes}|${maxImageBytes}`));
    }
  });
});

const gif = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);

const long = 'this text is longer than 20 bytes';

describe('files of a helper', () => {
  let api: TestGateway;
  let origin: string;
  const accepts = new Map<string, string | undefined>();
  /** The paths that the server was asked for. */
  const asked: string[] = [];

  before(async () => {
    ({ api, origin } = await shareGateway(({ url = '', headers }, response) => {
      accepts.set(url, headers.accept);
      asked.push(url);
      const send = (type: string, text: string, more = {}) =>
        response.writeHead(200, { 'content-type': type, ...more }).end(text);
      if (url === '/no') response.writeHead(404).end('no');
      else if (url === '/untyped') response.end('untyped');
      else if (url.startsWith('/fresh/'))
        send('text/plain', url === '/fresh/short' ? 'short' : long, { 'cache-control': 'max-age=600' });
      else if (url === '/page') send('text/html; charset=utf-8', '<p>');
      else if (url === '/sheet') send('text/csv', 'a,'.repeat(50));
      else send('Application/PDF', '%PDF');
    }));
  });

  function byUrl(paths: Record<string, string>, key = api.key) {
    const urls = Object.entries(paths).map(([name, path]) => [name, origin + path]);
    return api.call(`/reads?${new URLSearchParams(urls)}`, { key });
  }

  function upload(field: string, bytes: string | Uint8Array, type: string, query = '') {
    const form = new FormData();
    form.set(field, new Blob([bytes as BlobPart], { type }), 'given');
    return api.call(`/reads${query}`, { body: form });
  }

  it('have type and name of where they came from', async () => {
    const { json } = await byUrl({ letter: '/a%20b/le%C3%9Fer.pdf?x=1', any: '/untyped' });
    expect(json.data).to.deep.equal({
      letter: { type: 'Application/PDF', name: 'leßer.pdf', text: '%PDF' },
      any: { type: 'application/octet-stream', name: 'untyped', text: 'untyped' },
    });
    expect(accepts.get('/a%20b/le%C3%9Fer.pdf?x=1')).to.equal('application/pdf, text/*');
    expect(accepts.get('/untyped')).to.equal('*/*');
    expect((await upload('letter', 'hello', 'text/plain')).json.data).to.deep.equal({
      letter: { type: 'text/plain', name: 'given', text: 'hello' },
    });
  });

  it('are of the types that their field accepts', async () => {
    const allowed = 'allowed are application/pdf, text/*';
    const uploaded = await upload('letter', 'x', 'image/x');
    const fetched = await byUrl({ letter: '/untyped' });
    for (const [{ status, json }, problem] of [
      [uploaded, `is a file of the type image/x; ${allowed}`],
      [fetched, `leads to a file of the type application/octet-stream; ${allowed}`],
    ] as const)
      expect([status, json.error.details]).to.deep.equal([400, [{ field: 'letter', problem }]]);
    expect((await byUrl({ letter: '/page' })).status).to.equal(200);
  });

  it('are of the type that their bytes say where they are pictures', async () => {
    const { status, json } = await upload('logo', gif, 'image/png');
    const problem = 'is a file of the type image/gif; allowed is image/png';
    expect([status, json.error.details]).to.deep.equal([400, [{ field: 'logo', problem }]]);
    expect((await upload('logo', png, 'text/plain')).json.data).to.deep.equal({ logo: { width: 1 } });
    const broken = await upload('logo', 'no picture', 'image/png');
    expect([broken.status, broken.json.error.code]).to.deep.equal([422, 'bad_image']);
    expect(broken.json.error.message).to.match(/^logo: /);
  });

  it('are no larger than their field accepts', async () => {
    const uploaded = await upload('letter', 'x'.repeat(21), 'text/plain');
    const large = { code: 'too_large', message: 'letter: The file has 21 bytes; 20 are accepted.' };
    expect([uploaded.status, uploaded.json.error]).to.deep.equal([413, large]);
    const fetched = await byUrl({ letter: '/sheet' });
    expect([fetched.status, fetched.json.error.code]).to.deep.equal([422, 'image_too_large']);
    expect(fetched.json.error.message).to.match(/^letter: The file at the url is larger than the 20 bytes/);
  });

  it('are named where they cannot be fetched', async () => {
    const message = 'any: The server behind the url answered 404.';
    expect((await byUrl({ any: '/no' })).json.error).to.deep.equal({ code: 'source_failed', message });
  });

  describe('that calls name by their urls', () => {
    beforeEach(() => {
      asked.length = 0;
    });

    const read = (path: string, field = 'any', key = api.key) => byUrl({ [field]: path }, key);

    it('are downloaded once while they are fresh, and are what they were for each worker', async () => {
      for (let round = 0; round < 3; round++) {
        const { json } = await read('/fresh/a.txt');
        expect(json.data.any.text).to.equal(long);
        expect(json.data.any).to.include({ type: 'text/plain', name: 'a.txt' });
      }
      expect(asked).to.deep.equal(['/fresh/a.txt']);
      expect(await gauge(api.gateway.connectUrl, 'input_bytes')).to.equal(0);
      expect(await gauge(api.gateway.connectUrl, 'cache_entries')).to.be.at.least(1);
    });

    it('are checked by each field that they are for', async () => {
      expect((await read('/fresh/bound', 'any')).status).to.equal(200);
      const { error } = (await read('/fresh/bound', 'letter')).json;
      expect(`${error.code} ${error.message}`).to.match(/^image_too_large letter: /);
    });

    it('may be cached, new and uploaded in one call', async () => {
      await read('/fresh/cached');
      for (let round = 0; round < 2; round++) {
        const { json } = await byUrl({ any: '/fresh/cached', letter: '/fresh/short' });
        expect([json.data.any.text, json.data.letter.text]).to.deep.equal([long, 'short']);
      }
      expect(asked).to.deep.equal(['/fresh/cached', '/fresh/short']);
      const { json } = await upload('letter', 'mine', 'text/plain', `?any=${origin}/fresh/cached`);
      expect([json.data.any.text, json.data.letter.text]).to.deep.equal([long, 'mine']);
      expect(asked).to.have.length(2);
    });

    it('are downloaded for each tenant alone', async () => {
      await read('/fresh/mine');
      await api.manage('/api/tenants', { name: 'other' });
      await read('/fresh/mine', 'any', (await api.manage('/api/tenants/other/keys')).key);
      await read('/fresh/mine');
      expect(asked).to.deep.equal(['/fresh/mine', '/fresh/mine']);
    });
  });
});
