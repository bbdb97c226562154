import { expect } from 'chai';
import { windowBytes } from '../../../../gateway/http/outbound-budget.js';
import type { ItemResult } from '../../../../gateway/jobs/model.js';
import { until } from '../../../needs.js';
import type { Answer } from '../../harness.js';
import { open } from '../../raw-client.js';
import { done, failed } from '../store/stored-jobs.js';
import { type JobApi, outputBytes, startJobApi } from './job-api.js';

const noJob = 'You have no such job. Jobs and their results are forgotten some time after their end.';

describe('jobs/api: jobs and their items', () => {
  let api: JobApi;
  before(async () => {
    api = await startJobApi();
  });
  after(() => api?.close());

  async function create(count: number, { service = 'text/remove-stopwords', key = 'acme' } = {}) {
    const answer = await api.call('/jobs', { key, body: { service, inputs: Array(count).fill({}) } });
    return answer.json.data.id as string;
  }

  const sendOnce = (key = 'acme') => {
    const body = { service: 'text/remove-stopwords', inputs: [{}] };
    return api.call('/jobs', { key, body, headers: { 'idempotency-key': 'once' } });
  };
  const ref = (job: string, index: number) => ({ job, index });
  const remove = (id: string, key = 'acme') => api.call(`/jobs/${id}`, { method: 'DELETE', key });
  const itemOf = (id: string, index: number | string) => api.call(`/jobs/${id}/items/${index}`);
  /** There is no such job, which is always said in the same words. */
  async function expectNone(id: string, key = 'acme'): Promise<void> {
    const asked = ['', '/items/0', '/items/1'].map((end) => api.call(`/jobs/${id}${end}`, { key }));
    for (const { status, json } of await Promise.all([...asked, remove(id, key)])) {
      expect([status, json.error?.code, json.meta.service], id).to.deep.equal([404, 'not_found', null]);
      expect(json.error.message).to.equal(noJob);
    }
  }

  it('are listed, the newest first, in pages, to their tenant alone', async () => {
    const key = 'lists';
    const ids = [await create(1, { key }), await create(2, { key }), await create(3, { key })];
    const list = async (query: string, as = key) => {
      const { jobs, next } = (await api.call(`/jobs${query}`, { key: as })).json.data;
      return [jobs.map(({ id, total }: { id: string; total: number }) => [id, total]), next];
    };
    const [first, next] = await list('?limit=2');
    expect(Object.fromEntries(first)).to.deep.equal({ [ids[2] ?? '']: 3, [ids[1] ?? '']: 2 });
    expect(await list(`?limit=2&after=${next}`)).to.deep.equal([[[ids[0], 1]], null]);
    expect(await list('', 'nobody')).to.deep.equal([[], null]);
  });

  it('are shown to a key that may call their helper', async () => {
    const key = 'scoped';
    const text = await create(1, { key });
    for (let n = 0; n < 3; n += 1) await create(1, { service: 'media/resize', key });
    const { jobs, next } = (await api.call('/jobs?limit=1', { key: 'scoped!text/*' })).json.data;
    expect([jobs.map(({ id }: { id: string }) => id), next]).to.deep.equal([[text], null]);
    await expectNone(text, 'scoped!media/*');
    expect((await api.call(`/jobs/${text}`, { key: 'scoped!text/*' })).json.data.state).to.equal('waiting');
  });

  it('are one and the same 404 where there is none', async () => {
    const foreign = await create(1, { key: 'umbrella' });
    for (const id of [foreign, 'job_0', 'x', '%00', '%ff', 'job_%27', `job_${'x'.repeat(5000)}`])
      await expectNone(id);
  });

  it('have their items in pages', async () => {
    const id = await create(5);
    await api.store.start([0, 1, 2].map((index) => ref(id, index)));
    await api.store.finish([done(ref(id, 0)), failed(ref(id, 1))]);
    const { data } = (await api.call(`/jobs/${id}?limit=3`)).json;
    expect(data).to.include({ id, state: 'running', total: 5, done: 1, failed: 1, next: 2 });
    expect(data.items).to.deep.equal([
      { index: 0, state: 'done', result: { type: 'application/json', bytes: 2, url: `/jobs/${id}/items/0` } },
      { index: 1, ...failed(ref(id, 1)).end },
      { index: 2, state: 'running' },
    ]);
    const rest = (await api.call(`/jobs/${id}?limit=3&after=2`)).json.data;
    const waiting = [3, 4].map((index) => ({ index, state: 'waiting' }));
    expect([rest.items, rest.next]).to.deep.equal([waiting, null]);
  });

  it('have pages of at most 1 MB, however long their errors are', async () => {
    const id = await create(300);
    const all = Array.from({ length: 300 }, (_, index) => ref(id, index));
    const problem = `must be "é" or ${'ö'.repeat(100)}`;
    const details = Array.from({ length: 50 }, (_, at) => ({ field: `field${at}`, problem }));
    const error = { code: 'invalid_input', message: 'No.', details };
    await api.store.start(all);
    await api.store.finish(all.map((item) => ({ ...item, end: { state: 'failed', error } })));
    const seen: object[] = [];
    for (let after: string | undefined = ''; after !== undefined; ) {
      const { bytes, json } = await api.call(`/jobs/${id}?limit=1000${after}`);
      expect(bytes.length).to.be.below(1_000_000);
      seen.push(...json.data.items);
      after = json.data.next === null ? undefined : `&after=${json.data.next}`;
    }
    expect(seen).to.deep.equal(all.map(({ index }) => ({ index, state: 'failed', error })));
  });

  it('are made one after another for a tenant, and beside those of others', async () => {
    const mine = await create(1);
    const other = await create(1, { key: 'other' });
    const running: number[] = [];
    let release = () => {};
    const gate = new Promise<void>((resolve) => (release = resolve));
    const { items } = api.store;
    api.broken.store = {
      async items(job, page) {
        if (job !== mine) return items(job, page);
        running.push((running.at(-1) ?? 0) + 1);
        await gate;
        const found = await items(job, page);
        running.push((running.at(-1) ?? 0) - 1);
        return found;
      },
    };
    const asked = [1, 2, 3].map(() => api.call(`/jobs/${mine}`));
    expect((await api.call(`/jobs/${other}`, { key: 'other' })).status).to.equal(200);
    release();
    expect((await Promise.all(asked)).map(({ status }) => status)).to.deep.equal([200, 200, 200]);
    expect(running).to.deep.equal([1, 0, 1, 0, 1, 0]);
    api.broken.store = {};
  });

  it('are gone at the second that they name, whenever they are removed, and free their Idempotency-Key', async () => {
    const send = () => sendOnce('expiring');
    const { id } = (await send()).json.data;
    await api.store.start([ref(id, 0)]);
    await api.store.finish([failed(ref(id, 0))]);
    const { expires_at } = (await api.call(`/jobs/${id}`, { key: 'expiring' })).json.data;
    expect((await send()).json.data.id).to.equal(id);
    api.broken.now = () => Date.parse(expires_at);
    await expectNone(id, 'expiring');
    expect((await api.call('/jobs', { key: 'expiring' })).json.data.jobs).to.deep.equal([]);
    const again = await send();
    expect([again.status, again.headers.get('idempotency-replayed')]).to.deep.equal([202, null]);
    expect(again.json.data.id).not.to.equal(id);
    delete api.broken.now;
  });

  it('answer with what the helper has answered, in the attempt that has ended an item', async () => {
    const id = await create(6);
    await api.store.start([0, 1, 2, 3, 4].map((index) => ref(id, index)));
    const headers = { etag: '"x"' };
    const picture = { kind: 'bytes', type: 'image/png', bytes: 3, headers, dryrun: false } as const;
    const json = { kind: 'json', type: 'application/json', bytes: 7, dryrun: true } as const;
    const error = { code: 'internal', message: 'It broke.' };
    await api.store.finish([
      { ...ref(id, 0), end: { state: 'done', result: picture } },
      { ...ref(id, 1), end: { state: 'done', result: json } },
      failed(ref(id, 2)),
      { ...ref(id, 3), end: { state: 'failed', error } },
      { ...ref(id, 4), end: { state: 'done', result: { ...picture, attempt: 2 } } },
    ]);
    const stored = { 0: 'png', 1: '{"a":1}', 4: 'of another attempt', '4-2': 'two' };
    for (const [name, text] of Object.entries(stored)) api.stored.set(`${id}/out/${name}`, Buffer.from(text));

    const bytes = await itemOf(id, 0);
    expect([bytes.status, Buffer.from(bytes.bytes).toString()]).to.deep.equal([200, 'png']);
    expect(Object.fromEntries(bytes.headers)).to.include({ 'content-type': 'image/png', etag: '"x"' });
    expect(Buffer.from((await itemOf(id, 4)).bytes).toString()).to.equal('two');
    const { data, meta } = (await itemOf(id, 1)).json;
    expect(data).to.deep.equal({ a: 1 });
    expect(meta).to.include({ service: 'text/remove-stopwords', dryrun: true });
    const refused = await itemOf(id, 2);
    expect(refused.status).to.equal(400);
    expect({ state: 'failed', error: refused.json.error }).to.deep.equal(failed(ref(id, 2)).end);
    expect(refused.json.meta.service).to.equal('text/remove-stopwords');

    const logged = api.log.length;
    const broken = await itemOf(id, 3);
    expect([broken.status, broken.json.error]).to.deep.equal([500, error]);
    expect(api.log.slice(logged).map(({ level, err }) => [level, err])).to.deep.equal([[30, undefined]]);
    expect(api.codes.at(-1)).to.equal('ok');

    const waiting = await itemOf(id, 5);
    const message = 'This item has no answer yet: it is waiting.';
    expect([waiting.status, waiting.json.error]).to.deep.equal([409, { code: 'conflict', message }]);
    expect([waiting.headers.get('retry-after'), waiting.json.meta.service]).to.deep.equal(['1', null]);
    for (const index of [6, '00', '-1', 'x', '1e0', '99999999999'])
      expect((await itemOf(id, index)).json.error.message).to.equal('This job has no such item.');
  });

  it('are cancelled as far as they wait', async () => {
    const id = await create(3);
    await api.store.start([ref(id, 0)]);
    const first = await remove(id);
    expect(first.status).to.equal(200);
    expect(first.json.data).to.include({ id, state: 'running', cancelled: 2 });
    expect((await remove(id)).json.data).to.deep.equal(first.json.data);
    expect((await itemOf(id, 2)).json.error.code).to.equal('not_found');
    await api.store.finish([done(ref(id, 0))]);
    const { data } = (await api.call(`/jobs/${id}`)).json;
    expect(data).to.include({ state: 'cancelled', done: 1 });
    expect(Date.parse(data.expires_at) - Date.parse(data.finished_at)).to.equal(3600_000);
  });

  it('are forgotten with all that they came to when they are deleted after their end', async () => {
    const { id } = (await sendOnce()).json.data;
    await api.store.finish([done(ref(id, 0))]);
    api.stored.set(`${id}/out/0`, Buffer.from('{}'));
    const { status, json } = await remove(id);
    expect([status, json.data.id, json.data.state]).to.deep.equal([200, id, 'done']);
    expect([...api.stored.keys()].filter((name) => name.startsWith(id))).to.deep.equal([]);
    await expectNone(id);
    expect((await sendOnce()).json.data.id).not.to.equal(id);
  });

  it('name other methods and near paths', async () => {
    const id = await create(1);
    const allowed = [
      ['/jobs', 'PUT', 'GET, HEAD, POST, OPTIONS'],
      [`/jobs/${id}`, 'POST', 'DELETE, GET, HEAD, OPTIONS'],
      [`/jobs/${id}/items/0`, 'DELETE', 'GET, HEAD, OPTIONS'],
    ] as const;
    for (const [path, method, allow] of allowed) {
      const answer = await api.call(path, { method });
      expect([answer.status, answer.headers.get('allow')], path).to.deep.equal([405, allow]);
    }
    for (const path of ['/job', '/jobs/'])
      expect((await api.call(path)).json.error.message).to.include('Did you mean /jobs?');
  });

  it('are asked for by what is known, with a key and no signature', async () => {
    const id = await create(1);
    const wrong: [string, string][] = [
      ['/jobs?limit=0', 'limit'],
      ['/jobs?limit=101', 'limit'],
      ['/jobs?after=x', 'after'],
      ['/jobs?limit=1&limit=2', 'limit'],
      [`/jobs/${id}?limit=1001`, 'limit'],
      [`/jobs/${id}?after=-1`, 'after'],
      [`/jobs/${id}/items/0?dryrun=1`, 'dryrun'],
      ['/jobs?kid=a&exp=1&sig=b', 'sig'],
    ];
    for (const [path, field] of wrong) {
      const { status, json } = await api.call(path);
      expect(status, path).to.equal(400);
      expect(
        json.error.details.map((each: { field: string }) => each.field),
        path,
      ).to.include(field);
    }
    const signed = await api.call('/jobs?kid=a&exp=1&sig=b', { key: null });
    expect([signed.status, signed.json.error.code]).to.deep.equal([401, 'key_missing']);
    expect((await api.call('/jobs?ak=')).status).to.equal(200);
  });

  describe('the answer of one', () => {
    let reads: number;
    beforeEach(() => {
      reads = 0;
      api.broken.get = () => {
        reads += 1;
      };
    });

    /** The path of an item that has come to this. */
    async function itemOf(stored: Buffer, kind: ItemResult['kind'] = 'bytes', key = 'acme'): Promise<string> {
      const body = { service: 'text/remove-stopwords', inputs: [{}] };
      const { id } = (await api.call('/jobs', { key, body })).json.data;
      const result = { kind, type: 'image/png', bytes: stored.length, dryrun: false };
      await api.store.finish([{ job: id, index: 0, end: { state: 'done', result } }]);
      api.stored.set(`${id}/out/0`, stored);
      return `/jobs/${id}/items/0`;
    }

    const large = Buffer.alloc(20 * windowBytes + 7, 'helper');
    const json = (length: number) => Buffer.from(JSON.stringify({ text: 'ä'.repeat(length) }));

    it('is every byte of what is stored, whatever its size', async () => {
      for (const bytes of [Buffer.alloc(0), Buffer.from('a'), large.subarray(0, windowBytes), large]) {
        const answer = await api.call(await itemOf(bytes));
        expect([answer.status, answer.headers.get('content-length')]).to.deep.equal([200, `${bytes.length}`]);
        expect(Buffer.from(answer.bytes).equals(bytes)).to.equal(true);
      }
      for (const length of [1, 3 * windowBytes]) {
        const answer = await api.call(await itemOf(json(length), 'json'));
        expect(answer.json.data).to.deep.equal({ text: 'ä'.repeat(length) });
        expect(answer.json.meta.service).to.equal('text/remove-stopwords');
      }
    });

    it('is not read for HEAD, which has the length all the same', async () => {
      const lengthAndType = ({ headers }: Answer) =>
        ['length', 'type'].map((of) => headers.get(`content-${of}`));
      for (const path of [
        await itemOf(large),
        await itemOf(json(9), 'json'),
        await itemOf(Buffer.from('a')),
      ]) {
        const head = await api.call(path, { method: 'HEAD' });
        expect([head.status, head.bytes.length, reads]).to.deep.equal([200, 0, 0]);
        expect(lengthAndType(head)).to.deep.equal(lengthAndType(await api.call(path)));
        reads = 0;
      }
    });

    /** Asks for a large answer, and reads nothing of it. */
    function ask(path: string) {
      const socket = open(api.url).pause();
      socket.write(`GET ${path}?ak=acme HTTP/1.1\r\nhost: x\r\n\r\n`);
      return socket;
    }

    it('is read only as its client reads it', async () => {
      const socket = ask(await itemOf(Buffer.alloc(64 * 2 ** 20)));
      await until(() => reads > 0);
      let [before, same] = [0, 0];
      await until(() => {
        same = before === reads ? same + 1 : 0;
        before = reads;
        return same === 20;
      });
      // What the system holds of it is some megabytes.
      expect(reads).to.be.below(128);
      expect(api.unsent()).to.equal(windowBytes);
      let received = 0;
      socket.on('data', (data) => (received += data.length)).resume();
      await until(() => received > 64 * 2 ** 20);
      socket.destroy();
      await until(() => api.unsent() === 0);
    });

    it('is refused while the tenant reads too little of what is on its way, and no other tenant’s', async () => {
      const path = await itemOf(Buffer.alloc(64 * 2 ** 20));
      const sockets = Array.from({ length: outputBytes / 2 / windowBytes }, () => ask(path));
      await until(() => api.unsent() >= outputBytes / 2);
      const refused = await api.call(path);
      expect([refused.status, refused.json.error.code]).to.deep.equal([429, 'tenant_busy']);
      expect(refused.headers.get('retry-after')).to.equal('1');
      const other = await itemOf(large, 'bytes', 'other');
      expect((await api.call(other, { key: 'other' })).status).to.equal(200);
      for (const socket of sockets) socket.destroy();
      await until(() => api.unsent() === 0);
      expect((await api.call(await itemOf(large))).status).to.equal(200);
    });

    it('breaks off where the rest cannot be read, and the log says why', async () => {
      const path = await itemOf(large);
      api.broken.get = () => {
        reads += 1;
        if (reads > 2) throw new Error('the disk is gone');
      };
      expect(await api.call(path).catch((error) => error)).to.be.instanceOf(TypeError);
      await until(() =>
        api.log.some(({ err }) => (err as Error | undefined)?.message === 'the disk is gone'),
      );
    });

    it('is not found where its job is being forgotten', async () => {
      const path = await itemOf(large);
      api.stored.clear();
      expect((await api.call(path)).json.error.code).to.equal('not_found');
    });
  });
});
