import { once } from 'node:events';
import { expect } from 'chai';
import { until } from '../../../needs.js';
import { open } from '../../raw-client.js';
import { formOf, type JobApi, startJobApi } from './job-api.js';

describe('jobs/api: a job made of a form', () => {
  let api: JobApi;
  before(async () => {
    api = await startJobApi();
  });
  after(() => api?.close());
  afterEach(() => expect(api.held()).to.equal(0));

  const post = (...parts: string[]) => api.call('/jobs', { body: formOf(...parts) });
  const textOf = (name: string) => Buffer.from(api.stored.get(name) ?? []).toString();
  const inputsOf = async (id: string) =>
    (await api.store.start([0, 1].map((index) => ({ job: id, index })))).map(({ input }) => input);

  it('has an item of each file, in their order, and the other fields in each', async () => {
    const { status, json } = await post(
      ...['file@one;C:\\x\\one.png', 'color=rot', 'service=media/add-border', 'file@two;two.jpg;image/jpeg'],
      ...['width=7', 'webhook=https://example.com/hook'],
    );
    const { id, total } = json.data;
    expect([status, total]).to.deep.equal([202, 2]);
    const fields = ['color,rot', 'width,7'].map((each) => each.split(','));
    const one = { field: 'file', type: 'image/png', name: 'one.png', bytes: 3 };
    const two = { field: 'file', type: 'image/jpeg', name: 'two.jpg', bytes: 3 };
    expect(await inputsOf(id)).to.deep.equal([one, two].map((file) => ({ fields, files: [file] })));
    expect([textOf(`${id}/in/0/file`), textOf(`${id}/in/1/file`)]).to.deep.equal(['one', 'two']);
    expect((await api.store.job('ten_acme', id))?.webhook_url).to.equal('https://example.com/hook');
  });

  it('keeps a file once that all items share', async () => {
    const { json } = await post('service=media/add-watermark', 'file@one', 'mark@logo', 'file@two');
    const { id } = json.data;
    const names = [...api.stored.keys()].filter((name) => name.startsWith(id));
    expect(names.sort()).to.deep.equal([`${id}/in/0/file`, `${id}/in/1/file`, `${id}/in/all/mark`]);
    const mark = { field: 'mark', type: 'image/png', name: 'a.png', bytes: 4, shared: true };
    expect((await inputsOf(id)).map(({ files }) => files.at(-1))).to.deep.equal([mark, mark]);
  });

  it('gives files to the one that the helper requires, by its own name or as file', async () => {
    const webhook = 'webhook={"url":"https://example.com/hook"}';
    const { json } = await post('service=odd/files', 'file@one', 'logo@two', webhook);
    const fields = (await inputsOf(json.data.id)).map(({ files }) => files.map(({ field }) => field));
    expect(fields).to.deep.equal([['logo'], ['logo']]);
    expect(textOf(`${json.data.id}/in/1/logo`)).to.equal('two');
  });

  const severalFiles = /^cannot make items: this helper takes several files \(letter, any, logo\)/;
  const notAFile = /^must not be a file; the files of this helper are called file$/;
  const wrong: [form: string, field: string, problem: RegExp][] = [
    ['file@x', 'service', /^is required$/],
    ['service=media/resize', 'file', /^is required: 1 to 10000 files/],
    ['service=media/resize file=x', 'file', /^must be a file$/],
    ['service=media/resize width@x', 'width', notAFile],
    ['service=text/remove-stopwords file@x', 'file', /^is not taken by this helper/],
    ['service=reads file@x', 'file', severalFiles],
    ['service=reads letter@x logo@x', 'letter', severalFiles],
    ['service=text/remove-stopwords', 'inputs', /so send JSON$/],
    ['service=odd/files', 'logo', /^is required: 1 to/],
    ['service=media/add-watermark mark@x mark@x file@x', 'mark', /must be given once$/],
    ['service=media/resize service=x', 'service', /^must be given once/],
    ['service=media/resise file@x', 'service', /did you mean "media\/resize"/],
    ['service=media/resize webhook=x file@x', 'webhook.url', /^is a string, but not a url/],
  ];
  it('is refused for what is wrong, says where, and leaves nothing behind', async () => {
    const before = api.stored.size;
    for (const [form, field, problem] of wrong) {
      const { status, json } = await post(...form.split(' '));
      expect(status, form).to.equal(400);
      const found = json.error.details.find((each: { field: string }) => each.field === field);
      expect(found?.problem, form).to.match(problem);
    }
    expect(api.stored.size).to.equal(before);
  });

  it('has no file where none was chosen', async () => {
    const body = [
      ...['--b', 'content-disposition: form-data; name="service"', '', 'media/resize'],
      ...['--b', 'content-disposition: form-data; name="file"; filename=""', '', '', '--b--', ''],
    ].join('\r\n');
    const headers = { 'content-type': 'multipart/form-data; boundary=b' };
    const { status, json } = await api.call('/jobs', { body, headers });
    expect([status, json.error.details[0].field]).to.deep.equal([400, 'file']);
  });

  it('has files of as many bytes as a call’s, and a bound on all', async () => {
    const file = (bytes: number) => `file@${'x'.repeat(bytes)}`;
    const resize = (...parts: string[]) => post('service=media/resize', ...parts);
    const { status, json } = await resize(file(19_990), file(20_001));
    const message = 'File 2 of the form is larger than the 20000 bytes that are accepted.';
    expect([status, json.error.message]).to.deep.equal([413, message]);
    const many = await resize(...Array<string>(25).fill(file(19_990)));
    expect([many.status, many.json.error.code]).to.deep.equal([413, 'too_large']);
    expect((await resize(`a=${'x'.repeat(8_001)}`)).status).to.equal(413);
    const fields = await post(...[...Array(101).keys()].map((n) => `f${n}=x`));
    expect(fields.json.error.details[0].problem).to.equal('must not hold more than 100 text fields');
  });

  it('leaves nothing behind where a file cannot be put', async () => {
    const before = api.stored.size;
    api.broken.put = (name) => {
      if (name.endsWith('/2/file')) throw new Error('disk full');
    };
    const { status } = await post('service=media/resize', ...Array<string>(40).fill('file@x'));
    delete api.broken.put;
    expect([status, api.stored.size]).to.deep.equal([500, before]);
  });

  it('leaves nothing behind where its body breaks off', async () => {
    const before = api.stored.size;
    const body = '--b\r\ncontent-disposition: form-data; name="file"; filename="a.png"\r\n\r\nabc';
    const head = 'POST /jobs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer acme\r\ncontent-length: 1000';
    for (const type of ['multipart/form-data; boundary=b', 'application/json']) {
      const socket = open(api.url);
      socket.end(`${head}\r\ncontent-type: ${type}\r\n\r\n${body}`);
      socket.resume();
      await once(socket, 'close');
      await until(() => api.held() === 0);
    }
    expect(api.stored.size).to.equal(before);
  });
});

describe('jobs/api: what a tenant’s open jobs may hold', () => {
  let api: JobApi;
  before(async () => {
    api = await startJobApi({ maxOpenBytes: 200_000, maxResultBytes: 100 });
  });
  after(() => api?.close());

  const make = (key: string) =>
    api.call('/jobs', { body: formOf('service=media/add-border', `file@${'x'.repeat(10_000)}`), key });
  const remove = (id: string, key: string) => api.call(`/jobs/${id}`, { method: 'DELETE', key });
  const filesOf = (id: string) => [...api.stored.keys()].filter((name) => name.startsWith(id));
  async function expectBusy(key: string): Promise<string> {
    const { status, json, headers } = await make(key);
    expect([status, json.error.code]).to.deep.equal([429, 'tenant_busy']);
    expect(Number(headers.get('retry-after'))).to.be.above(0);
    return json.error.message;
  }

  it('is bounded: a further job is refused until one has ended, and costs no other tenant a slot', async () => {
    const { id } = (await make('acme')).json.data;
    expect((await make('acme')).status).to.equal(202);
    await expectBusy('acme');
    expect((await make('other')).status).to.equal(202);
    expect(filesOf(id)).to.deep.equal([`${id}/in/0/file`]);
    await remove(id, 'acme');
    expect(filesOf(id)).to.deep.equal([]);
    expect((await make('acme')).status).to.equal(202);
  });

  it('never shuts out the first, however large, nor a request that is sent again', async () => {
    const send = (text: string, name: string) => {
      const body = { service: 'text/remove-stopwords', inputs: Array(300).fill({ text }) };
      return api.call('/jobs', { body, key: 'large', headers: { 'idempotency-key': name } });
    };
    const first = await send('x', 'once');
    const again = await send('x', 'once');
    expect([first.status, again.status]).to.deep.equal([202, 202]);
    expect(again.json.data.id).to.equal(first.json.data.id);
    expect((await send('y', 'once')).status).to.equal(409);
    expect((await send('x', 'twice')).status).to.equal(429);
  });

  it('is bounded for jobs that come at once, and what is refused leaves no file', async () => {
    const before = new Set(api.stored.keys());
    const made = await Promise.all(Array.from({ length: 8 }, () => make('many')));
    expect(made.map(({ status }) => status).sort()).to.deep.equal([202, 202, ...Array(6).fill(429)]);
    const ids = made.flatMap(({ json }) => json.data?.id ?? []);
    const stored = [...api.stored.keys()].filter((name) => !before.has(name));
    expect(stored.sort()).to.deep.equal(ids.map((id) => `${id}/in/0/file`).sort());
  });

  it('is bounded in results, those of ended jobs included, until their jobs are deleted', async () => {
    const result = { kind: 'json', type: 'application/json', dryrun: false } as const;
    const makeEnded = async (key: string, bytes: number): Promise<string> => {
      const { id } = (await make(key)).json.data;
      const end = { state: 'done', result: { ...result, bytes } } as const;
      await api.store.finish([{ job: id, index: 0, end }]);
      return id;
    };
    const id = await makeEnded('results', 100);
    expect(await expectBusy('results')).to.include('100 bytes');
    // One that leaves no room for another of its kind.
    await makeEnded('large-results', 60);
    await expectBusy('large-results');
    await remove(id, 'results');
    expect((await make('results')).status).to.equal(202);
  });
});
