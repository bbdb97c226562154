import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { StoreError } from '../../../../gateway/database/store-error.js';
import { createFolderStore } from '../../../../gateway/jobs/results/folder-store.js';
import { resultStoreTests } from './result-store-contract.js';

describe('jobs/results in a folder', () => {
  let above: string;
  let folder: string;
  before(async () => {
    above = await mkdtemp(join(tmpdir(), 'helper-gateway-results-'));
    folder = join(above, 'data', 'results');
  });
  after(() => rm(above, { recursive: true }));

  it('makes nothing before it is used', async () => {
    const store = createFolderStore(folder);
    expect(await store.get('job_a/out/0')).to.equal(undefined);
    await store.removeAll('job_a');
    expect(await readdir(above)).to.deep.equal([]);
  });

  it('has one id, whichever process asks first, and another in another folder', async () => {
    const ids = await Promise.all(Array.from({ length: 8 }, () => createFolderStore(folder).id()));
    expect(new Set(ids).size).to.equal(1);
    expect(ids[0]).to.match(/^folder:[\da-f-]{36}$/);
    expect(await createFolderStore(join(above, 'other')).id()).not.to.equal(ids[0]);
  });

  it('lets its owner alone see anything, and leaves nothing beside', async () => {
    const store = createFolderStore(folder);
    await store.put('job_a/in/0/file', Buffer.from('secret'));
    const found = await readdir(folder, { recursive: true, withFileTypes: true });
    for (const entry of found) {
      const { mode } = await stat(join(entry.parentPath, entry.name));
      expect(mode & 0o077, entry.name).to.equal(0);
    }
    expect(await readdir(join(folder, 'aside'))).to.deep.equal([]);
    await store.removeAll('job_a');
  });

  it('clears away what was being written when its process was killed, a day later, where it can', async () => {
    const aside = join(folder, 'aside');
    for (const name of ['old', 'young']) await writeFile(join(aside, name), 'half');
    for (const left of ['young', 'young,z foreign']) {
      for (const name of ['old', 'z foreign'])
        await utimes(join(aside, name), 0, Date.now() / 1000 - 90_000).catch(() => undefined);
      const store = createFolderStore(folder);
      await store.put('job_a/out/0', Buffer.from('x'));
      expect((await store.get('job_a/out/0'))?.toString()).to.equal('x');
      expect((await readdir(aside)).sort().join()).to.equal(left);
      await mkdir(join(aside, 'z foreign'), { recursive: true });
    }
    await rm(aside, { recursive: true });
    await createFolderStore(folder).removeAll('job_a');
  });

  it('says of a folder that cannot be one that the store does not answer', async () => {
    const file = join(above, 'file');
    await writeFile(file, '');
    const store = createFolderStore(join(file, 'results'));
    const asked = [store.id(), store.put('a', Buffer.alloc(1)), store.get('a'), store.removeAll('a')];
    for (const each of await Promise.allSettled(asked))
      expect(each).to.have.property('reason').that.is.instanceOf(StoreError);
  });

  describe('on a disk that is nearly full', () => {
    const megabyte = Buffer.alloc(2 ** 20);
    /** Bytes of all files, of a megabyte each but for that of the id. */
    const used = async () => {
      const names = await readdir(folder, { recursive: true, withFileTypes: true });
      return names.filter((each) => each.isFile() && each.name !== 'id').length * megabyte.length;
    };
    /** One of 80 MB, or one that does not say its size. */
    const open = (blocks = 80) =>
      createFolderStore(folder, {
        statfs: async () => ({ blocks, bsize: 2 ** 20, bavail: blocks - (await used()) / 2 ** 20 }),
      });

    it('keeps room for the database, and some of it for inputs', async () => {
      const store = open();
      const put = Array.from({ length: 100 }, (_, at) => store.put(`job_a/out/${at}`, megabyte));
      const failed = (await Promise.allSettled(put)).find(({ status }) => status === 'rejected');
      expect(failed).to.have.property('reason').that.is.instanceOf(StoreError).and.includes({ isFull: true });
      // Two that are written at a time are both counted.
      expect(await used()).to.be.within(66 * 2 ** 20, 70 * 2 ** 20);
      for (let at = 0; at < 4; at += 1) await store.put(`job_b/in/${at}/file`, megabyte);
      await store.removeAll('job_a');
      await store.put('job_b/out/0', megabyte);
      await store.removeAll('job_b');
      // One that does not know its size writes on.
      await open(0).put('job_a/out/0', megabyte);
      await store.removeAll('job_a');
    });
  });

  resultStoreTests(() => createFolderStore(folder));
});
