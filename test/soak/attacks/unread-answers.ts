import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import { open } from '../../gateway/raw-client.js';
import { createClient } from '../client.js';
import { goodCalls, keepCalling } from '../good-calls.js';
import { multipart } from '../multipart.js';
import type { Scenario } from '../scenario.js';

/** What the README names: what calls hold of inputs and of answers at most by default, and one answer more a thread. */
const budgetMb = 256 + 256 + 2 * 8;

/** A picture of noise, small as it comes and 6 MB as a PNG. */
async function noise(): Promise<Buffer> {
  const create = { width: 1500, height: 1350, channels: 3 as const, background: '#888' };
  return sharp({ create: { ...create, noise: { type: 'gaussian', mean: 128, sigma: 60 } } })
    .jpeg({ quality: 40 })
    .toBuffer();
}

/** Answers of about 6 MB each that nobody reads; every fourth is a picture, the others text that escaping makes longer. */
export const unreadAnswers: Scenario = {
  name: 'must hold: 700 answers never read',
  bounds: { riseMb: budgetMb, goodP99Ms: 2_000 },
  async attack(world, { scale, tally }) {
    const value = await noise();
    // Each another, or one answer would be sent to all.
    const picture = (width: number) =>
      multipart([
        { name: 'width', value: String(width) },
        { name: 'file', filename: 'a.jpg', value },
      ]);
    const text = Buffer.from(`text=${'\x01'.repeat(990_000)}`);
    const request = (path: string, type: string, body: Buffer) =>
      Buffer.concat([
        Buffer.from(
          `POST ${path}?ak=${world.key} HTTP/1.1\r\nhost: x\r\ncontent-type: ${type}\r\ncontent-length: ${body.length}\r\n\r\n`,
        ),
        body,
      ]);
    const requestAt = (at: number) => {
      if (at % 4 > 0) return request('/text/remove-stopwords', 'application/x-www-form-urlencoded', text);
      const { type, body } = picture(at % 200);
      return request('/media/add-border', type, body);
    };
    const client = createClient(world.url, 1);
    let goesOn = true;
    const { text: quiet } = goodCalls(world, world.quietKey);
    const good = keepCalling({ client, calls: [quiet], pauseMs: 50, tally }, () => goesOn && world.alive());
    const sockets: Socket[] = [];
    for (let at = 0; at < scale.calls && world.alive(); at += 1) {
      const socket = open(world.url).on('error', () => undefined);
      socket.pause().write(requestAt(at));
      sockets.push(socket);
      // As fast as a pool of two takes them, so that they are worked on and not refused.
      await sleep(30);
    }
    await sleep(scale.seconds * 1000);
    for (const socket of sockets) {
      tally.count(0);
      socket.destroy();
    }
    goesOn = false;
    await good;
    client.close();
  },
};
