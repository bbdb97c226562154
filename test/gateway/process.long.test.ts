import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { fixture } from '../fixtures.js';
import { skipWithout, until } from '../needs.js';
import { createPostgresDatabase, requirePostgres, type TestDatabase } from './databases.js';
import { type GatewayProcess, runCommand, startGatewayProcess } from './harness.js';
import { answers, REDIS_URL } from './limits/redis-servers.js';
import { holdCall, holding } from './raw-client.js';

const picture = new URL('../../../plugins/media/example.jpg', import.meta.url);

describe('the gateway as a process', function () {
  // Up to three starts in one test.
  this.timeout(120_000);
  let env: Record<string, string>;

  beforeEach(async () => {
    env = { HELPER_DATA_DIR: await mkdtemp(join(tmpdir(), 'helper-gateway-')) };
  });
  afterEach(() => rm(env.HELPER_DATA_DIR as string, { recursive: true }));

  it('shows its first key once, which outlives SIGTERM and SIGKILL', async () => {
    let key: string | undefined;
    for (const [signal, code] of [
      ['SIGTERM', 0],
      ['SIGKILL', null],
      ['SIGTERM', 0],
    ] as const) {
      const gateway = await startGatewayProcess(env);
      expect(gateway.first_key === null).to.equal(key !== undefined);
      key ??= gateway.first_key?.key;
      const { status } = await fetch(`${gateway.url}/text/remove-stopwords?text=a&ak=${key}`);
      expect(status).to.equal(200);
      expect(await gateway.stop(signal)).to.equal(code);
    }
  });

  it('serves by Jimp where sharp cannot be loaded, and reports that without its folders', async () => {
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
    const body = new FormData();
    body.set('file', new Blob([readFileSync(picture)]), 'picture.jpg');
    body.set('format', 'webp');
    const path = `/media/add-border?ak=${gateway.first_key?.key}`;
    const answer = await fetch(gateway.url + path, { method: 'POST', body });
    expect([answer.status, answer.headers.get('content-type')]).to.deep.equal([200, 'image/webp']);
    await gateway.stop();
  });

  for (const [name, wrong, reason] of [
    ['a bad and an unknown variable', { PORT: 'x', HELPER_THREADS: '1' }, /PORT must be a .*HELPER_THREADS/s],
    ['a faulty plugin', { HELPER_PLUGINS: fixture('plugins/bad/schema') }, /broken\.js/],
    ['a plugin folder that is not there', { HELPER_PLUGINS: '/nowhere' }, /\/nowhere.*does not exist/s],
    ['a font that is not there', { HELPER_FONTS: '/nowhere.ttf' }, /\/nowhere\.ttf/],
    ['a data folder that cannot be made', { HELPER_DATA_DIR: '/dev/null/data' }, /\/dev\/null\/data/],
    ['a database that is down', { DATABASE_URL: 'postgres://user:secret@127.0.0.1:1/x' }, /ECONNREFUSED/],
  ] as [string, Record<string, string>, RegExp][]) {
    it(`does not start with ${name}, and says why in one message`, async () => {
      const { code, stdout, stderr } = await runCommand(['serve'], { ...env, ...wrong });
      expect([code, stdout]).to.deep.equal([1, '']);
      expect(stderr)
        .to.match(reason)
        .and.not.match(/\n\s+at /)
        .and.not.to.include('secret');
    });
  }

  it('does not start on a port in use, and keeps the first key for the next start', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
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
    const fresh = (await runCommand(['keys', 'issue', 'demo'], env)).stdout.trim();
    expect(await Promise.all(gateways.map((gateway) => call(gateway, fresh)))).to.deep.equal([200, 200]);
    expect((await runCommand(['keys', 'revoke', keyId], env)).code).to.equal(0);
    for (const gateway of gateways) await until(async () => (await call(gateway)) === 401);
    for (const gateway of gateways) expect(await call(gateway)).to.equal(401);
  });
});

describe('a gateway that gets a signal', () => {
  let dataDir: string;
  let gateway: GatewayProcess;
  let key: string;

  // It drains for longer than a test may take: what a test waits for comes from something else.
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'helper-gateway-'));
    gateway = await startGatewayProcess({ ...holding, HELPER_DATA_DIR: dataDir, HELPER_DRAIN_MS: '60000' });
    key = gateway.first_key?.key ?? '';
  });
  afterEach(async () => {
    await gateway.stop('SIGKILL');
    await rm(dataDir, { recursive: true });
  });

  async function get(url: string, key = '') {
    const response = await fetch(`${url}${url.includes('?') ? '&' : '?'}ak=${key}`);
    const { error } = (await response.json().catch(() => ({}))) as { error?: { code: string } };
    return { status: response.status, code: error?.code, connection: response.headers.get('connection') };
  }

  /** Sends SIGTERM, and waits until the gateway drains. */
  async function drain(): Promise<void> {
    gateway.child.kill('SIGTERM');
    while ((await get(`${gateway.url}/readyz`)).status !== 503);
  }

  it('serves on after SIGTERM, and lets balancers know', async () => {
    const { url, connect_url } = gateway;
    const release = await holdCall(url, key, dataDir);
    await drain();
    const closing = { status: 200, code: undefined, connection: 'close' };
    expect(await get(`${url}/readyz`)).to.deep.equal({ ...closing, status: 503, code: 'shutting_down' });
    expect(await get(`${url}/healthz`)).to.deep.equal(closing);
    for (let calls = 0; calls < 5; calls += 1) {
      expect(await get(`${url}/text/diff-two-strings?a=1&b=2`, key)).to.deep.equal(closing);
    }
    expect(await get(`${connect_url}/sign-in`)).to.deep.equal(closing);
    const underWay = await release();
    expect([underWay.status, underWay.headers.get('connection')]).to.deep.equal([200, 'close']);
  });

  it('does not wait at SIGINT', async () => {
    expect(await gateway.stop('SIGINT')).to.equal(0);
  });

  it('ends at once at a second signal', async () => {
    await drain();
    // One that comes sooner counts as an echo of the first.
    await sleep(600);
    expect(await gateway.stop('SIGTERM')).to.equal(1);
  });
});
