import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import { open, statusOf } from '../../gateway/raw-client.js';
import { type Call, createClient, inParallel } from '../client.js';
import { multipart, type Random } from '../mutate.js';
import { goodCalls, keepCalling, type Scenario } from '../scenario.js';
import type { World } from '../world.js';

/** Sends bytes at once, may then close its own side, and reads so many bytes a second: 0 is none, undefined all that comes. */
type SlowClient = { sends: Buffer; ends?: boolean; reads?: number };

/** A body follows, of this length or in chunks. */
function post(path: string, type: string, length?: number): string {
  const framing = length === undefined ? 'transfer-encoding: chunked' : `content-length: ${length}`;
  return `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: ${type}\r\n${framing}\r\n\r\n`;
}

/** Whole or half-sent, of each kind of body. */
function kinds(world: World): SlowClient[] {
  const { type, body } = multipart([{ name: 'file', filename: 'a.jpg', value: world.picture }]);
  const border = `/media/add-border?format=png&ak=${world.key}`;
  const words = `/text/remove-stopwords?ak=${world.key}`;
  const upload = Buffer.concat([Buffer.from(post(border, type, body.length)), body]);
  const json = Buffer.from(`${post(words, 'application/json', 500_000)}{"text":"${'a '.repeat(200_000)}`);
  const chunked = Buffer.from(`${post(words, 'application/json')}7\r\n{"text"`);
  const got = (path: string) => Buffer.from(`GET ${path}&ak=${world.key} HTTP/1.1\r\nhost: x\r\n\r\n`);
  const get = got('/text/diff-two-strings?a=1&b=2');
  const drip = got(`/media/add-border?url=${encodeURIComponent(`${world.source}/drip`)}`);
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

type Ended = (status: number) => void;

/** Holds this request open, and opens it anew as soon as it is refused, for as long as `goesOn`. */
async function hold(url: string, bytes: Buffer, goesOn: () => boolean, ended: Ended): Promise<void> {
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
  name: 'must hold: slow bodies, same tenant',
  // Hundreds of bodies that come at once, and end at once, are some hundred milliseconds of work for all.
  bounds: { goodP99Ms: 2_000, healthMs: 300 },
  async attack(world, { scale, tally }) {
    const client = createClient(world.url, 3);
    const end = performance.now() + scale.seconds * 1000;
    const goesOn = () => world.alive() && performance.now() < end;
    const head = (path: string, type: string) => post(`${path}?ak=${world.key}`, type, 900_000);
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
      ...Array.from({ length: 200 }, () => upload),
      ...Array.from({ length: 200 }, () => json),
      ...Array.from({ length: 100 }, drip),
    ].map((bytes) => hold(world.url, bytes, goesOn, tally.count));
    await sleep(500);
    const { upload: good, json: text, url: picture } = goodCalls(world, world.key);
    const keep = (call: Call) => keepCalling({ client, calls: [call], pauseMs: 100, tally }, goesOn);
    await Promise.all([good, text, picture].map(keep));
    await Promise.all(held);
    client.close();
  },
};

/** What the README names: what calls hold of inputs and of answers at most by default, and one answer more a thread. */
const budgetMb = 256 + 256 + 2 * 8;

/** A picture of noise, small as it comes and 6 MB as a PNG. */
async function noise(): Promise<Buffer> {
  const create = { width: 1500, height: 1350, channels: 3 as const, background: '#888' };
  return sharp({ create: { ...create, noise: { type: 'gaussian', mean: 128, sigma: 60 } } })
    .jpeg({ quality: 40 })
    .toBuffer();
}

/** Unread answers of about 6 MB each; every fourth is a picture, the others text that escaping makes longer. */
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
      Buffer.concat([Buffer.from(post(`${path}?ak=${world.key}`, type, body.length)), body]);
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

/** 100 keys of two tenants at once, with right and wrong calls of all kinds. */
export const manyKeys: Scenario = {
  name: '100 keys at once',
  async attack(world, { scale, random, tally }) {
    const keys: string[] = [];
    for (let at = 0; at < 100; at += 1) keys.push(await world.issueKey(random.pick(['demo', 'quiet'])));
    const client = createClient(world.url, 100);
    await inParallel({ at: 100, times: scale.calls, goesOn: world.alive }, async (at) => {
      const { text, json, upload, url } = goodCalls(world, keys[at % keys.length] as string);
      const wrong = { path: '/text/remove-stopwords?ak=hg_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' };
      const bad = { ...json, body: '{"a":' };
      tally.count((await client.call(random.pick([text, text, json, json, upload, url, wrong, bad]))).status);
    });
    client.close();
    if (tally.statuses.get(0)) tally.fault(`${tally.statuses.get(0)} calls were not answered`);
  },
};
