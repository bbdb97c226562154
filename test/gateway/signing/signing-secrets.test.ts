import { chown, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { masterFile, openMasters } from '../../../gateway/signing/signing-secrets.js';

describe('master secrets', () => {
  let dataDir: string;
  beforeEach(async () => {
    dataDir = join(await mkdtemp(join(tmpdir(), 'masters-')), 'data');
  });
  afterEach(() => rm(join(dataDir, '..'), { recursive: true }));

  it('are those of the variable', async () => {
    const signingSecret = ['a'.repeat(32), 'b'.repeat(32)];
    expect(await openMasters({ signingSecret, dataDir })).to.equal(signingSecret);
  });

  it('else one in a file for its owner alone, the same at every start and for whoever starts at once', async () => {
    const opened = await Promise.all(Array.from({ length: 20 }, () => openMasters({ dataDir })));
    const [first] = opened[0] ?? [];
    expect(first).to.match(/^[0-9a-f]{64}$/);
    for (const masters of opened) expect(masters).to.deep.equal([first]);
    expect(await openMasters({ dataDir })).to.deep.equal([first]);
    expect((await stat(join(dataDir, masterFile))).mode & 0o777).to.equal(0o600);
    expect(await readdir(dataDir)).to.deep.equal([masterFile]);
  });

  it('none with PostgreSQL, where each gateway would make another', async () => {
    expect(await openMasters({ databaseUrl: 'postgres://host/db', dataDir })).to.equal(undefined);
  });

  it('no file that is empty or cut off is taken for one', async () => {
    await openMasters({ dataDir });
    await writeFile(join(dataDir, masterFile), 'short\n');
    const error = await openMasters({ dataDir }).catch((thrown) => thrown);
    expect(error.message).to.include(join(dataDir, masterFile)).and.include('at least 32');
  });

  it('one that is a link to nothing is told, and not taken for one either', async () => {
    await mkdir(dataDir);
    await symlink(join(dataDir, 'elsewhere'), join(dataDir, masterFile));
    const error = await openMasters({ dataDir }).catch((thrown) => thrown);
    expect(error.message).to.include(join(dataDir, masterFile)).and.include('link');
    expect(await readdir(dataDir)).to.deep.equal([masterFile]);
  });

  it('one that cannot be read is told with what can take its place', async () => {
    await mkdir(join(dataDir, masterFile), { recursive: true });
    const error = await openMasters({ dataDir }).catch((thrown) => thrown);
    expect(error.message).to.include(join(dataDir, masterFile)).and.include('HELPER_SIGNING_SECRET');
  });

  it('one that root’s command makes belongs to whom the folder does, whose gateway has to read it', async function () {
    if (process.getuid?.() !== 0) this.skip();
    await mkdir(dataDir);
    await chown(dataDir, 4711, 4712);
    await openMasters({ dataDir });
    const { uid, gid, mode } = await stat(join(dataDir, masterFile));
    expect([uid, gid, mode & 0o777]).to.deep.equal([4711, 4712, 0o600]);
  });
});
