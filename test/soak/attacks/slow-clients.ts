import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { open } from '../../gateway/raw-client.js';
import { createClient } from '../client.js';
import { goodCalls, keepCalling } from '../good-calls.js';
import { multipart } from '../multipart.js';
import type { Random } from '../random.js';
import type { Scenario } from '../scenario.js';
import type { World } from '../world.js';

interface SlowClient {
  /** Sent as soon as the connection stands. */
  sends: Buffer;
  /** Whether its own side is closed then. */
  ends?: boolean;
  /** Bytes read a second; 0 is none, undefined all that comes. */
  reads?: number;
}

function head(path: string, lines: readonly string[]): string {
  return `${[`POST ${path} HTTP/1.1`, 'host: x', ...lines].join('\r\n')}\r\n\r\n`;
}

/** Whole or half-sent, of each kind of body. */
function kinds(world: World): SlowClient[] {
  const { type, body } = multipart([{ name: 'file', filename: 'a.jpg', value: world.picture }]);
  const border = `/media/add-border?format=png&ak=${world.key}`;
  const upload = Buffer.concat([
    Buffer.from(head(border, [`content-type: ${type}`, `content-length: ${body.length}`])),
    body,
  ]);
  const json = Buffer.from(
    `${head(`/text/remove-stopwords?ak=${world.key}`, ['content-type: application/json', 'content-length: 500000'])}{"text":"${'a '.repeat(200_000)}`,
  );
  const chunked = Buffer.from(
    `${head(`/text/remove-stopwords?ak=${world.key}`, ['content-type: application/json', 'transfer-encoding: chunked'])}7\r\n{"text"`,
  );
  const get = Buffer.from(`GET /text/diff-two-strings?a=1&b=2&ak=${world.key} HTTP/1.1\r\nhost: x\r\n\r\n`);
  const drip = Buffer.from(
    `GET /media/add-border?url=${encodeURIComponent(`${world.source}/drip`)}&ak=${world.key} HTTP/1.1\r\nhost: x\r\n\r\n`,
  );
  return [
    { sends: upload.subarray(0, upload.length >> 1) },
    { sends: upload.subarray(0, upload.length >> 1), ends: true },
    { sends: upload, ends: true },
    { sends: upload, reads: 0 },
    { sends: upload, reads: 1 },
    { sends: json },
    { sends: json, ends: true },
    { sends: chunked },
    { sends: chunked, ends: true },
    { sends: get.subarray(0, 20) },
    { sends: get.subarray(0, 20), ends: true },
    { sends: get, ends: true },
    { sends: Buffer.concat(Array.from({ length: 20 }, () => get)), reads: 0 },
    { sends: Buffer.alloc(0) },
    { sends: drip },
    { sends: drip, ends: true },
  ];
}

function start({ url }: World, { sends, ends, reads }: SlowClient): Socket {
  const socket = open(url).on('error', () => undefined);
  socket.once('connect', () => {
    if (sends.length > 0) socket.write(sends);
    if (ends) socket.end();
  });
  if (reads === undefined) return socket.resume();
  if (reads > 0) {
    const timer = setInterval(() => socket.read(reads), 1000);
    socket.once('close', () => clearInterval(timer));
  }
  return socket;
}

/** By a close in order or by a reset, in the middle of whatever goes on. */
function leave(random: Random, socket: Socket): void {
  if (random.below(2) === 0) socket.resetAndDestroy();
  else socket.destroy();
}

/** Clients that stall in each way there is and then go, while other tenants' calls are served. */
export const slowClients: Scenario = {
  name: 'slow and half-closed clients',
  bounds: { goodP99Ms: 2_000 },
  async attack(world, { scale, random, tally }) {
    const client = createClient(world.url, 2);
    const end = performance.now() + scale.seconds * 1000;
    const goesOn = () => world.alive() && performance.now() < end;
    const { text, json } = goodCalls(world, world.quietKey);
    const good = keepCalling({ client, calls: [text, json], pauseMs: 20, tally }, goesOn);
    const slow = kinds(world);
    while (goesOn()) {
      const sockets = Array.from({ length: scale.calls }, (_, at) =>
        start(world, slow[at % slow.length] as SlowClient),
      );
      await sleep(random.pick([100, 500, 1_000]));
      const leavers = sockets.filter(() => random.below(2) === 0);
      for (const socket of leavers) leave(random, socket);
      await sleep(Math.min(4_000, Math.max(0, end - performance.now())));
      for (const socket of sockets) leave(random, socket);
      for (let at = 0; at < sockets.length; at += 1) tally.count(0);
    }
    await good;
    client.close();
  },
};
