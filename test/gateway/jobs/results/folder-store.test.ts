import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { StoreError } from '../../../../gateway/database/store-error.js';
import { createFolderStore } from '../../../../gateway/jobs/results/folder-store.js';
import { rejection } from '../../keys/key-store-contract.js';
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

  it('has one id, whoever asks first, and another in another folder', async () => {
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

  it('clears away what was being written when its process was killed, a day later', async () => {
    const aside = join(folder, 'aside');
    for (const name of ['old', 'young']) await writeFile(join(aside, name), 'half');
    await utimes(join(aside, 'old'), 0, Date.now() / 1000 - 90_000);
    await createFolderStore(folder).put('job_a/out/0', Buffer.from('x'));
    expect(await readdir(aside)).to.deep.equal(['young']);
    await rm(join(aside, 'young'));
    await createFolderStore(folder).removeAll('job_a');
  });

  it('writes on where something cannot be cleared away', async () => {
    const aside = join(folder, 'aside');
    await mkdir(join(aside, 'foreign'));
    await utimes(join(aside, 'foreign'), 0, Date.now() / 1000 - 90_000);
    const store = createFolderStore(folder);
    await store.put('job_a/out/0', Buffer.from('x'));
    expect((await store.get('job_a/out/0'))?.toString()).to.equal('x');
    await rm(join(aside, 'foreign'), { recursive: true });
    await store.removeAll('job_a');
  });

  it('says of a folder that cannot be one that the store does not answer', async () => {
    const file = join(above, 'file');
    await writeFile(file, '');
    const store = createFolderStore(join(file, 'results'));
    const id = () => store.id();
    const put = () => store.put('a', Buffer.alloc(1));
    const get = () => store.get('a');
    const removeAll = () => store.removeAll('a');
    for (const work of [id, put, get, removeAll]) {
      expect(await rejection(work())).to.be.instanceOf(StoreError);
    }
  });

  describe('on a disk that is nearly full', () => {
    const megabyte = Buffer.alloc(2 ** 20);
    const used = async () => {
      const names = await readdir(folder, { recursive: true, withFileTypes: true });
      const sizes = names.flatMap((each) =>
        // One that was moved to its place meanwhile still takes its room.
        each.isFile()
          ? [stat(join(each.parentPath, each.name)).catch(() => ({ size: megabyte.length }))]
          : [],
      );
      return (await Promise.all(sizes)).reduce((sum, { size }) => sum + size, 0);
    };
    /** One of 80 MB, or one that does not say its size. */
    const open = (blocks = 80) =>
      createFolderStore(folder, {
        statfs: async () => ({
          blocks,
          bsize: 2 ** 20,
          bavail: Math.floor(blocks - (await used()) / 2 ** 20),
        }),
      });

    it('keeps room for the database, and some of it for inputs', async () => {
      const store = open();
      const put = Array.from({ length: 100 }, (_, at) => store.put(`job_a/out/${at}`, megabyte));
      const failed = (await Promise.allSettled(put)).flatMap((one) =>
        one.status === 'rejected' ? [one.reason as StoreError] : [],
      );
      expect(failed[0]).to.be.instanceOf(StoreError).and.include({ isFull: true });
      // Two that are written at a time are both counted.
      expect(await used()).to.be.within(66 * 2 ** 20, 70 * 2 ** 20);
      for (let at = 0; at < 4; at += 1) await store.put(`job_b/in/${at}/file`, megabyte);
      await store.removeAll('job_a');
      await store.put('job_b/out/0', megabyte);
      await store.removeAll('job_b');
    });

    it('writes on where nobody says how large the disk is', async () => {
      const store = open(0);
      await store.put('job_a/out/0', megabyte);
      await store.removeAll('job_a');
    });
  });

  resultStoreTests(() => createFolderStore(folder));
});
