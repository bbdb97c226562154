import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { expect } from 'chai';
import { startTestGateway, type TestGateway } from '../harness.js';
import { sendAllThenRead } from '../raw-client.js';

describe('clients that are refused while they send', () => {
  let api: TestGateway;
  before(async () => {
    api = await startTestGateway();
  });
  after(() => api.close());

  it('take a bounded part of each turn of the event loop from others, whatever they send', async () => {
    const senders = 40;
    const bytes = 12 * 1024 * 1024;
    const upload = 'Content-Type: multipart/form-data; boundary=q';
    const head = `POST /media/add-border HTTP/1.1\r\nHost: x\r\n${upload}\r\nContent-Length: ${bytes}\r\n\r\n`;
    const taken: Socket[] = [];
    const take = (message: unknown) => taken.push((message as { socket: Socket }).socket);
    subscribe('net.server.socket', take);
    const turns: number[] = [];
    let [sending, read] = [true, 0];
    setImmediate(function count() {
      const now = taken.reduce((sum, { bytesRead }) => sum + bytesRead, 0);
      turns.push(now - read);
      read = now;
      if (sending) setImmediate(count);
    });
    const sent = Promise.all(Array.from({ length: senders }, () => sendAllThenRead(api.url, head, bytes)));
    sent.finally(() => {
      sending = false;
    });
    let answered = 0;
    while (sending) {
      expect((await fetch(`${api.url}/healthz`)).status).to.equal(200);
      answered += 1;
    }
    unsubscribe('net.server.socket', take);
    for (const { status } of await sent) expect(status).to.equal(401);
    expect(read).to.be.above(senders * bytes);
    // Two megabytes, and of each sender what it gave before it was stopped.
    expect(Math.max(...turns)).to.be.below(12 * 1024 * 1024);
    // So there are many turns, of which a call takes three.
    expect(answered).to.be.above(20);
  });
});
