import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { pino } from 'pino';
import { Webhook } from 'standardwebhooks';
import { Closers } from '../../../../gateway/closers.js';
import type { SenderTables } from '../../../../gateway/jobs/webhooks/delivery-store.js';
import { nextTry, openWebhooks, readRetryAfter } from '../../../../gateway/jobs/webhooks/sender.js';
import { createSigningSecrets } from '../../../../gateway/signing/signing-secrets.js';
import { until } from '../../../needs.js';
import { createSqliteDatabase, onEachDatabase, type TestDatabase } from '../../databases.js';
import { signing } from '../../signing/signing.js';
import { serveSending } from './sending.js';

{
  const second = 1000;
  const hour = 3_600_000;

  describe('jobs/webhooks/sender', () =>
    onEachDatabase((database) => {
      const { answers, clock, logged, server, deliveries, add, open, come, tried, empty } =
        serveSending(database);
      let acme: string;
      beforeEach(async () => {
        acme = await deliveries().tenant('acme');
      });
      const verify = (at: number, secret: string) => {
        const { body = '', headers = {} } = server().received[at] ?? {};
        return new Webhook(secret).verify(body, headers as Record<string, string>);
      };

      it('delivers what is due, signed so that the library of Standard Webhooks believes it', async () => {
        const payload = '{"type":"job.finished","timestamp":"2030-01-01T00:00:00Z","data":{"name":"Zoë 🔑"}}';
        const id = await add(acme, '/hook?token=s3cret', payload);
        await open();
        await empty();
        expect(verify(0, signing.webhooks.current(acme, 1))).to.deep.equal(JSON.parse(payload));
        const [{ method, path, body, headers } = {}] = server().received;
        expect([method, path, body]).to.deep.equal(['POST', '/hook?token=s3cret', payload]);
        expect(Object.keys(headers ?? {}).sort()).to.deep.equal(
          [
            'accept',
            'accept-encoding',
            'connection',
            'content-length',
            'content-type',
            'host',
            'user-agent',
            'webhook-id',
            'webhook-signature',
            'webhook-timestamp',
          ].sort(),
        );
        expect(headers).to.include({ 'content-type': 'application/json', 'webhook-id': id });
        expect(logged.join('')).not.to.match(/s3cret|whsec_|v1,/);
        expect(() => verify(0, signing.webhooks.current('ten_other', 1))).to.throw();
      });

      it('delivers at once what it is woken for', async () => {
        const sender = await open();
        await add(acme, '/hook');
        sender.wake();
        await empty();
        expect(server().received).to.have.length(1);
      });

      it('tries again with the same id and body, and a signature of its own', async () => {
        answers['/hook'] = (response) => response.writeHead(500).end('why: s3cret');
        const id = await add(acme, '/hook');
        const observed: string[] = [];
        const sender = await open({ observe: (outcome) => observed.push(outcome) });
        expect((await tried(id, 1)).due_at).to.equal(clock.now + 5 * second);
        clock.now += 5 * second;
        sender.wake();
        expect((await tried(id, 2)).due_at).to.equal(clock.now + 30 * second);
        delete answers['/hook'];
        clock.now += 30 * second;
        sender.wake();
        await empty();
        const sent = server().received.map(({ headers, body }) => ({
          id: headers['webhook-id'],
          at: Number(headers['webhook-timestamp']),
          body,
        }));
        expect(sent.map(({ at }) => at - (sent[0]?.at ?? 0))).to.deep.equal([0, 5, 35]);
        expect(new Set(sent.map(({ id, body }) => id + body)).size).to.equal(1);
        for (const at of [0, 1, 2]) verify(at, signing.webhooks.current(acme, 1));
        expect(logged.join('')).not.to.include('s3cret');
        expect(observed).to.deep.equal(['failed', 'failed', 'sent']);
      });

      for (const status of [301, 307, 400, 404, 503]) {
        it(`takes ${status} for a failure, and follows nothing`, async () => {
          answers['/hook'] = (response) => response.writeHead(status, { location: '/there' }).end();
          const id = await add(acme, '/hook');
          await open();
          await tried(id, 1);
          expect(server().received.map(({ path }) => path)).to.deep.equal(['/hook']);
        });
      }

      it('ends a delivery that is not wanted any more (410)', async () => {
        answers['/hook'] = (response) => response.writeHead(410).end();
        await add(acme, '/hook');
        await open();
        await empty();
        expect(server().received).to.have.length(1);
      });

      it('leaves a receiver alone for as long as it says with 429 or 503', async () => {
        for (const status of [429, 503, 500])
          answers[`/${status}`] = (response) => response.writeHead(status, { 'retry-after': '20' }).end();
        const ids = await Promise.all([add(acme, '/429'), add(acme, '/503'), add(acme, '/500')]);
        await open();
        const due = await Promise.all(ids.map(async (id) => (await tried(id, 1)).due_at - clock.now));
        expect(due).to.deep.equal([20 * second, 20 * second, 5 * second]);
      });

      it('drops what nobody takes for a day, and says so without its url', async () => {
        answers['/s3cret'] = (response) => response.writeHead(500).end();
        const id = await add(acme, '/s3cret');
        clock.now += 24 * hour;
        await open();
        await empty();
        const warnings = logged.filter((line) => JSON.parse(line).level === 40);
        expect(warnings).to.have.length(1);
        expect(warnings[0]).to.include(id).and.include('dropped').and.include('status 500');
        expect(logged.join('')).not.to.include('s3cret');
      });

      it('refuses what is inside, whatever was checked when the job was made', async () => {
        const id = await deliveries().add(acme, 'https://10.0.0.1/hook');
        await open();
        await tried(id, 1);
        expect(logged.join('')).to.include('source_refused');
      });

      it('signs with the secret before as well for a day after a rotation', async () => {
        await deliveries().admin.rotateWebhookSecret('acme', 'test');
        await add(acme, '/hook');
        const sender = await open();
        await empty();
        for (const version of [1, 2]) verify(0, signing.webhooks.current(acme, version));
        clock.now += 24 * hour;
        await add(acme, '/hook');
        sender.wake();
        await empty();
        const [first, second] = server().received.map(
          ({ headers }) => String(headers['webhook-signature']).split(' ').length,
        );
        expect([first, second]).to.deep.equal([2, 1]);
      });

      it('sends nothing without a master secret', async () => {
        const id = await add(acme, '/hook');
        const sender = await open({ secrets: createSigningSecrets(undefined).webhooks });
        sender.wake();
        await sender.close();
        expect(await deliveries().rows()).to.have.nested.property('[0].attempts', 0);
        expect([server().received, id]).to.deep.equal([[], 'msg_1']);
      });

      it('is several, of whom one sends each', async () => {
        const ids = await Promise.all(Array.from({ length: 12 }, () => add(acme, '/hook')));
        await Promise.all([open(), open(), open()]);
        await empty();
        const sent = server().received.map(({ headers }) => headers['webhook-id']);
        expect(sent.sort()).to.deep.equal(ids.sort());
        await come(12);
      });
    }));
}

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

describe('jobs/webhooks/schedule', () => {
  const second = 1000;
  const hour = 3_600_000;

  /** Seconds from a delivery's beginning at which it is tried, where each try fails at once. */
  function triesOf(random: number): number[] {
    const tries = [0];
    for (let attempts = 1; ; attempts += 1) {
      const now = (tries.at(-1) ?? 0) * second;
      const next = nextTry({ attempts, createdAt: 0, now, random });
      if (next === undefined) return tries;
      tries.push(next / second);
    }
  }

  it('tries again after seconds, minutes and hours, at the end of a day for the last time', () => {
    expect(triesOf(0)).to.deep.equal([
      0, 5, 35, 155, 755, 2555, 6155, 13_355, 24_155, 34_955, 45_755, 56_555, 67_355, 78_155, 86_400,
    ]);
  });

  it('tries a second time within 15 seconds, and never at one moment with all others', () => {
    const [, first = 0] = triesOf(1);
    expect(first).to.equal(6.25);
    expect(triesOf(0.5)[3]).to.be.greaterThan(triesOf(0)[3] ?? 0);
  });

  it('leaves a receiver alone for as long as it says, within bounds', () => {
    const failed = { attempts: 1, createdAt: 0, now: 0, random: 0 };
    expect(nextTry({ ...failed, retryAfterMs: 1 })).to.equal(5 * second);
    expect(nextTry({ ...failed, retryAfterMs: 90 * second })).to.equal(90 * second);
    expect(nextTry({ ...failed, retryAfterMs: 1000 * hour })).to.equal(6 * hour);
  });

  it('tries what nobody could try for a day once, and no more', () => {
    expect(nextTry({ attempts: 1, createdAt: 0, now: 24 * hour, random: 0 })).to.equal(undefined);
    expect(nextTry({ attempts: 1, createdAt: 0, now: 24 * hour - 1, random: 0 })).to.equal(24 * hour);
  });

  it('reads Retry-After in seconds and as a date', () => {
    const now = Date.UTC(2030, 0, 1);
    expect(readRetryAfter('120', now)).to.equal(120_000);
    expect(readRetryAfter('Tue, 01 Jan 2030 00:00:30 GMT', now)).to.equal(30_000);
    expect(readRetryAfter('Mon, 31 Dec 2029 00:00:00 GMT', now)).to.equal(0);
    for (const none of [undefined, '', 'soon', '-5x', ['1', '2']])
      expect(readRetryAfter(none, now), String(none)).to.equal(undefined);
  });
});

describe('jobs/webhooks/open-webhooks', () => {
  let database: TestDatabase;
  let closers: Closers;
  beforeEach(async () => {
    database = await createSqliteDatabase();
    closers = new Closers();
  });
  afterEach(async () => {
    await closers.close();
    await database.drop();
  });
  const open = async (secrets = signing.webhooks) =>
    openWebhooks({
      config: { webhookOrigins: ['http://127.0.0.1:9100'], sourceTimeoutMs: 1000 },
      access: (await database.connect()).access<SenderTables>(),
      secrets,
      logger: pino({ level: 'silent' }),
      closers,
    });

  it('judges a url by the guard, on the field that held it', async () => {
    const { check } = await open();
    expect(check('https://example.com/hook', 'webhook.url').href).to.equal('https://example.com/hook');
    expect(check('http://127.0.0.1:9100/hook', 'webhook.url').href).to.equal('http://127.0.0.1:9100/hook');
    expect(() => check('https://10.0.0.1/', 'webhook.url'))
      .to.throw()
      .with.property('code', 'source_refused');
    expect(() => check('hook', 'webhook.url'))
      .to.throw()
      .with.nested.property('details[0].field', 'webhook.url');
  });

  it('refuses every url where nothing could be signed, naming what is missing', async () => {
    const { check, wake } = await open(createSigningSecrets(undefined).webhooks);
    expect(() => check('https://example.com/hook', 'webhook.url'))
      .to.throw('HELPER_SIGNING_SECRET')
      .with.property('code', 'storage_unavailable');
    wake();
  });
});
