import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { skipWithout } from '../needs.js';
import { createPostgresDatabase, requirePostgres, type TestDatabase } from './databases.js';
import { type GatewayProcess, runCommand, startGatewayProcess } from './gateway-process.js';
import { answers, REDIS_URL } from './limits/redis-servers.js';

describe('two gateways on one PostgreSQL and one Redis', function () {
  this.timeout(60_000);
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

  it('share a rate: their sum never passes it by more than one call a window', async () => {
    let passed = 0;
    const began = performance.now();
    const hammer = async (gateway: GatewayProcess) => {
      while (passed < 60) if ((await call(gateway)) === 200) passed += 1;
    };
    await Promise.all(gateways.flatMap((gateway) => [hammer(gateway), hammer(gateway), hammer(gateway)]));
    // A window is a second from the first call in it: the longer this took, the more of them there were.
    const windows = Math.floor((performance.now() - began) / 1000) + 1;
    expect(passed).to.be.at.most(windows * 21);
  });

  it('see a new key at once, and soon refuse a revoked one', async () => {
    await sleep(1100);
    const issued = await runCommand(['keys', 'issue', 'demo'], env);
    expect(issued.code).to.equal(0);
    const fresh = issued.stdout.trim();
    expect(await Promise.all(gateways.map((gateway) => call(gateway, fresh)))).to.deep.equal([200, 200]);

    const revoked = await runCommand(['keys', 'revoke', keyId], env);
    expect(revoked.code).to.equal(0);
    for (const gateway of gateways) {
      while ((await call(gateway)) !== 401) await sleep(200);
    }
  });
});
