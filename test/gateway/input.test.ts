import { expect } from 'chai';
import {
  gauge,
  maxImageBytes,
  maxTextBytes,
  operatorToken,
  shareGateway,
  type TestGateway,
} from './harness.js';

describe('input of the API', () => {
  let api: TestGateway;

  before(async () => {
    ({ api } = await shareGateway());
  });

  function problems(answer: {
    json: { error: { details: { field: string; problem: string }[] } };
  }): string[] {
    return answer.json.error.details.map(({ field, problem }) => `${field} ${problem}`);
  }

  it('comes from the query, JSON, a form or multipart', async () => {
    const form = new FormData();
    form.set('name', 'Ada');
    form.set('times', '2');
    const answers = await Promise.all([
      api.call('/hello?name=Ada&times=2'),
      api.call('/hello', { body: { name: 'Ada', times: 2 } }),
      api.call('/hello', { body: new URLSearchParams({ name: 'Ada', times: '2' }) }),
      api.call('/hello', { body: form }),
    ]);
    for (const { json } of answers) expect(json.data.greeting).to.equal('Hello Ada! Hello Ada!');
  });

  it('may be split, and the body wins', async () => {
    const { json } = await api.call('/hello?name=Query&times=2', { body: { name: 'Body' } });
    expect(json.data.greeting).to.equal('Hello Body! Hello Body!');
  });

  it('may come by POST without a body', async () => {
    expect((await api.call('/hello?name=Ada', { method: 'POST' })).status).to.equal(200);
  });

  it('is strict in JSON and read as the wanted type in text', async () => {
    const answer = await api.call('/hello', { body: { name: 'Ada', times: '2' } });
    expect(problems(answer)).to.deep.equal(['times must be an integer from 1 to 5, but is the string "2"']);
  });

  it('is told every problem at once', async () => {
    const answer = await api.call('/hello?times=9&nmae=x&times=8&%zz=1&z=%zz');
    expect(answer.status).to.equal(400);
    expect(answer.json.error.code).to.equal('invalid_input');
    expect(answer.json.error.details.map(({ field }: { field: string }) => field)).to.have.members([
      'times',
      'times',
      'name',
      'nmae',
      'query',
      'z',
    ]);
  });

  it('that could not be read is not called missing too', async () => {
    const form = new FormData();
    form.append('name', 'Ada');
    form.append('name', 'Bob');
    const twice = 'name must be given once, but is given more than once';
    expect(problems(await api.call('/hello', { body: form }))).to.deep.equal([twice]);
    expect(problems(await api.call('/hello?name=%ff'))).to.have.length(1);
  });

  it('is not echoed at length, whatever is wrong with it', async () => {
    const headers = { 'content-type': 'application/json' };
    const twice = Array.from({ length: 100 }, (_, at) => `"k${at}":1,"k${at}":1`).join();
    const long = 'x'.repeat(700);
    const answers = await Promise.all([
      api.call('/hello', { method: 'POST', headers, body: `{${twice}}` }),
      api.call('/hello', { body: new URLSearchParams(`${'a=1&'.repeat(2)}${long}=1&${long}=2`) }),
      api.call(`/hello?${Array.from({ length: 100 }, (_, at) => `k${at}=%zz`).join('&')}`),
    ]);
    for (const { status, json } of answers) {
      expect(status).to.equal(400);
      expect(json.error.details.length).to.be.at.most(51);
      for (const { field } of json.error.details) expect(field.length).to.be.below(70);
    }
  });

  it('takes lists comma-separated in text and as arrays in JSON', async () => {
    const query = await api.call('/text?words=a,b');
    const json = await api.call('/text', { body: { words: ['a', 'b'] } });
    expect(new TextDecoder().decode(query.bytes)).to.equal('a\nb');
    expect(query.bytes).to.deep.equal(json.bytes);
  });

  it('must be an object in JSON, without a name twice', async () => {
    const headers = { 'content-type': 'application/json' };
    for (const body of ['[]', '{', 'null', '{"name":"a","name":"b"}']) {
      const { status, json } = await api.call('/hello', { method: 'POST', body, headers });
      expect([status, json.error.code], body).to.deep.equal([400, 'invalid_input']);
    }
  });

  it('must be UTF-8', async () => {
    const headers = { 'content-type': 'application/json' };
    const body = Buffer.from('{"name":"\xff"}', 'latin1');
    const { status, json } = await api.call('/hello', { method: 'POST', body, headers });
    expect([status, json.error.details[0].problem]).to.deep.equal([400, 'must be UTF-8 text']);
    expect((await api.call('/hello', { body: { name: 'Ädä 😀' } })).json.data.greeting).to.equal(
      'Hello Ädä 😀!',
    );
  });

  it('cannot reach into prototypes', async () => {
    const headers = { 'content-type': 'application/json' };
    const body = '{"name":"Ada","__proto__":{"times":3}}';
    const { status, json } = await api.call('/hello', { method: 'POST', body, headers });
    expect([status, json.error.details[0].field]).to.deep.equal([400, '__proto__']);
    expect((await api.call('/hello?name=Ada&__proto__=1&constructor=2')).status).to.equal(400);
  });

  it('as curl sends it by default is told that it is JSON', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await api.call('/hello', { method: 'POST', headers, body: '{"name":"Ada"}' });
    expect(answer.status).to.equal(400);
    expect(problems(answer)).to.have.length(1);
    expect(problems(answer)[0]).to.match(/^body looks like JSON.*Content-Type: application\/json/);
  });

  it('that brings a picture twice is not told that there is none', async () => {
    const text = new FormData();
    text.append('file', 'a');
    text.append('file', new Blob(['x']), 'x.png');
    const files = new FormData();
    for (const name of ['x.png', 'y.png']) files.append('file', new Blob(['x']), name);
    for (const body of [text, files]) {
      expect(problems(await api.call('/team/size', { body }))).to.deep.equal([
        'file must be given once, but is given more than once',
      ]);
    }
  });

  it('that brings a picture under another name, or as text, is told that alone', async () => {
    const misnamed = new FormData();
    misnamed.append('image', new Blob(['x']), 'x.png');
    const text = new FormData();
    text.append('file', 'x.png');
    expect(problems(await api.call('/team/size', { body: misnamed }))).to.deep.equal([
      'image must not be a file; the file field is called file',
    ]);
    expect(problems(await api.call('/team/size', { body: text }))).to.deep.equal([
      'file must be uploaded as a file, in a multipart/form-data body (curl: -F file=@photo.jpg)',
    ]);
    expect(problems(await api.call('/hello', { body: misnamed }))).to.include(
      'image is not taken by this helper, which works without a file',
    );
  });

  it('of another type is 415, and so is a compressed one', async () => {
    const plain = await api.call('/hello', { body: 'x', headers: { 'content-type': 'text/plain' } });
    expect([plain.status, plain.json.error.code]).to.deep.equal([415, 'unsupported_media_type']);
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    expect((await api.call('/hello', { method: 'POST', body: '{}', headers })).status).to.equal(415);
  });

  it('past the limit is 413, however it comes', async () => {
    const long = 'x'.repeat(maxTextBytes + 1);
    const chunked = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(JSON.stringify({ name: long })));
        controller.close();
      },
    });
    const form = new FormData();
    form.set('name', long);
    const file = new FormData();
    file.set('file', new Blob(['x'.repeat(maxImageBytes + 1)]), 'x.png');
    const type = { 'content-type': 'application/json' };
    const answers = await Promise.all([
      api.call('/hello', { body: { name: long } }),
      api.call('/hello', { body: new URLSearchParams({ name: long }) }),
      api.call('/hello', { body: form }),
      api.call('/team/size', { body: file }),
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
      if (url === '/no') response.writeHead(404).end('no');
      else if (url === '/untyped') response.end('untyped');
      else if (url.startsWith('/fresh/')) {
        response.writeHead(200, { 'content-type': 'text/plain', 'cache-control': 'max-age=600' });
        response.end(url === '/fresh/short' ? 'short' : long);
      } else if (url === '/page')
        response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<p>');
      else if (url === '/sheet') response.writeHead(200, { 'content-type': 'text/csv' }).end('a,'.repeat(50));
      else response.writeHead(200, { 'content-type': 'Application/PDF' }).end('%PDF');
    }));
  });

  const byUrl = (urls: Record<string, string>) =>
    api.call(
      `/reads?${new URLSearchParams(Object.entries(urls).map(([name, path]) => [name, origin + path]))}`,
    );

  function upload(field: string, bytes: string | Uint8Array, type: string) {
    const form = new FormData();
    form.set(field, new Blob([bytes as BlobPart], { type }), 'given');
    return api.call('/reads', { body: form });
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

  it('are of the types that their field takes', async () => {
    const allowed = 'allowed are application/pdf, text/*';
    const uploaded = await upload('letter', 'x', 'image/x');
    expect(uploaded.status).to.equal(400);
    expect(uploaded.json.error.details).to.deep.equal([
      { field: 'letter', problem: `is a file of the type image/x; ${allowed}` },
    ]);
    const fetched = await byUrl({ letter: '/untyped' });
    expect(fetched.json.error.details).to.deep.equal([
      { field: 'letter', problem: `leads to a file of the type application/octet-stream; ${allowed}` },
    ]);
    expect((await byUrl({ letter: '/page' })).status).to.equal(200);
  });

  it('are of the type that their bytes say where they are pictures', async () => {
    const { status, json } = await upload('logo', gif, 'image/png');
    expect([status, json.error.details]).to.deep.equal([
      400,
      [{ field: 'logo', problem: 'is a file of the type image/gif; allowed is image/png' }],
    ]);
    expect((await upload('logo', png, 'text/plain')).json.data).to.deep.equal({ logo: { width: 1 } });
    const broken = await upload('logo', 'no picture', 'image/png');
    expect([broken.status, broken.json.error.code]).to.deep.equal([422, 'bad_image']);
    expect(broken.json.error.message).to.match(/^logo: /);
  });

  it('are no larger than their field takes', async () => {
    const uploaded = await upload('letter', 'x'.repeat(21), 'text/plain');
    expect([uploaded.status, uploaded.json.error.code]).to.deep.equal([413, 'too_large']);
    expect(uploaded.json.error.message).to.equal('letter: The file has 21 bytes; 20 are accepted.');
    const fetched = await byUrl({ letter: '/sheet' });
    expect([fetched.status, fetched.json.error.code]).to.deep.equal([422, 'image_too_large']);
    expect(fetched.json.error.message).to.match(/^letter: The file at the url is larger than the 20 bytes/);
  });

  it('are named where they cannot be fetched', async () => {
    const { json } = await byUrl({ any: '/no' });
    expect(json.error).to.deep.include({
      code: 'source_failed',
      message: 'any: The server behind the url answered 404.',
    });
  });

  describe('that calls name by their urls', () => {
    beforeEach(() => {
      asked.length = 0;
    });

    const read = (path: string, field = 'any', key = api.key) =>
      api.call(`/reads?${new URLSearchParams({ [field]: origin + path })}`, { key });

    /** A key of a tenant of its own. */
    async function keyOf(name: string): Promise<string> {
      const post = async (path: string, body: object) => {
        const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' };
        const url = new URL(path, api.gateway.connectUrl);
        return (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).json();
      };
      await post('/api/tenants', { name });
      return (await post(`/api/tenants/${name}/keys`, {})).data.key;
    }

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

    it('are held against each field that takes them', async () => {
      const accepted = await read('/fresh/bound', 'any');
      expect(accepted.status).to.equal(200);
      const { json } = await read('/fresh/bound', 'letter');
      expect(json.error).to.include({ code: 'image_too_large' });
      expect(json.error.message).to.match(/^letter: /);
    });

    it('may be kept, new and uploaded in one call', async () => {
      await read('/fresh/kept');
      const urls = { any: `${origin}/fresh/kept`, letter: `${origin}/fresh/short` };
      for (let round = 0; round < 2; round++) {
        const { json } = await api.call(`/reads?${new URLSearchParams(urls)}`);
        expect([json.data.any.text, json.data.letter.text]).to.deep.equal([long, 'short']);
      }
      expect(asked).to.deep.equal(['/fresh/kept', '/fresh/short']);
      const form = new FormData();
      form.set('letter', new Blob(['mine'], { type: 'text/plain' }), 'given');
      const { json } = await api.call(`/reads?any=${encodeURIComponent(urls.any)}`, { body: form });
      expect([json.data.any.text, json.data.letter.text]).to.deep.equal([long, 'mine']);
      expect(asked).to.have.length(2);
    });

    it('are downloaded for each tenant alone', async () => {
      await read('/fresh/mine');
      await read('/fresh/mine', 'any', await keyOf('other'));
      await read('/fresh/mine');
      expect(asked).to.deep.equal(['/fresh/mine', '/fresh/mine']);
    });
  });
});
