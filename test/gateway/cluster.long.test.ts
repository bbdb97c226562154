import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { skipWithout } from '../needs.js';
import { until } from '../until.js';
import { createPostgresDatabase, requirePostgres, type TestDatabase } from './databases.js';
import { type GatewayProcess, runCommand, startGatewayProcess } from './gateway-process.js';
import { answers, REDIS_URL } from './limits/redis-servers.js';

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
