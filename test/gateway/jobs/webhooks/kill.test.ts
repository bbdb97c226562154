import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { onEachDatabase } from '../../databases.js';
import { startChild } from '../../harness.js';
import { signing } from '../../signing/signing.js';
import { serveSending } from './sending.js';

const childFile = fileURLToPath(new URL('kill-child.js', import.meta.url));

describe('webhooks after kill -9', () =>
  onEachDatabase((database) => {
    const { answers, clock, server, deliveries, add, open, come, empty } = serveSending(database);

    it('are sent again with the same id, once the claim of the dead has ended', async () => {
      const acme = await deliveries().tenant('acme');
      const id = await add(acme, '/hook');
      const { kind, location } = database();
      const child = startChild(process.execPath, [childFile, kind, location, server().origin]);
      // It is killed where the receiver has it all, and it does not know so yet.
      answers['/hook'] = () => void child.process.kill('SIGKILL');
      await come(1);
      await child.ended;
      delete answers['/hook'];

      const [left] = await deliveries().rows();
      clock.now = (left?.due_at ?? 0) - 1;
      const sender = await open();
      await add(acme, '/other');
      sender.wake();
      await come(2);
      expect(server().received[1]?.path).to.equal('/other');
      clock.now += 1;
      sender.wake();
      await empty();
      expect(server().received.map(({ headers }) => headers['webhook-id'])).to.deep.equal([id, 'msg_2', id]);
      for (const { body, headers } of server().received)
        new Webhook(signing.webhooks.current(acme, 1)).verify(body, headers as Record<string, string>);
    }).timeout(30_000);
  }));
