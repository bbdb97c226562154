import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { open, statusOf } from '../../gateway/raw-client.js';
import { createClient } from '../client.js';
import { goodCalls, keepCalling } from '../good-calls.js';
import type { Scenario } from '../scenario.js';

const halfUploads = 200;
const halfJson = 200;
const drips = 100;

/** Holds this request open, and opens it anew as soon as it is refused, for as long as `goesOn`. */
async function hold(
  url: string,
  bytes: Buffer,
  goesOn: () => boolean,
  ended: (status: number) => void,
): Promise<void> {
  while (goesOn()) {
    const socket = open(url).on('error', () => undefined);
    let text = '';
    socket.on('data', (data) => {
      text += data.toString('latin1').slice(0, 100);
    });
    // The end of either side is the end of the try.
    socket.once('end', () => socket.destroy());
    const closed = once(socket, 'close').catch(() => undefined);
    socket.write(bytes);
    while (!socket.destroyed && text === '' && goesOn()) await Promise.race([closed, sleep(100)]);
    socket.destroy();
    ended(statusOf(text));
    await sleep(250);
  }
}

/**
 * A tenant's own slow uploads, slow bodies and slow sources must not keep its complete work from being done: what arrives
 * slowly has a budget of its own.
 */
export const slowArrivals: Scenario = {
  name: 'must hold: slow arrivals, same tenant',
  // Hundreds of bodies that come at once, and end at once, are some hundred milliseconds of work for all.
  bounds: { goodP99Ms: 2_000, healthMs: 300 },
  async attack(world, { scale, tally }) {
    const client = createClient(world.url, 3);
    const end = performance.now() + scale.seconds * 1000;
    const goesOn = () => world.alive() && performance.now() < end;
    const head = (path: string, type: string) =>
      `POST ${path}?ak=${world.key} HTTP/1.1\r\nhost: x\r\ncontent-type: ${type}\r\ncontent-length: 900000\r\n\r\n`;
    const upload = Buffer.concat([
      Buffer.from(head('/media/add-border', 'multipart/form-data; boundary=b')),
      Buffer.from('--b\r\ncontent-disposition: form-data; name="file"; filename="a.jpg"\r\n\r\n'),
      Buffer.alloc(450_000, world.picture),
    ]);
    const json = Buffer.from(
      `${head('/text/remove-stopwords', 'application/json')}{"text":"${'a '.repeat(220_000)}`,
    );
    // Each another, or all would wait for one.
    const drip = (_: unknown, number: number) => {
      const url = encodeURIComponent(`${world.source}/drip?number=${number}`);
      return Buffer.from(`GET /media/add-border?url=${url}&ak=${world.key} HTTP/1.1\r\nhost: x\r\n\r\n`);
    };
    const held = [
      ...Array.from({ length: halfUploads }, () => upload),
      ...Array.from({ length: halfJson }, () => json),
      ...Array.from({ length: drips }, drip),
    ].map((bytes) => hold(world.url, bytes, goesOn, tally.count));
    await sleep(500);
    const { upload: good, json: text, url: picture } = goodCalls(world, world.key);
    await Promise.all(
      [good, text, picture].map((call) =>
        keepCalling({ client, calls: [call], pauseMs: 100, tally }, goesOn),
      ),
    );
    await Promise.all(held);
    client.close();
  },
};
