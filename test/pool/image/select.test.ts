import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { loadEngine } from '../../../pool/image/select.js';
import { createFontSet } from '../../../pool/image/text/fonts.js';

const module = (path: string) => new URL(`../../../pool/image/${path}`, import.meta.url).href;

/** Runs in a process of its own in which no native binding of sharp is there to be loaded. */
const withoutSharp = `
  import Module from 'node:module';
  const load = Module._load;
  Module._load = function (name, ...rest) {
    if (/^@img\\/sharp|sharp-.*\\.node$/.test(name)) {
      throw Object.assign(new Error("Cannot find module '" + name + "'"), { code: 'MODULE_NOT_FOUND' });
    }
    return load.call(this, name, ...rest);
  };
  const { loadEngine } = await import('${module('select.js')}');
  const { createFontSet } = await import('${module('text/fonts.js')}');
  const { encodePng } = await import('${module('png/encode.js')}');
  const options = { fonts: createFontSet, timeoutSeconds: 10 };
  const { engine, fallbackReason } = await loadEngine('auto', options);
  const refused = await loadEngine('sharp', options).catch((error) => error.message);
  let bytes = encodePng({ data: new Uint8Array(3000).fill(200), width: 40, height: 25, channels: 3, frames: 1 });
  const made = {};
  for (const format of ['png', 'jpg', 'webp', 'png']) {
    const image = await engine.open(bytes, { maxPixels: 1e6, maxFrames: 9 });
    const mark = { text: 'x', position: 'top-left', opacity: 1, fontSize: 9, color: '#000000' };
    ({ body: bytes } = await image.border({ width: 2, color: '#ff0000' }).watermark(mark).encode(format));
    made[format] = Buffer.from(bytes.subarray(0, 4)).toString('latin1');
  }
  console.log(JSON.stringify({ name: engine.name, fallbackReason, refused, made }));
`;

describe('loadEngine', function () {
  // Jimp writes every format.
  this.timeout(30_000);

  it('takes sharp where it can be loaded, and Jimp where that was asked for', async () => {
    const options = { fonts: createFontSet, timeoutSeconds: 10 };
    const auto = await loadEngine('auto', options);
    expect([auto.engine.name, auto.fallbackReason]).to.deep.equal(['sharp', undefined]);
    expect((await loadEngine('jimp', options)).engine.name).to.equal('jimp');
  });

  it('falls back to Jimp where sharp cannot be loaded, says why, and makes every format', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--input-type=module',
      '-e',
      withoutSharp,
    ]);
    const { name, fallbackReason, refused, made } = JSON.parse(stdout);
    expect(name).to.equal('jimp');
    expect(fallbackReason)
      .to.match(/^Could not load the "sharp" module/)
      .and.not.include('\n');
    expect(refused).to.match(/sharp was asked for and cannot be loaded: Could not load/);
    expect(made).to.deep.equal({ png: '\x89PNG', jpg: '\xff\xd8\xff\xe0', webp: 'RIFF' });
  });
});
