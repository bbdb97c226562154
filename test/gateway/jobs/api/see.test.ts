import { expect } from 'chai';
import { windowBytes } from '../../../../gateway/http/outbound-budget.js';
import type { ItemResult } from '../../../../gateway/jobs/model.js';
import { until } from '../../../needs.js';
import { open } from '../../raw-client.js';
import { done, failed } from '../store/stored-jobs.js';
import { type JobApi, outputBytes, startJobApi } from './job-api.js';

describe('jobs/api: jobs and their items', () => {
  let api: JobApi;
  before(async () => {
    api = await startJobApi();
  });
  after(() => api?.close());

  async function create(count: number, service = 'text/remove-stopwords', key = 'acme'): Promise<string> {
    const answer = await api.call('/jobs', { key, body: { service, inputs: Array(count).fill({}) } });
    return answer.json.data.id;
  }

  const ref = (job: string, index: number) => ({ job, index });
  const codeOf = async (path: string, key = 'acme') => {
    const { status, json } = await api.call(path, { key });
    return [status, json.error?.code];
  };

  it('are listed, the newest first, in pages, to their tenant alone', async () => {
    const ids = [
      await create(1, undefined, 'lists'),
      await create(2, undefined, 'lists'),
      await create(3, undefined, 'lists'),
    ];
    const list = async (query: string) => (await api.call(`/jobs${query}`, { key: 'lists' })).json.data;
    const first = await list('?limit=2');
    expect(first.jobs.map(({ id, total }: { id: string; total: number }) => [id, total])).to.deep.equal([
      [ids[2], 3],
      [ids[1], 2],
    ]);
    const rest = await list(`?limit=2&after=${first.next}`);
    expect([rest.jobs.map(({ id }: { id: string }) => id), rest.next]).to.deep.equal([[ids[0]], null]);
    expect((await api.call('/jobs', { key: 'nobody' })).json.data).to.deep.equal({ jobs: [], next: null });
  });

  it('are shown to a key that may call their helper', async () => {
    const text = await create(1, 'text/remove-stopwords', 'scoped');
    for (let n = 0; n < 3; n += 1) await create(1, 'media/resize', 'scoped');
    const { jobs, next } = (await api.call('/jobs?limit=1', { key: 'scoped!text/*' })).json.data;
    expect([jobs.map(({ id }: { id: string }) => id), next]).to.deep.equal([[text], null]);
    for (const path of [`/jobs/${text}`, `/jobs/${text}/items/0`]) {
      expect(await codeOf(path, 'scoped!media/*')).to.deep.equal([404, 'not_found']);
    }
    const beyond = await api.call(`/jobs/${text}/items/1`, { key: 'scoped!media/*' });
    expect(beyond.json.error.message).to.include('no such job');
    const cancelled = await api.call(`/jobs/${text}`, { method: 'DELETE', key: 'scoped!media/*' });
    expect(cancelled.status).to.equal(404);
    expect((await api.call(`/jobs/${text}`, { key: 'scoped!text/*' })).json.data.state).to.equal('waiting');
  });

  it('are one and the same 404 where there is none', async () => {
    const foreign = await create(1, undefined, 'umbrella');
    const messages = new Set<string>();
    const paths = [foreign, 'job_0', 'x', '%00', '%ff', 'job_%27', `job_${'x'.repeat(5000)}`];
    for (const id of paths) {
      for (const [path, method] of [
        ['', 'GET'],
        ['/items/0', 'GET'],
        ['', 'DELETE'],
      ] as const) {
        const { status, json } = await api.call(`/jobs/${id}${path}`, { method });
        expect([status, json.error.code, json.meta.service], id).to.deep.equal([404, 'not_found', null]);
        messages.add(json.error.message);
      }
    }
    expect(messages.size).to.equal(1);
  });

  it('have their items in pages', async () => {
    const id = await create(5);
    await api.store.start([0, 1, 2].map((index) => ref(id, index)));
    await api.store.finish([done(ref(id, 0)), failed(ref(id, 1))]);
    const { data } = (await api.call(`/jobs/${id}?limit=3`)).json;
    expect(data).to.include({ id, state: 'running', total: 5, done: 1, failed: 1, next: 2 });
    expect(data.items).to.deep.equal([
      { index: 0, state: 'done', result: { type: 'application/json', bytes: 2, url: `/jobs/${id}/items/0` } },
      {
        index: 1,
        state: 'failed',
        error: { code: 'invalid_input', message: 'No.', details: [{ field: 'text', problem: 'is missing' }] },
      },
      { index: 2, state: 'running' },
    ]);
    const rest = (await api.call(`/jobs/${id}?limit=3&after=2`)).json.data;
    expect(rest.items.map(({ index, state }: never) => [index, state])).to.deep.equal([
      [3, 'waiting'],
      [4, 'waiting'],
    ]);
    expect(rest.next).to.equal(null);
  });

  it('have pages of at most 1 MB, however long their errors are', async () => {
    const id = await create(300);
    const all = Array.from({ length: 300 }, (_, index) => ref(id, index));
    const problem = `must be "é" or ${'ö'.repeat(100)}`;
    const details = Array.from({ length: 50 }, (_, at) => ({ field: `field${at}`, problem }));
    const error = { code: 'invalid_input', message: 'No.', details };
    await api.store.start(all);
    await api.store.finish(all.map((item) => ({ ...item, end: { state: 'failed', error } })));
    const seen: number[] = [];
    let after = '';
    for (let pages = 0; after !== 'end' && pages < 300; pages += 1) {
      const { bytes, json } = await api.call(`/jobs/${id}?limit=1000${after}`);
      expect(bytes.length).to.be.below(1_000_000);
      for (const item of json.data.items) {
        seen.push(item.index);
        expect(item.error).to.deep.equal(error);
      }
      after = json.data.next === null ? 'end' : `&after=${json.data.next}`;
    }
    expect(seen).to.deep.equal(all.map(({ index }) => index));
  });

  it('are made one after another for a tenant, and beside those of others', async () => {
    const mine = await create(1);
    const other = await create(1, undefined, 'other');
    let most = 0;
    let running = 0;
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { items } = api.store;
    api.broken.store = {
      async items(job, page) {
        if (job !== mine) return items(job, page);
        running += 1;
        most = Math.max(most, running);
        await gate;
        const found = await items(job, page);
        running -= 1;
        return found;
      },
    };
    const asked = [1, 2, 3].map(() => api.call(`/jobs/${mine}`));
    expect((await api.call(`/jobs/${other}`, { key: 'other' })).status).to.equal(200);
    release();
    expect((await Promise.all(asked)).map(({ status }) => status)).to.deep.equal([200, 200, 200]);
    expect(most).to.equal(1);
    api.broken.store = {};
  });

  it('are gone at the second that they name, whenever they are removed, and free their Idempotency-Key', async () => {
    const send = () =>
      api.call('/jobs', {
        key: 'expiring',
        body: { service: 'text/remove-stopwords', inputs: [{}] },
        headers: { 'idempotency-key': 'once' },
      });
    const { id } = (await send()).json.data;
    await api.store.start([ref(id, 0)]);
    await api.store.finish([failed(ref(id, 0))]);
    const { expires_at } = (await api.call(`/jobs/${id}`, { key: 'expiring' })).json.data;
    expect((await send()).json.data.id).to.equal(id);
    api.broken.now = () => Date.parse(expires_at);
    for (const path of [`/jobs/${id}`, `/jobs/${id}/items/0`]) {
      expect(await codeOf(path, 'expiring'), path).to.deep.equal([404, 'not_found']);
    }
    expect((await api.call('/jobs', { key: 'expiring' })).json.data.jobs).to.deep.equal([]);
    const cancelled = await api.call(`/jobs/${id}`, { method: 'DELETE', key: 'expiring' });
    expect(cancelled.status).to.equal(404);
    const again = await send();
    expect([again.status, again.headers.get('idempotency-replayed')]).to.deep.equal([202, null]);
    expect(again.json.data.id).not.to.equal(id);
    delete api.broken.now;
  });

  it('answer with the attempt that has ended an item, whatever another has left', async () => {
    const id = await create(1);
    const text = { kind: 'bytes', type: 'text/plain', bytes: 3, dryrun: false, attempt: 2 } as const;
    await api.store.finish([{ ...ref(id, 0), end: { state: 'done', result: text } }]);
    api.stored.set(`${id}/out/0-2`, Buffer.from('two'));
    api.stored.set(`${id}/out/0`, Buffer.from('one'));
    const { bytes } = await api.call(`/jobs/${id}/items/0`);
    expect(Buffer.from(bytes).toString()).to.equal('two');
  });

  it('answer with what the helper has answered', async () => {
    const id = await create(5);
    await api.store.start([0, 1, 2, 3].map((index) => ref(id, index)));
    const picture = {
      kind: 'bytes',
      type: 'image/png',
      bytes: 3,
      headers: { etag: '"x"' },
      dryrun: false,
    } as const;
    const json = { kind: 'json', type: 'application/json', bytes: 7, dryrun: true } as const;
    const error = { code: 'internal', message: 'It broke.' };
    await api.store.finish([
      { ...ref(id, 0), end: { state: 'done', result: picture } },
      { ...ref(id, 1), end: { state: 'done', result: json } },
      failed(ref(id, 2)),
      { ...ref(id, 3), end: { state: 'failed', error } },
    ]);
    api.stored.set(`${id}/out/0`, Buffer.from('png'));
    api.stored.set(`${id}/out/1`, Buffer.from('{"a":1}'));
    const item = (index: number | string) => api.call(`/jobs/${id}/items/${index}`);

    const bytes = await item(0);
    expect([bytes.status, Buffer.from(bytes.bytes).toString()]).to.deep.equal([200, 'png']);
    expect(bytes.headers.get('content-type')).to.equal('image/png');
    expect(bytes.headers.get('etag')).to.equal('"x"');
    const data = (await item(1)).json;
    expect(data.data).to.deep.equal({ a: 1 });
    expect(data.meta).to.include({ service: 'text/remove-stopwords', dryrun: true });
    const refused = await item(2);
    expect([refused.status, refused.json.error.details]).to.deep.equal([
      400,
      [{ field: 'text', problem: 'is missing' }],
    ]);
    expect(refused.json.meta.service).to.equal('text/remove-stopwords');

    const logged = api.log.length;
    const broken = await item(3);
    expect([broken.status, broken.json.error]).to.deep.equal([500, error]);
    expect(api.log.slice(logged).map(({ level, err }) => [level, err])).to.deep.equal([[30, undefined]]);
    expect(api.codes.at(-1)).to.equal('ok');

    const waiting = await item(4);
    expect([waiting.status, waiting.json.error.code, waiting.headers.get('retry-after')]).to.deep.equal([
      409,
      'conflict',
      '1',
    ]);
    expect([waiting.json.error.message, waiting.json.meta.service]).to.deep.equal([
      'This item has no answer yet: it is waiting.',
      null,
    ]);
    for (const index of [5, '00', '-1', 'x', '1e0', '99999999999']) {
      expect((await item(index)).json.error.message, String(index)).to.equal('This job has no such item.');
    }
  });

  it('are cancelled as far as they wait', async () => {
    const id = await create(3);
    await api.store.start([ref(id, 0)]);
    const cancel = () => api.call(`/jobs/${id}`, { method: 'DELETE' });
    const first = await cancel();
    expect(first.status).to.equal(200);
    expect(first.json.data).to.include({ id, state: 'running', cancelled: 2 });
    expect((await cancel()).json.data).to.deep.equal(first.json.data);
    expect(await codeOf(`/jobs/${id}/items/2`)).to.deep.equal([404, 'not_found']);
    await api.store.finish([done(ref(id, 0))]);
    const { data } = (await api.call(`/jobs/${id}`)).json;
    expect(data).to.include({ state: 'cancelled', done: 1 });
    expect(Date.parse(data.expires_at) - Date.parse(data.finished_at)).to.equal(3600_000);
  });

  it('are forgotten with all that they came to when they are deleted after their end', async () => {
    const send = () =>
      api.call('/jobs', {
        body: { service: 'text/remove-stopwords', inputs: [{}] },
        headers: { 'idempotency-key': 'forgotten' },
      });
    const id = (await send()).json.data.id;
    const remove = () => api.call(`/jobs/${id}`, { method: 'DELETE' });
    await api.store.finish([done(ref(id, 0))]);
    api.stored.set(`${id}/out/0`, Buffer.from('{}'));
    const removed = await remove();
    expect([removed.status, removed.json.data.id, removed.json.data.state]).to.deep.equal([200, id, 'done']);
    expect([...api.stored.keys()].filter((name) => name.startsWith(id))).to.deep.equal([]);
    expect((await remove()).status).to.equal(404);
    for (const path of [`/jobs/${id}`, `/jobs/${id}/items/0`])
      expect(await codeOf(path)).to.deep.equal([404, 'not_found']);
    expect((await send()).json.data.id).not.to.equal(id);
  });

  it('take HEAD as GET, and tell of other methods and of near paths', async () => {
    const id = await create(1);
    const head = await api.call(`/jobs/${id}`, { method: 'HEAD' });
    expect([head.status, head.bytes.length]).to.deep.equal([200, 0]);
    const allowed = [
      ['/jobs', 'PUT', 'GET, HEAD, POST, OPTIONS'],
      [`/jobs/${id}`, 'POST', 'DELETE, GET, HEAD, OPTIONS'],
      [`/jobs/${id}/items/0`, 'DELETE', 'GET, HEAD, OPTIONS'],
    ] as const;
    for (const [path, method, allow] of allowed) {
      const answer = await api.call(path, { method });
      expect([answer.status, answer.headers.get('allow')], path).to.deep.equal([405, allow]);
    }
    expect((await api.call('/job')).json.error.message).to.include('Did you mean /jobs?');
    expect((await api.call('/jobs/')).json.error.message).to.include('Did you mean /jobs?');
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
    expect(await codeOf('/jobs?ak=')).to.deep.equal([200, undefined]);
  });
});

describe('jobs/api: the answer of an item', () => {
  let api: JobApi;
  let reads: number;
  before(async () => {
    api = await startJobApi();
  });
  beforeEach(() => {
    reads = 0;
    api.broken.get = () => {
      reads += 1;
    };
  });
  after(() => api?.close());

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
    for (const path of [await itemOf(large), await itemOf(json(9), 'json'), await itemOf(Buffer.from('a'))]) {
      const head = await api.call(path, { method: 'HEAD' });
      expect([head.status, reads]).to.deep.equal([200, 0]);
      const whole = await api.call(path);
      expect(head.headers.get('content-length')).to.equal(whole.headers.get('content-length'));
      expect(head.headers.get('content-type')).to.equal(whole.headers.get('content-type'));
      reads = 0;
    }
  });

  it('is read only as its client takes it', async () => {
    const path = await itemOf(Buffer.alloc(64 * 2 ** 20));
    const socket = open(api.url).pause();
    socket.write(`GET ${path}?ak=acme HTTP/1.1\r\nhost: x\r\n\r\n`);
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
    let taken = 0;
    socket.on('data', (data) => {
      taken += data.length;
    });
    socket.resume();
    await until(() => taken > 64 * 2 ** 20);
    socket.destroy();
    await until(() => api.unsent() === 0);
  });

  it('is refused while the tenant reads too little of what is on its way, and no other tenant’s', async () => {
    const path = await itemOf(Buffer.alloc(64 * 2 ** 20));
    const sockets = Array.from({ length: outputBytes / 2 / windowBytes }, () => open(api.url).pause());
    for (const socket of sockets) socket.write(`GET ${path}?ak=acme HTTP/1.1\r\nhost: x\r\n\r\n`);
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
    await until(() => api.log.some(({ err }) => (err as Error | undefined)?.message === 'the disk is gone'));
  });

  it('is not found where its job is being forgotten', async () => {
    const path = await itemOf(large);
    api.stored.clear();
    expect((await api.call(path)).json.error.code).to.equal('not_found');
  });
});
