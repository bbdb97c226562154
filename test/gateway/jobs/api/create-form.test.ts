import { once } from 'node:events';
import { expect } from 'chai';
import { until } from '../../../needs.js';
import { open } from '../../raw-client.js';
import { type JobApi, startJobApi } from './job-api.js';

type Part = [name: string, value: string | Blob, fileName?: string];

const picture = (text: string, type = 'image/png') => new Blob([text], { type });

function formOf(parts: Part[]): FormData {
  const form = new FormData();
  for (const [name, value, fileName] of parts) {
    if (typeof value === 'string') form.append(name, value);
    else form.append(name, value, fileName ?? 'a.png');
  }
  return form;
}

describe('jobs/api: a job made of a form', () => {
  let api: JobApi;
  before(async () => {
    api = await startJobApi();
  });
  after(() => api?.close());
  afterEach(() => expect(api.held()).to.equal(0));

  const post = (parts: Part[], headers: Record<string, string> = {}) =>
    api.call('/jobs', { body: formOf(parts), headers });
  const textOf = (name: string) => Buffer.from(api.stored.get(name) ?? []).toString();

  it('has an item of each file, in their order, and the other fields in each', async () => {
    const { status, json } = await post([
      ['file', picture('one'), 'C:\\x\\one.png'],
      ['color', 'rot'],
      ['service', 'media/add-border'],
      ['file', picture('two', 'image/jpeg'), 'two.jpg'],
      ['width', '7'],
      ['webhook', 'https://example.com/hook'],
    ]);
    expect(status).to.equal(202);
    const { id, total } = json.data;
    expect(total).to.equal(2);
    const items = await api.store.start([0, 1].map((index) => ({ job: id, index })));
    const fields = [
      ['color', 'rot'],
      ['width', '7'],
    ];
    const one = { field: 'file', type: 'image/png', name: 'one.png', bytes: 3 };
    const two = { field: 'file', type: 'image/jpeg', name: 'two.jpg', bytes: 3 };
    expect(items.map(({ input }) => input)).to.deep.equal([
      { fields, files: [one] },
      { fields, files: [two] },
    ]);
    expect([textOf(`${id}/in/0/file`), textOf(`${id}/in/1/file`)]).to.deep.equal(['one', 'two']);
    expect((await api.store.job('ten_acme', id))?.webhook_url).to.equal('https://example.com/hook');
  });

  it('keeps a file once that all items share', async () => {
    const { status, json } = await post([
      ['service', 'media/add-watermark'],
      ['file', picture('one')],
      ['mark', picture('logo')],
      ['file', picture('two')],
    ]);
    expect(status).to.equal(202);
    const { id } = json.data;
    const names = [...api.stored.keys()].filter((name) => name.startsWith(id));
    expect(names.sort()).to.deep.equal([`${id}/in/0/file`, `${id}/in/1/file`, `${id}/in/all/mark`]);
    const [item] = await api.store.start([{ job: id, index: 1 }]);
    expect(item?.input.files.at(-1)).to.deep.equal({
      field: 'mark',
      type: 'image/png',
      name: 'a.png',
      bytes: 4,
      shared: true,
    });
  });

  it('gives files to the one that the helper requires, by its own name or as file', async () => {
    const { status, json } = await post([
      ['service', 'odd/files'],
      ['file', picture('one')],
      ['logo', picture('two')],
      ['webhook', '{"url":"https://example.com/hook"}'],
    ]);
    expect(status).to.equal(202);
    const items = await api.store.start([0, 1].map((index) => ({ job: json.data.id, index })));
    expect(items.map(({ input }) => input.files.map(({ field }) => field))).to.deep.equal([
      ['logo'],
      ['logo'],
    ]);
    expect(textOf(`${json.data.id}/in/1/logo`)).to.equal('two');
  });

  const wrong: [string, Part[], string, RegExp][] = [
    ['no service', [['file', picture('x')]], 'service', /^is required$/],
    ['no file', [['service', 'media/resize']], 'file', /^is required: 1 to 10000 files/],
    [
      'text for a file',
      [
        ['service', 'media/resize'],
        ['file', 'x'],
      ],
      'file',
      /^must be a file$/,
    ],
    [
      'a file for text',
      [
        ['service', 'media/resize'],
        ['width', picture('x')],
      ],
      'width',
      /^must not be a file; the files of this helper are called file$/,
    ],
    [
      'a helper without files',
      [
        ['service', 'text/remove-stopwords'],
        ['file', picture('x')],
      ],
      'file',
      /^is not taken by this helper/,
    ],
    [
      'a helper of several files',
      [
        ['service', 'reads'],
        ['file', picture('x')],
      ],
      'file',
      /^cannot make items: this helper takes several files \(letter, any, logo\)/,
    ],
    [
      'files of a helper of several, by their own names',
      [
        ['service', 'reads'],
        ['letter', picture('x')],
        ['logo', picture('x')],
      ],
      'letter',
      /^cannot make items: this helper takes several files \(letter, any, logo\)/,
    ],
    ['a form for a helper without files', [['service', 'text/remove-stopwords']], 'inputs', /so send JSON$/],
    ['no file of a helper that names its own', [['service', 'odd/files']], 'logo', /^is required: 1 to/],
    [
      'two logos',
      [
        ['service', 'media/add-watermark'],
        ['mark', picture('x')],
        ['mark', picture('x')],
        ['file', picture('x')],
      ],
      'mark',
      /must be given once$/,
    ],
    [
      'a field twice',
      [
        ['service', 'media/resize'],
        ['service', 'x'],
      ],
      'service',
      /^must be given once/,
    ],
    [
      'an unknown helper',
      [
        ['service', 'media/resise'],
        ['file', picture('x')],
      ],
      'service',
      /did you mean "media\/resize"/,
    ],
    [
      'a webhook that is no url',
      [
        ['service', 'media/resize'],
        ['webhook', 'x'],
        ['file', picture('x')],
      ],
      'webhook.url',
      /^is a string, but not a url/,
    ],
  ];
  for (const [what, parts, field, problem] of wrong) {
    it(`is refused for ${what}, and leaves nothing behind`, async () => {
      const before = api.stored.size;
      const { status, json } = await post(parts);
      expect(status).to.equal(400);
      const found = json.error.details.find((each: { field: string }) => each.field === field);
      expect(found?.problem, JSON.stringify(json)).to.match(problem);
      expect(api.stored.size).to.equal(before);
    });
  }

  it('takes no file where none was chosen', async () => {
    const body = [
      ...['--b', 'content-disposition: form-data; name="service"', '', 'media/resize'],
      ...['--b', 'content-disposition: form-data; name="file"; filename=""', '', '', '--b--', ''],
    ].join('\r\n');
    const headers = { 'content-type': 'multipart/form-data; boundary=b' };
    const { status, json } = await api.call('/jobs', { body, headers });
    expect([status, json.error.details[0].field]).to.deep.equal([400, 'file']);
  });

  it('has files of as many bytes as a call’s, and a bound on all', async () => {
    const file = picture('x'.repeat(19_990));
    const tooLarge = await post([
      ['service', 'media/resize'],
      ['file', file],
      ['file', picture('x'.repeat(20_001))],
    ]);
    expect([tooLarge.status, tooLarge.json.error.message]).to.deep.equal([
      413,
      'File 2 of the form is larger than the 20000 bytes that are accepted.',
    ]);
    const many = await post([['service', 'media/resize'], ...Array<Part>(25).fill(['file', file])]);
    expect([many.status, many.json.error.code]).to.deep.equal([413, 'too_large']);
    const text = await post([
      ['service', 'media/resize'],
      ['a', 'x'.repeat(8_001)],
    ]);
    expect(text.status).to.equal(413);
    const fields = await post([...Array(101).keys()].map((n): Part => [`f${n}`, 'x']));
    expect(fields.json.error.details[0].problem).to.equal('must not hold more than 100 text fields');
  });

  it('leaves nothing behind where a file cannot be put', async () => {
    const before = api.stored.size;
    api.broken.put = (name) => {
      if (name.endsWith('/2/file')) throw new Error('disk full');
    };
    const files = Array<Part>(40).fill(['file', picture('x')]);
    const { status } = await post([['service', 'media/resize'], ...files]);
    delete api.broken.put;
    expect(status).to.equal(500);
    expect(api.stored.size).to.equal(before);
  });

  for (const type of ['multipart/form-data; boundary=b', 'application/json']) {
    it(`leaves nothing behind where a body of ${type} breaks off`, async () => {
      const before = api.stored.size;
      const body = '--b\r\ncontent-disposition: form-data; name="file"; filename="a.png"\r\n\r\nabc';
      const head = 'POST /jobs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer acme\r\ncontent-length: 1000';
      const socket = open(api.url);
      socket.end(`${head}\r\ncontent-type: ${type}\r\n\r\n${body}`);
      socket.resume();
      await once(socket, 'close');
      await until(() => api.held() === 0);
      expect(api.stored.size).to.equal(before);
    });
  }
});

describe('jobs/api: what a tenant’s open jobs may hold', () => {
  let api: JobApi;
  before(async () => {
    api = await startJobApi({ maxOpenBytes: 200_000, maxResultBytes: 100 });
  });
  after(() => api?.close());

  const make = async (key: string, bytes = 10_000) => {
    const form = new FormData();
    form.set('service', 'media/add-border');
    form.set('file', new Blob(['x'.repeat(bytes)]), 'a.png');
    return api.call('/jobs', { body: form, key });
  };

  it('is bounded: a further job is refused until one has ended, and costs no other tenant a place', async () => {
    const first = (await make('acme')).json.data.id;
    expect((await make('acme')).status).to.equal(202);
    const { status, json, headers } = await make('acme');
    expect([status, json.error.code]).to.deep.equal([429, 'tenant_busy']);
    expect(Number(headers.get('retry-after'))).to.be.above(0);
    expect((await make('other')).status).to.equal(202);
    await api.call(`/jobs/${first}`, { method: 'DELETE' });
    expect((await make('acme')).status).to.equal(202);
  });

  it('never shuts out the first, however large', async () => {
    const inputs = Array.from({ length: 300 }, () => ({ text: 'x' }));
    const body = { service: 'text/remove-stopwords', inputs };
    expect((await api.call('/jobs', { body, key: 'large' })).status).to.equal(202);
    expect((await api.call('/jobs', { body, key: 'large' })).status).to.equal(429);
  });

  it('does not shut out a request that is sent again', async () => {
    const send = (text: string) =>
      api.call('/jobs', {
        body: { service: 'text/remove-stopwords', inputs: Array.from({ length: 300 }, () => ({ text })) },
        key: 'again',
        headers: { 'idempotency-key': 'once' },
      });
    const first = await send('x');
    const again = await send('x');
    expect([first.status, again.status]).to.deep.equal([202, 202]);
    expect(again.json.data.id).to.equal(first.json.data.id);
    expect((await send('y')).status).to.equal(409);
  });

  it('is bounded for jobs that come at once, and what is refused leaves no file', async () => {
    const before = new Set(api.stored.keys());
    const made = await Promise.all(Array.from({ length: 8 }, () => make('many')));
    expect(made.map(({ status }) => status).sort()).to.deep.equal([202, 202, ...Array(6).fill(429)]);
    const ids = made.flatMap(({ json }) => json.data?.id ?? []);
    const stored = [...api.stored.keys()].filter((name) => !before.has(name));
    expect(stored.sort()).to.deep.equal(ids.map((id) => `${id}/in/0/file`).sort());
  });

  it('is bounded in results, those kept included, until their jobs are deleted', async () => {
    const { id } = (await make('results')).json.data;
    const result = { kind: 'json', type: 'application/json', bytes: 100, dryrun: false } as const;
    await api.store.finish([{ job: id, index: 0, end: { state: 'done', result } }]);
    const { status, json } = await make('results');
    expect([status, json.error.code]).to.deep.equal([429, 'tenant_busy']);
    expect(json.error.message).to.include('100 bytes');
    // One that leaves no room for another of its kind.
    const { id: large } = (await make('large-results')).json.data;
    const end = { state: 'done', result: { ...result, bytes: 60 } } as const;
    await api.store.finish([{ job: large, index: 0, end }]);
    expect((await make('large-results')).status).to.equal(429);
    expect((await make('other')).status).to.equal(202);
    await api.call(`/jobs/${id}`, { method: 'DELETE', key: 'results' });
    expect((await make('results')).status).to.equal(202);
  });

  it('is no more kept once it has ended', async () => {
    const { id } = (await make('tidy')).json.data;
    const files = () => [...api.stored.keys()].filter((name) => name.startsWith(id));
    expect(files()).to.deep.equal([`${id}/in/0/file`]);
    await api.call(`/jobs/${id}`, { method: 'DELETE', key: 'tidy' });
    expect(files()).to.deep.equal([]);
  });
});
