import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { fixture } from '../fixtures.js';
import { skipWithout, until } from '../needs.js';
import { createPostgresDatabase, requirePostgres, type TestDatabase } from './databases.js';
import { bin, type GatewayProcess, runCommand, startChild, startGatewayProcess } from './harness.js';
import { answers, REDIS_URL } from './limits/redis-servers.js';

/** All that `serve` writes for people, from its start to its end. */
async function startForPeople(env: Record<string, string>): Promise<string> {
  const child = startChild(process.execPath, [bin, 'serve'], {
    env: { PATH: process.env.PATH, PORT: '0', CONNECT_PORT: '0', HELPER_DRAIN_MS: '0', ...env },
  });
  await child.until(() => child.stdout() !== '');
  child.process.kill();
  await child.ended;
  return child.stdout();
}

const picture = new URL('../../../plugins/media/example.jpg', import.meta.url);

describe('the gateway as a process', function () {
  // Up to three starts in one test.
  this.timeout(120_000);
  let env: Record<string, string>;

  beforeEach(async () => {
    env = { HELPER_DATA_DIR: await mkdtemp(join(tmpdir(), 'helper-gateway-')) };
  });
  afterEach(() => rm(env.HELPER_DATA_DIR as string, { recursive: true }));

  it('shows its first key once, and stops with 0 at SIGTERM', async () => {
    const first = await startGatewayProcess(env);
    const call = (url: string, key = first.first_key?.key) =>
      fetch(`${url}/text/remove-stopwords?text=a&ak=${key}`).then(({ status }) => status);
    expect(await call(first.url)).to.equal(200);
    expect(await first.stop()).to.equal(0);
    const second = await startGatewayProcess(env);
    expect(second.first_key).to.equal(null);
    expect(await call(second.url)).to.equal(200);
    expect(await second.stop('SIGKILL')).to.equal(null);
    const third = await startGatewayProcess(env);
    expect(await call(third.url)).to.equal(200);
    await third.stop();
  });

  it('says on a second start how to get a key and into the site, and where all of it is kept', async () => {
    const [first, second] = [await startForPeople(env), await startForPeople(env)];
    expect(first)
      .to.match(/\n {2}hg_\w+\n/)
      .and.not.include('keys issue');
    expect(second)
      .to.include('npx helper-gateway keys issue demo\n')
      .and.include('npx helper-gateway operator reset\n')
      .and.include(` ${env.HELPER_DATA_DIR}.\n`);
    // No terminal: the log is for what collects logs.
    expect(JSON.parse(second.trimEnd().split('\n').at(-1) as string)).to.include({ msg: 'shutting down' });
  });

  it('takes keys from the command line while it runs', async () => {
    const gateway = await startGatewayProcess(env);
    expect((await runCommand(['tenants', 'create', 'acme'], env)).code).to.equal(0);
    const { stdout } = await runCommand(['keys', 'issue', 'acme', '--scope', 'text/*'], env);
    const key = stdout.trim();
    expect(key).to.match(/^hg_\w+$/);
    const statusOf = async (path: string) => (await fetch(`${gateway.url}${path}&ak=${key}`)).status;
    expect(await statusOf('/text/remove-stopwords?text=a')).to.equal(200);
    expect(await statusOf('/media/add-border?dryrun=1')).to.equal(403);
    await gateway.stop();
  });

  it('serves by Jimp where sharp cannot be loaded, and tells without a word of its folders', async () => {
    const hideSharp = `
      import Module from 'node:module';
      const load = Module._load;
      Module._load = function (name, ...rest) {
        if (/^@img\\/sharp|sharp-.*\\.node$/.test(name)) throw new Error('no ' + name);
        return load.call(this, name, ...rest);
      };`;
    const url = `data:text/javascript,${encodeURIComponent(hideSharp)}`;
    const gateway = await startGatewayProcess({ ...env, NODE_OPTIONS: `--import=${url}` });
    const ready = await (await fetch(`${gateway.url}/readyz`)).json();
    expect(ready.data).to.include({ engine: 'jimp', keys: 'available' });
    expect(ready.data.engine_fallback)
      .to.match(/sharp cannot be loaded/)
      .and.not.include('/');
    const form = new FormData();
    form.set('file', new Blob([readFileSync(picture)]), 'picture.jpg');
    form.set('format', 'webp');
    const answer = await fetch(`${gateway.url}/media/add-border?ak=${gateway.first_key?.key}`, {
      method: 'POST',
      body: form,
    });
    expect([answer.status, answer.headers.get('content-type')]).to.deep.equal([200, 'image/webp']);
    await gateway.stop();
  });

  const faults: [string, Record<string, string>, RegExp][] = [
    ['a bad variable', { PORT: 'x' }, /PORT must be a whole number/],
    ['an unknown variable', { HELPER_THREADS: '1' }, /HELPER_THREADS/],
    ['a faulty plugin', { HELPER_PLUGINS: fixture('plugins/bad/schema') }, /broken\.js/],
    ['a plugin folder that is not there', { HELPER_PLUGINS: '/nowhere' }, /\/nowhere.*does not exist/s],
    ['a font that is not there', { HELPER_FONTS: '/nowhere.ttf' }, /\/nowhere\.ttf/],
    ['a data folder that cannot be made', { HELPER_DATA_DIR: '/dev/null/data' }, /\/dev\/null\/data/],
    [
      'a database that does not answer',
      { DATABASE_URL: 'postgres://user:secret@127.0.0.1:1/x' },
      /ECONNREFUSED/,
    ],
  ];
  for (const [name, wrong, reason] of faults) {
    it(`does not start with ${name}, and says why in one message`, async () => {
      const { code, stdout, stderr } = await runCommand(['serve'], { ...env, ...wrong });
      expect(code).to.equal(1);
      expect(stdout).to.equal('');
      expect(stderr)
        .to.match(reason)
        .and.not.match(/\n\s+at /)
        .and.not.to.include('secret');
    });
  }

  it('does not start on a port that is taken, and keeps the first key for the next start', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as { port: number };
    const { code, stderr } = await runCommand(['serve'], { ...env, PORT: String(port) });
    other.close();
    expect(code).to.equal(1);
    expect(stderr).to.match(/something listens there already\. Choose another port with PORT\./);
    const gateway = await startGatewayProcess(env);
    expect(gateway.first_key).not.to.equal(null);
    await gateway.stop();
  });
});

describe('two gateways on one PostgreSQL and one Redis', function () {
  this.timeout(600_000);
  let database: TestDatabase;
  let env: Record<string, string>;
  let gateways: GatewayProcess[];
  let key: string;
  let keyId: string;

  before(async function () {
    await requirePostgres.call(this);
    if (!(await answers(REDIS_URL))) skipWithout(this, 'Redis (TEST_REDIS_URL), which does not answer');
    database = await createPostgresDatabase();
    env = { DATABASE_URL: database.location, REDIS_URL, HELPER_RATE: '20' };
    // At once: only one of them may make the first tenant.
    gateways = await Promise.all([startGatewayProcess(env), startGatewayProcess(env)]);
    const first = gateways.map(({ first_key }) => first_key).filter((made) => made !== null);
    expect(first).to.have.length(1);
    key = first[0]?.key ?? '';
    keyId = first[0]?.id ?? '';
  });
  after(async () => {
    await Promise.all((gateways ?? []).map((gateway) => gateway.stop()));
    await database?.drop();
  });

  const call = async (gateway: GatewayProcess, ak = key) =>
    (await fetch(`${gateway.url}/text/remove-stopwords?dryrun=1&ak=${ak}`)).status;

  /** How many of the calls that both gateways get for three seconds pass, and in how many windows that can be. */
  async function hammerAll(): Promise<{ passed: number; windows: number }> {
    let [calls, passed] = [0, 0];
    const began = performance.now();
    const hammer = async (gateway: GatewayProcess) => {
      while (calls < 100 || performance.now() < began + 3000) {
        calls += 1;
        if ((await call(gateway)) === 200) passed += 1;
        await sleep(5);
      }
    };
    await Promise.all(gateways.flatMap((gateway) => [hammer(gateway), hammer(gateway), hammer(gateway)]));
    return { passed, windows: Math.floor((performance.now() - began) / 1000) + 1 };
  }

  it('share a rate: their sum never passes it by more than one call a window', async () => {
    const outages = () => gateways.map((gateway) => gateway.written().match(/Redis cannot be used/g)?.length);
    // On a machine that stalls past the time that Redis has, a gateway rightly goes on alone for a moment.
    const { passed, windows } = await until(async () => {
      const before = outages();
      const found = await hammerAll();
      return String(outages()) === String(before) ? found : undefined;
    });
    expect(passed).to.be.within(20, 21 * windows);
  });

  it('see a new key at once and refuse a revoked one once they have heard of it', async () => {
    await sleep(1100);
    const issued = await runCommand(['keys', 'issue', 'demo'], env);
    expect(issued.code).to.equal(0);
    const fresh = issued.stdout.trim();
    expect(await Promise.all(gateways.map((gateway) => call(gateway, fresh)))).to.deep.equal([200, 200]);

    const revoked = await runCommand(['keys', 'revoke', keyId], env);
    expect(revoked.code).to.equal(0);
    for (const gateway of gateways) await until(async () => (await call(gateway)) === 401);
    for (const gateway of gateways) expect(await call(gateway)).to.equal(401);
  });
});
