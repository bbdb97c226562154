import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import type { ResultStore } from '../../../../gateway/jobs/results/result-store.js';

async function all<T>(given: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of given) items.push(item);
  return items;
}

/** What every store of results does; `open` gives one more view of the same, which is empty before the first test. */
export function resultStoreTests(open: () => ResultStore): void {
  let store: ResultStore;
  beforeEach(() => {
    store = open();
  });
  afterEach(() => store.close());

  it('gives back what was put, also to another process', async () => {
    const other = open();
    for (const size of [0, 1, 20_000, 3_000_000]) {
      const bytes = randomBytes(size);
      await store.put('job_a/out/0', bytes);
      expect((await other.get('job_a/out/0'))?.equals(bytes)).to.equal(true);
    }
    expect(await other.id()).to.equal(await store.id());
    await other.close();
    await store.removeAll('job_a');
  });

  it('gives a part of what was put, as far as there is one', async () => {
    const bytes = randomBytes(300_000);
    await store.put('job_a/out/0', bytes);
    await store.put('job_a/out/1', Buffer.alloc(0));
    const part = (start: number, end: number) => store.get('job_a/out/0', { start, end });
    for (const start of [0, 100_000, 299_999, 300_000])
      for (const end of [start + 1, 300_001, 400_000])
        expect((await part(start, end))?.equals(bytes.subarray(start, end)), `${start}`).to.equal(true);
    expect(await store.get('job_a/out/1', { start: 0, end: 9 })).to.have.lengthOf(0);
    expect(await store.get('job_a/out/2', { start: 0, end: 9 })).to.equal(undefined);
    await store.removeAll('job_a');
  });

  it('removes what lies below a prefix, and nothing beside it', async () => {
    const names = ['job_a/in/0/file', 'job_a/in/1/file', 'job_a/out/0', 'job_ab/out/0'];
    for (const name of names) await store.put(name, Buffer.from(name));
    await store.removeAll('job_a/in');
    const left = await Promise.all(names.map((name) => store.get(name)));
    expect(left.map((bytes) => bytes?.toString())).to.deep.equal([undefined, undefined, ...names.slice(2)]);
    expect((await all(store.prefixes())).sort()).to.deep.equal(['job_a', 'job_ab']);
    await Promise.all([store.removeAll('job_a'), store.removeAll('job_a')]);
    await store.removeAll('job_none');
    expect(await store.get('job_a/out/0')).to.equal(undefined);
    expect(await all(store.prefixes())).to.deep.equal(['job_ab']);
    await store.removeAll('job_ab');
  });

  it('stores many at a time, and lists and removes more than a page of them', async () => {
    const jobs = Array.from({ length: 12 }, (_, index) => `job_${index}`);
    const names = jobs.flatMap((job) => [`${job}/out/0`, `job_many/out/${job}`]);
    await Promise.all(names.map((name) => store.put(name, Buffer.from(name))));
    expect((await all(store.prefixes())).sort()).to.deep.equal([...jobs, 'job_many'].sort());
    expect((await store.get('job_many/out/job_11'))?.toString()).to.equal('job_many/out/job_11');
    for (const job of ['job_many', ...jobs]) await store.removeAll(job);
    expect(await all(store.prefixes())).to.deep.equal([]);
  });

  it('refuses a name that could lead elsewhere', async () => {
    const names = '.. ../a a/../b /a a//b a/ a/. a\\b a\0 ä a?b a%2e'.split(' ');
    for (const name of [...names, '', 'a b', 'x'.repeat(300)]) {
      const asked = [store.put(name, Buffer.alloc(1)), store.get(name), store.removeAll(name)];
      for (const each of await Promise.allSettled(asked))
        expect(each, name).to.have.property('reason').that.is.instanceOf(TypeError);
    }
  });
}
