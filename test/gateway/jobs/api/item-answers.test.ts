import { expect } from 'chai';
import { stretchBytes } from '../../../../gateway/http/flow/pieces.js';
import type { ItemResult } from '../../../../gateway/jobs/model.js';
import { until } from '../../../until.js';
import { open } from '../../raw-client.js';
import { type JobApi, outputBytes, startJobApi } from './job-api.js';

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

  const large = Buffer.alloc(20 * stretchBytes + 7, 'helper');
  const json = (length: number) => Buffer.from(JSON.stringify({ text: 'ä'.repeat(length) }));

  it('is every byte of what is stored, whatever its size', async () => {
    for (const bytes of [Buffer.alloc(0), Buffer.from('a'), large.subarray(0, stretchBytes), large]) {
      const answer = await api.call(await itemOf(bytes));
      expect([answer.status, answer.headers.get('content-length')]).to.deep.equal([200, `${bytes.length}`]);
      expect(Buffer.from(answer.bytes).equals(bytes)).to.equal(true);
    }
    for (const length of [1, 3 * stretchBytes]) {
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
    expect(api.unsent()).to.equal(stretchBytes);
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
    const sockets = Array.from({ length: outputBytes / 2 / stretchBytes }, () => open(api.url).pause());
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
