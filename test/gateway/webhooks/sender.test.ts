import type { ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { pino } from 'pino';
import { Webhook } from 'standardwebhooks';
import { createPost, type Post } from '../../../gateway/download/fetch.js';
import { createKeyAdmin } from '../../../gateway/keys/admin.js';
import { createKeyStore } from '../../../gateway/keys/store.js';
import { createSigningSecrets } from '../../../gateway/signing/signing-secrets.js';
import {
  addDelivery,
  chooseTenants,
  createDeliveryStore,
  type SenderTables,
} from '../../../gateway/webhooks/delivery-store.js';
import {
  createWebhookSender,
  nextTry,
  readRetryAfter,
  sign,
  type WebhookSenderOptions,
} from '../../../gateway/webhooks/sender.js';
import { until } from '../../needs.js';
import { readText, root } from '../../readme.js';
import { onEachDatabase, type TestDatabase } from '../databases.js';
import { type PostServer, startPostServer } from '../download/post-server.js';
import { startChild } from '../harness.js';
import { compileRecipe } from '../keys/recipe-compiler.js';
import { master, signing } from '../signing/signing.js';

const second = 1000;
const hour = 3_600_000;

/** A database's deliveries as a test adds and sees them. */
async function openDeliveries(database: TestDatabase, now: () => number) {
  const opened = await database.connect();
  const access = opened.access<SenderTables>();
  const admin = createKeyAdmin({
    store: createKeyStore(opened.access()),
    signing,
    compileRecipe,
    services: () => [],
    now,
  });
  let last = 0;
  return {
    access,
    admin,
    /** A tenant's id. */
    tenant: async (name: string) => (await admin.createTenant(name, 'test')).id,
    async add(tenant_id: string, url: string, payload = '{"type":"job.finished"}') {
      last += 1;
      const id = `msg_${last}`;
      const delivery = { id, tenant_id, url, payload, created_at: now() };
      await opened.access().change((trx) => addDelivery(trx, delivery));
      return id;
    },
    rows: () => access.run((db) => db.selectFrom('webhook_deliveries').selectAll().orderBy('id').execute()),
  };
}

describe('webhooks/sender', () =>
  onEachDatabase((database) => {
    const answers: Record<string, (response: ServerResponse) => void> = {};
    const senders: ReturnType<typeof createWebhookSender>[] = [];
    const posts: Post[] = [];
    const logged: string[] = [];
    let now: number;
    let server: PostServer;
    let deliveries: Awaited<ReturnType<typeof openDeliveries>>;
    let acme: string;
    before(async () => {
      server = await startPostServer((response, { path }) =>
        answers[path] ? answers[path](response) : response.writeHead(204).end(),
      );
    });
    beforeEach(async () => {
      now = Date.now();
      for (const list of [logged, server.received]) list.length = 0;
      for (const path of Object.keys(answers)) delete answers[path];
      deliveries = await openDeliveries(database(), () => now);
      acme = await deliveries.tenant('acme');
    });
    afterEach(async () => {
      await Promise.all(senders.splice(0).map((sender) => sender.close()));
      for (const post of posts.splice(0)) await post.close();
    });
    after(() => server?.close());

    const add = (tenant: string, path: string, payload?: string) =>
      deliveries.add(tenant, server.origin + path, payload);
    const idsSent = () => server.received.map(({ headers }) => headers['webhook-id']);
    const come = (count: number) => until(() => server.received.length >= count);
    /** When nothing is left to deliver. */
    const empty = () => until(async () => (await deliveries.rows()).length === 0);
    /** When a delivery has been tried so often and is under no claim; gives when it is due again, from now. */
    const dueIn = (id: string, attempts: number) =>
      until(async () => {
        const row = (await deliveries.rows()).find((row) => row.id === id && row.attempts === attempts);
        return row && row.due_at <= now + 30 * second && row.due_at - now;
      });
    const verify = (at: number, secret: string) => {
      const { body = '', headers = {} } = server.received[at] ?? {};
      return new Webhook(secret).verify(body, headers as Record<string, string>);
    };

    /** Another process's sender; all its looks but the first are asked for. */
    async function open(options: Partial<WebhookSenderOptions> = {}) {
      const post = createPost({ origins: [server.origin], timeoutMs: 30_000 });
      const sender = createWebhookSender({
        ...{ post, secrets: signing.webhooks, pollMs: 3_600_000, closeMs: 20 },
        access: (await database().connect()).access<SenderTables>(),
        logger: pino({ level: 'debug' }, { write: (line: string) => logged.push(line) }),
        now: () => now,
        random: () => 0,
        ...options,
      });
      senders.push(sender);
      posts.push(post);
      return sender;
    }

    it('delivers what is due, signed so that the library of Standard Webhooks believes it', async () => {
      const payload = '{"type":"job.finished","timestamp":"2030-01-01T00:00:00Z","data":{"name":"Zoë 🔑"}}';
      const id = await add(acme, '/hook?token=s3cret', payload);
      await open();
      await empty();
      expect(verify(0, signing.webhooks.current(acme, 1))).to.deep.equal(JSON.parse(payload));
      const [{ method, path, body, headers = {} } = {}] = server.received;
      expect([method, path, body]).to.deep.equal(['POST', '/hook?token=s3cret', payload]);
      expect(Object.keys(headers).sort().join(' ')).to.equal(
        'accept accept-encoding connection content-length content-type host user-agent ' +
          'webhook-id webhook-signature webhook-timestamp',
      );
      expect(headers).to.include({ 'content-type': 'application/json', 'webhook-id': id });
      expect(logged.join('')).not.to.match(/s3cret|whsec_|v1,/);
      expect(() => verify(0, signing.webhooks.current('ten_other', 1))).to.throw();
    });

    it('tries again with the same id and body, and a signature of its own', async () => {
      const observed: string[] = [];
      const sender = await open({ observe: (outcome) => observed.push(outcome) });
      answers['/hook'] = (response) => response.writeHead(500).end('why: s3cret');
      const id = await add(acme, '/hook');
      for (const [attempts, pause] of [5, 30].entries()) {
        sender.wake();
        expect(await dueIn(id, attempts + 1)).to.equal(pause * second);
        now += pause * second;
      }
      delete answers['/hook'];
      sender.wake();
      await empty();
      const times = server.received.map(({ headers }) => Number(headers['webhook-timestamp']));
      expect(times.map((at) => at - (times[0] ?? 0))).to.deep.equal([0, 5, 35]);
      expect(new Set(server.received.map(({ body }) => body)).size).to.equal(1);
      expect(idsSent()).to.deep.equal([id, id, id]);
      for (const at of [0, 1, 2]) verify(at, signing.webhooks.current(acme, 1));
      expect(logged.join('')).not.to.include('s3cret');
      expect(observed).to.deep.equal(['failed', 'failed', 'sent']);
    });

    it('follows nothing, and leaves a receiver alone for as long as it says with 429 or 503', async () => {
      const later = { location: '/there', 'retry-after': '20' };
      const dues = { 301: 5, 307: 5, 400: 5, 404: 5, 500: 5, 429: 20, 503: 20 };
      for (const status of Object.keys(dues))
        answers[`/${status}`] = (response) => response.writeHead(Number(status), later).end();
      const ids = await Promise.all(Object.keys(answers).map((path) => add(acme, path)));
      await open();
      const due = await Promise.all(ids.map((id) => dueIn(id, 1)));
      expect(due).to.deep.equal(Object.values(dues).map((seconds) => seconds * second));
      expect(server.received.map(({ path }) => path)).to.have.members(Object.keys(answers));
    });

    it('ends a delivery that is not wanted any more (410)', async () => {
      answers['/hook'] = (response) => response.writeHead(410).end();
      await add(acme, '/hook');
      await open();
      await empty();
      expect(server.received).to.have.length(1);
    });

    it('drops what is not accepted for a day, and logs it without its url', async () => {
      answers['/s3cret'] = (response) => response.writeHead(500).end();
      const id = await add(acme, '/s3cret');
      now += 24 * hour;
      await open();
      await empty();
      const [warning, ...more] = logged.filter((line) => JSON.parse(line).level === 40);
      expect(more).to.deep.equal([]);
      expect(warning).to.include(id).and.include('dropped').and.include('status 500');
      expect(logged.join('')).not.to.include('s3cret');
    });

    it('refuses what is inside, whatever was checked when the job was made', async () => {
      const id = await deliveries.add(acme, 'https://10.0.0.1/hook');
      await open();
      await dueIn(id, 1);
      expect(logged.join('')).to.include('source_refused');
    });

    it('signs by each master secret, and for a day after a rotation by the secret before as well', async () => {
      await deliveries.admin.rotateWebhookSecret('acme', 'test');
      await add(acme, '/hook');
      const sender = await open({ secrets: createSigningSecrets([`${master}2`, master]).webhooks });
      await empty();
      for (const version of [1, 2]) verify(0, signing.webhooks.current(acme, version));
      now += 24 * hour;
      await add(acme, '/hook');
      sender.wake();
      await empty();
      const counts = server.received.map(
        ({ headers }) => String(headers['webhook-signature']).split(' ').length,
      );
      expect(counts).to.deep.equal([4, 2]);
    });

    it('sends nothing without a master secret', async () => {
      await add(acme, '/hook');
      const sender = await open({ secrets: createSigningSecrets(undefined).webhooks });
      sender.wake();
      await sender.close();
      expect(await deliveries.rows()).to.have.nested.property('[0].attempts', 0);
      expect(server.received).to.deep.equal([]);
    });

    it('sends each once, however many processes there are', async () => {
      const ids = await Promise.all(Array.from({ length: 12 }, () => add(acme, '/hook')));
      await Promise.all([open(), open(), open()]);
      await empty();
      await come(12);
      expect(idsSent().sort()).to.deep.equal(ids.sort());
    });

    it('sends what was under way again after kill -9 with the same id, once the claim has ended', async () => {
      const id = await add(acme, '/hook');
      const { kind, location } = database();
      const file = fileURLToPath(new URL('./kill-child.js', import.meta.url));
      const child = startChild(process.execPath, [file, kind, location, server.origin]);
      // It is killed where the receiver has it all, and it does not know so yet.
      answers['/hook'] = () => void child.process.kill('SIGKILL');
      await come(1);
      await child.ended;
      delete answers['/hook'];
      const [left] = await deliveries.rows();
      now = (left?.due_at ?? 0) - 1;
      const sender = await open();
      await add(acme, '/other');
      sender.wake();
      await come(2);
      expect(server.received[1]?.path).to.equal('/other');
      now += 1;
      sender.wake();
      await empty();
      expect(idsSent()).to.deep.equal([id, 'msg_2', id]);
      for (const at of [0, 1, 2]) verify(at, signing.webhooks.current(acme, 1));
    }).timeout(30_000);

    it('leaves a delivery to the process that claims it after the end of a claim', async () => {
      const store = createDeliveryStore(deliveries.access);
      const claim = async () => (await store.claim(acme, { most: 10, now, until: now + second }))[0];
      await add(acme, '/hook');
      const late = await claim();
      expect(await claim()).to.equal(undefined);
      now += second;
      const other = await claim();
      if (!late || !other) return expect.fail('it was due twice');
      await store.retry(late, 1);
      await store.giveBack(late, 1);
      expect(await deliveries.rows()).to.deep.equal([other]);
      await store.end(late);
      await store.retry(other, 1);
      expect(await deliveries.rows()).to.deep.equal([]);
    });

    it('hands out the oldest delivery first', async () => {
      const store = createDeliveryStore(deliveries.access);
      const claim = () => store.claim(acme, { most: 1, now, until: now + second });
      for (const age of [1, 2, 0]) {
        now -= age;
        await add(acme, `/${age}`);
        now += age;
      }
      const paths = [await claim(), await claim(), await claim()].map(([delivery]) => delivery?.url.at(-1));
      expect(paths).to.deep.equal(['2', '1', '0']);
    });

    it('sends to the others while receivers never answer, with two of a tenant and sixteen under way', async () => {
      const silent: ServerResponse[] = [];
      answers['/silent'] = (response) => void silent.push(response);
      const addMany = async (name: string, count: number, path: string) => {
        const tenant = await deliveries.tenant(name);
        for (let n = 0; n < count; n += 1) await add(tenant, path);
      };
      for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) await addMany(name, 6, '/silent');
      now += 1;
      await addMany('live', 20, '/hook');
      const sender = await open();
      await until(() => server.received.filter(({ path }) => path === '/hook').length === 20);
      expect(silent).to.have.length(12);
      for (const name of ['g', 'h', 'i', 'j']) await addMany(name, 3, '/silent');
      sender.wake();
      await until(() => silent.length === 16);
      const claimed = (await deliveries.rows()).filter(({ attempts }) => attempts > 0);
      expect(claimed).to.have.length(16);
      const tenants = claimed.map(({ tenant_id }) => tenant_id);
      for (const tenant of tenants) expect(tenants.filter((each) => each === tenant).length).to.be.below(3);
    });

    it('gives back at its close what has no answer yet, for the next', async () => {
      answers['/hook'] = () => undefined;
      const id = await add(acme, '/hook');
      const first = await open();
      await come(1);
      await first.close();
      expect((await deliveries.rows())[0]).to.include({ id, attempts: 0, due_at: now });
      delete answers['/hook'];
      await open();
      await empty();
      expect(idsSent()).to.deep.equal([id, id]);
    });

    it('lets what is under way end at its close, and claims nothing more', async () => {
      let answer: (() => void) | undefined;
      answers['/hook'] = (response) => {
        answer = () => void response.writeHead(204).end();
      };
      await add(acme, '/hook');
      const sender = await open({ closeMs: 60_000 });
      await come(1);
      const closed = sender.close();
      await add(acme, '/hook');
      sender.wake();
      answer?.();
      await closed;
      expect((await deliveries.rows()).map(({ attempts }) => attempts)).to.deep.equal([0]);
    });

    it('waits for a database that does not answer, without spinning, and writes down what was delivered', async () => {
      const { access } = deliveries;
      let away = true;
      let asked = 0;
      const run: typeof access.run = (work) => {
        asked += 1;
        return away ? Promise.reject(new Error('away')) : access.run(work);
      };
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
      expect(await deliveries.rows()).to.have.length(1);
      away = false;
      await empty();
      expect(server.received).to.have.length(1);
      expect(logged.filter((line) => line.includes('sent again'))).to.have.length.of.at.least(2);
    });
  }));

describe('webhooks: what is tried when', () => {
  const failed = { attempts: 1, created_at: 0 };

  it('gives the tenant with the fewest under way the next slot, then the one that has waited longest', () => {
    const due = (tenant_id: string, waiting: number, oldest = 0) => ({ tenant_id, waiting, oldest });
    const under: Record<string, number> = { b: 1, full: 2 };
    const last: Record<string, number> = { late: 7, early: 3 };
    const standing = (id: string) => ({ held: under[id] ?? 0, last: last[id] ?? 0 });
    const many = [due('a', 1000), due('one', 1), due('c', 5)];
    for (const [tenants, free, chosen] of [
      [many, 3, { a: 1, one: 1, c: 1 }],
      [many, 16, { a: 2, one: 1, c: 2 }],
      [many, 0, {}],
      [[due('full', 9), due('b', 9), due('c', 9)], 1, { c: 1 }],
      [[due('full', 9), due('b', 9), due('c', 9)], 16, { b: 1, c: 2 }],
      [[due('late', 9, 1), due('early', 9, 5)], 1, { early: 1 }],
      [[due('younger', 1, 5), due('older', 1, 4)], 1, { older: 1 }],
    ] as const) {
      const slots = chooseTenants(tenants, free, 2, standing);
      expect(Object.fromEntries(slots.map((each) => [each.tenant.tenant_id, each.slots]))).to.deep.equal(
        chosen,
      );
    }
  });

  it('tries again after seconds, minutes and hours, not all at one moment, and at the end of a day for the last time', () => {
    /** Seconds from a delivery's beginning at which it is tried, where each try fails at once. */
    function triesOf(random: number): number[] {
      const tries = [0];
      for (let attempts = 1; ; attempts += 1) {
        const next = nextTry({ attempts, created_at: 0 }, { now: (tries.at(-1) ?? 0) * second, random });
        if (next === undefined) return tries;
        tries.push(next / second);
      }
    }
    expect(triesOf(0)).to.deep.equal([
      0, 5, 35, 155, 755, 2555, 6155, 13_355, 24_155, 34_955, 45_755, 56_555, 67_355, 78_155, 86_400,
    ]);
    expect(triesOf(1)[1]).to.equal(6.25);
    expect(nextTry(failed, { now: 24 * hour, random: 0 })).to.equal(undefined);
  });

  it('leaves a receiver alone for as long as it says, in seconds or by a date, within bounds', () => {
    for (const [wish, pause] of [
      [1, 5 * second],
      [90 * second, 90 * second],
      [1000 * hour, 6 * hour],
    ] as const)
      expect(nextTry(failed, { now: 0, random: 0, retryAfterMs: wish })).to.equal(pause);
    const now = Date.UTC(2030, 0, 1);
    expect(readRetryAfter('120', now)).to.equal(120_000);
    expect(readRetryAfter('Tue, 01 Jan 2030 00:00:30 GMT', now)).to.equal(30_000);
    expect(readRetryAfter('Mon, 31 Dec 2029 00:00:00 GMT', now)).to.equal(0);
    for (const none of [undefined, '', 'soon', '-5x', ['1', '2']])
      expect(readRetryAfter(none, now), String(none)).to.equal(undefined);
  });
});

describe('the secrets of webhooks', () => {
  const { webhooks } = signing;

  it('are of a form of their own, and not derived as those of signed URLs', () => {
    const [own, ofUrls] = [webhooks.current('a', 1), signing.current('a', 1)];
    expect(own).to.match(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const bytes = (text: string, from: number) => Buffer.from(text.slice(from), 'base64').toString('hex');
    expect(bytes(own, 6)).not.to.equal(bytes(ofUrls, 4));
  });

  it('are believed by the receiver that the README shows, and nothing else is', async () => {
    const text = readText('gateway/webhooks/README.md');
    const secret = webhooks.current('ten_a', 1);
    const [, program = ''] = /```js\n([\s\S]*?)```/.exec(text) ?? [];
    const anywhere = program.replace(
      '.listen(9200)',
      ".listen(0, '127.0.0.1', function () { console.log('port', this.address().port) })",
    );
    const env = { PATH: process.env.PATH, WEBHOOK_SECRET: secret };
    const child = startChild(process.execPath, ['--input-type=module', '-e', anywhere], { cwd: root, env });
    const [, port] = await child.until(() => /port (\d+)/.exec(child.stdout()));
    const send = async (body: string, signed = body) => {
      const message = { id: 'msg_1', timestamp: Math.floor(Date.now() / 1000), body: signed };
      const headers = {
        'webhook-id': message.id,
        'webhook-timestamp': String(message.timestamp),
        'webhook-signature': sign(message, secret),
      };
      return (await fetch(`http://127.0.0.1:${port}/hook`, { method: 'POST', headers, body })).status;
    };
    const body = '{"type":"job.finished","timestamp":"2030-01-01T00:00:00Z","data":{"name":"Zoë"}}';
    expect(await send(body)).to.equal(204);
    expect(await send(body.replace('Zoë', 'Eve'), body)).to.equal(401);
    child.process.kill();
    await child.ended;
    expect(child.stdout()).to.include('job.finished').and.include('Zoë').and.not.include('Eve');
  });
});
