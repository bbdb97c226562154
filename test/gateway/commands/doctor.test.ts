import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { sql } from 'kysely';
import { examine } from '../../../gateway/commands/doctor-checks.js';
import { migrations } from '../../../gateway/migrations.js';
import { masterFile } from '../../../gateway/signing/signing-secrets.js';
import { fixture } from '../../fixtures.js';
import { onEachDatabase } from '../databases.js';
import { runCommand, startGatewayProcess } from '../harness.js';

const anyPorts = { PORT: '0', CONNECT_PORT: '0' };

/** What a check found: `fault: text`. */
async function found(check: string, env: Record<string, string>): Promise<string[]> {
  const { findings } = await examine({ ...anyPorts, ...env });
  return findings.filter((each) => each.check === check).map(({ state, text }) => `${state}: ${text}`);
}

describe('doctor', function () {
  this.timeout(30_000);
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'doctor-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('finds no fault before the first start, and leaves nothing behind', async () => {
    const dataDir = join(folder, 'a', 'data');
    const { code, stdout, stderr } = await runCommand(['doctor'], { ...anyPorts, HELPER_DATA_DIR: dataDir });
    expect([code, stderr, existsSync(join(folder, 'a'))]).to.deep.equal([0, '', false]);
    expect(stdout).to.match(/^ok +database +\S+gateway\.db, which the first start makes$/m);
    expect(stdout).to.match(/\nNo fault\.\n$/);
  });

  it('names all faults at once, and no secret', async () => {
    await writeFile(join(folder, 'file'), '');
    const { code, stdout, stderr } = await runCommand(['doctor', '--json'], {
      CONNECT_PORT: 'sekret',
      HELPER_RAT: 'sekret',
      HELPER_DATA_DIR: join(folder, 'file'),
      DATABASE_URL: 'postgres://user:sekret@127.0.0.1:1/db',
      REDIS_URL: 'redis://:sekret@127.0.0.1:1',
      HELPER_PLUGINS: fixture('plugins/bad/schema'),
      HELPER_FONTS: join(folder, 'file'),
      HELPER_RESULTS_URL: 's3://bucket/prefix?endpoint=http://127.0.0.1:1',
      AWS_SECRET_ACCESS_KEY: 'sekret',
      HELPER_SIGNING_SECRET: 'sekret'.repeat(6),
      HELPER_OPERATOR_TOKEN: 'sekret'.repeat(6),
      HELPER_POOL_THREADS: '250',
    });
    const { ok, error, data } = JSON.parse(stdout);
    const fields = error.details.map(({ field }: { field: string }) => field);
    const wanted = 'configuration configuration database redis plugins pictures results'.split(' ');
    expect([code, ok, ...fields]).to.deep.equal([1, false, ...wanted]);
    expect(data.checks.find((each: { check: string }) => each.check === 'threads').state).to.equal('slow');
    expect(data.versions).to.include({ node: process.versions.node });
    expect(stdout + stderr).not.to.include('sekret');
  });

  it('finds a data folder that is none, and a master secret that others can read', async () => {
    const file = join(folder, masterFile);
    await writeFile(file, 'x'.repeat(64), { mode: 0o644 });
    expect(await found('data folder', { HELPER_DATA_DIR: file })).to.deep.equal([
      `fault: ${file} is no folder`,
    ]);
    const env = { HELPER_DATA_DIR: folder };
    expect(await found('signing', env)).to.deep.equal([`fault: ${file} is open to others than its owner`]);
  });

  it('tells a port of a gateway from one of anything else', async () => {
    const gateway = await startGatewayProcess({ ...anyPorts, HELPER_DATA_DIR: folder });
    const other = createServer((socket) => socket.end('x')).listen(0, '127.0.0.1');
    try {
      await once(other, 'listening');
      const [PORT, CONNECT_PORT] = [gateway.url, gateway.connect_url].map((url) => new URL(url).port);
      const own = { PORT, CONNECT_PORT, HELPER_DATA_DIR: folder } as Record<string, string>;
      for (const text of await found('ports', own)) expect(text).to.match(/^ok: .* a gateway runs$/);
      const taken = { HELPER_DATA_DIR: folder, PORT: String((other.address() as AddressInfo).port) };
      expect((await found('ports', taken))[0]).to.match(/^fault: .*Choose another port with PORT/);
    } finally {
      other.close();
      await gateway.stop();
    }
  });

  onEachDatabase((database) => {
    it('says which migrations are pending or newer, and runs none', async () => {
      const { kind, location } = database();
      const env: Record<string, string> =
        kind === 'sqlite'
          ? { HELPER_DATA_DIR: location }
          : { HELPER_DATA_DIR: folder, DATABASE_URL: location };
      const [all, last] = [Object.keys(migrations(kind)), Object.keys(migrations(kind)).at(-1)];
      const access = (await database().connect()).access();
      const rename = (from = '', to = '') =>
        access.run((db) => sql`update gateway_migration set name = ${to} where name = ${from}`.execute(db));
      expect(await found('migrations', env)).to.deep.equal([`ok: all ${all.length} were run`]);
      expect((await found('database', env))[0]).to.match(/^ok: (SQLite|PostgreSQL) \d.* answers in/);
      await rename(last, '9999_later');
      const newer = 'fault: a newer version has changed the tables: 9999_later';
      expect(await found('migrations', env)).to.deep.equal([newer]);
      await access.run((db) => sql`delete from gateway_migration where name = '9999_later'`.execute(db));
      for (const _ of 'twice')
        expect(await found('migrations', env)).to.deep.equal([`hint: the next start runs ${last}`]);
      await access.run((db) => sql`insert into gateway_migration values (${last}, '2026')`.execute(db));
    });
  });
});
