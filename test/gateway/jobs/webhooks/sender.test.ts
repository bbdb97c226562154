import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { createSigningSecrets } from '../../../../gateway/signing/signing-secrets.js';
import { onEachDatabase } from '../../databases.js';
import { signing } from '../../signing/signing.js';
import { serveSending } from './sending.js';

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
