import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { until } from '../../../until.js';
import { createSqliteDatabase, type TestDatabase } from '../../databases.js';
import { serveSending } from './sending.js';

describe('jobs/webhooks/sender, of many tenants and at its end', () => {
  let opened: TestDatabase;
  beforeEach(async () => {
    opened = await createSqliteDatabase();
  });
  afterEach(() => opened.drop());
  const { answers, clock, logged, server, deliveries, add, open, come, empty } = serveSending(() => opened);

  it('holds nobody up by receivers that never answer', async () => {
    const silent: ServerResponse[] = [];
    answers['/silent'] = (response) => void silent.push(response);
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) {
      const tenant = await deliveries().tenant(name);
      for (let n = 0; n < 20; n += 1) await add(tenant, '/silent');
    }
    clock.now += 1;
    const live = await deliveries().tenant('live');
    for (let n = 0; n < 20; n += 1) await add(live, '/hook');
    await open();
    const taken = () => server().received.filter(({ path }) => path === '/hook');
    await until(() => taken().length === 20);
    expect(silent).to.have.length(12);
  });

  it('has two of a tenant under way at most, and sixteen in all', async () => {
    const silent: ServerResponse[] = [];
    answers['/silent'] = (response) => void silent.push(response);
    for (let n = 0; n < 20; n += 1) {
      const tenant = await deliveries().tenant(`t${n}`);
      for (let each = 0; each < 3; each += 1) await add(tenant, '/silent');
    }
    await open();
    await come(16);
    const claimed = (await deliveries().rows()).filter(({ attempts }) => attempts > 0);
    expect(claimed).to.have.length(16);
    const tenants = claimed.map(({ tenant_id }) => tenant_id);
    for (const tenant of tenants) expect(tenants.filter((each) => each === tenant).length).to.be.lessThan(3);
  });

  it('gives back at its close what has no answer yet, for the next', async () => {
    answers['/hook'] = () => undefined;
    const id = await add(await deliveries().tenant('acme'), '/hook');
    const first = await open();
    await come(1);
    await first.close();
    expect((await deliveries().rows())[0]).to.include({ id, attempts: 0, due_at: clock.now });
    delete answers['/hook'];
    await open();
    await empty();
    expect(new Set(server().received.map(({ headers }) => headers['webhook-id']))).to.deep.equal(
      new Set([id]),
    );
  });

  it('lets what is under way end at its close, and takes nothing more', async () => {
    let answer: (() => void) | undefined;
    answers['/hook'] = (response) => {
      answer = () => void response.writeHead(204).end();
    };
    const acme = await deliveries().tenant('acme');
    await add(acme, '/hook');
    const sender = await open({ closeMs: 60_000 });
    await come(1);
    const closed = sender.close();
    await add(acme, '/hook');
    sender.wake();
    answer?.();
    await closed;
    expect((await deliveries().rows()).map(({ attempts }) => attempts)).to.deep.equal([0]);
  });

  it('waits for a database that does not answer, without spinning, and writes down what was delivered', async () => {
    const { access } = deliveries();
    let away = true;
    let asked = 0;
    const run: typeof access.run = (work) => {
      asked += 1;
      return away ? Promise.reject(new Error('away')) : access.run(work);
    };
    const acme = await deliveries().tenant('acme');
    await add(acme, '/hook');
    const sender = await open({ access: { ...access, run }, pollMs: 5 });
    await until(() => asked >= 3);
    expect(logged.filter((line) => line.includes('wait for the database'))).to.have.length(1);
    answers['/hook'] = (response) => {
      away = true;
      response.writeHead(204).end();
    };
    away = false;
    sender.wake();
    await come(1);
    await until(() => asked >= 8);
    expect(await deliveries().rows()).to.have.length(1);
    away = false;
    await empty();
    expect(server().received).to.have.length(1);
    expect(logged.filter((line) => line.includes('sent again'))).to.have.length(2);
  });
});
