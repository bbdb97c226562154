import { chown, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createSigningSecrets, masterFile, openMasters } from '../../../gateway/signing/signing-secrets.js';
import { master, signing } from './signing.js';

describe('signing secrets', () => {
  it('are another for each key, version and master, and the same at every start', () => {
    const all = [
      signing.current('key_a', 1),
      signing.current('key_a', 2),
      signing.current('key_b', 1),
      createSigningSecrets([`${master}2`]).current('key_a', 1),
    ];
    expect(new Set(all).size).to.equal(4);
    for (const secret of all) expect(secret).to.match(/^hgs_[\w-]{43}$/);
    expect(createSigningSecrets([master]).current('key_a', 1)).to.equal(all[0]);
  });

  it('sign with the first master, and verify with all', () => {
    const both = createSigningSecrets(['new-'.repeat(8), master]);
    expect(both.all('key_a', 1)).to.deep.equal([both.current('key_a', 1), signing.current('key_a', 1)]);
  });

  it('are not there without a master, and name the variable that is missing', () => {
    const none = createSigningSecrets(undefined);
    expect(none.available).to.equal(false);
    for (const ask of [none.requireMaster, () => none.current('key_a', 1), () => none.all('key_a', 1)])
      expect(ask)
        .to.throw(/HELPER_SIGNING_SECRET/)
        .with.property('code', 'storage_unavailable');
  });
});

describe('master secrets', () => {
  let dataDir: string;
  let file: string;
  beforeEach(async () => {
    dataDir = join(await mkdtemp(join(tmpdir(), 'masters-')), 'data');
    file = join(dataDir, masterFile);
  });
  afterEach(() => rm(join(dataDir, '..'), { recursive: true }));

  it('are those of the variable, and none with PostgreSQL, where each gateway would make another', async () => {
    const signingSecret = ['a'.repeat(32), 'b'.repeat(32)];
    expect(await openMasters({ signingSecret, dataDir })).to.equal(signingSecret);
    expect(await openMasters({ databaseUrl: 'postgres://host/db', dataDir })).to.equal(undefined);
  });

  it('else one in a file for its owner alone, the same at every start and for all that start at once', async () => {
    const opened = await Promise.all(Array.from({ length: 20 }, () => openMasters({ dataDir })));
    const [first] = opened[0] ?? [];
    expect(first).to.match(/^[0-9a-f]{64}$/);
    for (const masters of [...opened, await openMasters({ dataDir })]) expect(masters).to.deep.equal([first]);
    expect((await stat(file)).mode & 0o777).to.equal(0o600);
    expect(await readdir(dataDir)).to.deep.equal([masterFile]);
  });

  for (const [what, make, problem] of [
    ['is cut off', () => writeFile(file, 'short\n'), 'at least 32'],
    ['is a link to nothing', () => symlink(join(dataDir, 'elsewhere'), file), 'link'],
    ['cannot be read', () => mkdir(file), 'HELPER_SIGNING_SECRET'],
  ] as const)
    it(`name a file that ${what}`, async () => {
      await mkdir(dataDir);
      await make();
      const error = await openMasters({ dataDir }).catch((thrown) => thrown);
      expect(error.message).to.include(file).and.include(problem);
      expect(await readdir(dataDir)).to.deep.equal([masterFile]);
    });

  it('of root’s command belong to the folder’s owner, whose gateway has to read them', async function () {
    if (process.getuid?.() !== 0) this.skip();
    await mkdir(dataDir);
    await chown(dataDir, 4711, 4712);
    await openMasters({ dataDir });
    const { uid, gid, mode } = await stat(file);
    expect([uid, gid, mode & 0o777]).to.deep.equal([4711, 4712, 0o600]);
  });
});
