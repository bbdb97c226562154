/**
 * Run by memory.test.ts in a process of its own, whose memory nothing else fills: encodes as many pictures as the first
 * argument says and prints by how many bytes its resident memory has grown since it was warm.
 */
import { heldMemory } from '../../needs.js';
import { makeEngine } from './engines.js';
import { limits, paint, toSharp } from './pictures.js';

const warmUp = 40;
/** So many that what V8 has not collected yet is little beside what a leak would hold. */
const betweenCollections = 10;
const side = 640;

const noise = paint(side, side, (x, y) => [(x * 97 + y * 61) & 255, (x * y * 7) & 255, (x * 13) ^ (y * 31)]);
const source = await toSharp(noise).jpeg({ quality: 95 }).toBuffer();
const engine = await makeEngine('sharp');

async function encode(count: number): Promise<number> {
  let bytes = 0;
  for (let done = 0; done < count; done++) {
    bytes += (await (await engine.open(source, limits)).encode('jpg')).body.length;
    if (done % betweenCollections === 0) heldMemory();
  }
  heldMemory();
  return bytes;
}

await encode(warmUp);
const before = process.memoryUsage().rss;
const encoded = await encode(Number(process.argv[2]));
console.log(JSON.stringify({ encoded, grown: process.memoryUsage().rss - before }));
