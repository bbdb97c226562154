import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';

const url = (file: string) => new URL(file, import.meta.url).href;

/** Runs in a process whose memory nothing else fills; prints by how much that has grown since it was warm. */
const encodeMany = `
  const { heldMemory } = await import('${url('../../needs.js')}');
  const { makeEngine } = await import('${url('./engines.js')}');
  const { limits, paint, toSharp } = await import('${url('./pictures.js')}');
  const noise = (x, y) => [(x * 97 + y * 61) & 255, (x * y * 7) & 255, (x * 13) ^ (y * 31)];
  const source = await toSharp(paint(640, 640, noise)).jpeg({ quality: 95 }).toBuffer();
  const engine = await makeEngine('sharp');
  async function encode(count) {
    let bytes = 0;
    for (let done = 0; done < count; done++) {
      bytes += (await (await engine.open(source, limits)).encode('jpg')).body.length;
      // So often that what V8 has not collected yet is little beside what a leak would hold.
      if (done % 10 === 0) heldMemory();
    }
    heldMemory();
    return bytes;
  }
  await encode(40);
  const before = process.memoryUsage().rss;
  const encoded = await encode(200);
  console.log(JSON.stringify({ encoded, grown: process.memoryUsage().rss - before }));
`;

describe('memory of the sharp engine', function () {
  this.timeout(300_000);

  it('is given back after each picture', async () => {
    const run = promisify(execFile)(process.execPath, ['--input-type=module', '-e', encodeMany]);
    const { encoded, grown } = JSON.parse((await run).stdout) as { encoded: number; grown: number };
    expect(encoded).to.be.greaterThan(30 * 2 ** 20);
    expect(grown).to.be.lessThan(encoded / 2);
  });
});
