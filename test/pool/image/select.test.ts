import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { EngineName } from '../../../pool/image/engine.js';
import { cannotEncode, encodableBy, engineToBe, outputFormats } from '../../../pool/image/options.js';
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
  const { engineToBe } = await import('${module('options.js')}');
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
  const names = [engine.name, engineToBe('auto'), engineToBe('sharp')];
  console.log(JSON.stringify({ names, fallbackReason, refused, made }));
`;

describe('loadEngine', function () {
  // Jimp writes every format.
  this.timeout(30_000);

  it('loads sharp where that can be, and Jimp where it was asked for', async () => {
    const options = { fonts: createFontSet, timeoutSeconds: 10 };
    const auto = await loadEngine('auto', options);
    expect([auto.engine.name, auto.fallbackReason]).to.deep.equal(['sharp', undefined]);
    expect((await loadEngine('jimp', options)).engine.name).to.equal('jimp');
    expect((['jimp', 'sharp', 'auto'] as const).map(engineToBe)).to.deep.equal(['jimp', 'sharp', 'sharp']);
  });

  it('falls back to Jimp where sharp cannot be loaded, says why, and makes every format', async () => {
    const run = promisify(execFile)(process.execPath, ['--input-type=module', '-e', withoutSharp]);
    const { names, fallbackReason, refused, made } = JSON.parse((await run).stdout);
    expect(names).to.deep.equal(['jimp', 'jimp', 'sharp']);
    expect(fallbackReason).to.match(/^Could not load the "sharp" module[^\n]+$/);
    expect(refused).to.match(/sharp was asked for and cannot be loaded: Could not load/);
    expect(made).to.deep.equal({ png: '\x89PNG', jpg: '\xff\xd8\xff\xe0', webp: 'RIFF' });
  });
});

describe('encodableBy', () => {
  it('refuses what the engine does not write, in the words of the engine itself', () => {
    const problems = (engine: EngineName) => outputFormats.map(encodableBy(() => engine));
    expect(problems('sharp')).to.deep.equal(outputFormats.map(() => undefined));
    const avif = cannotEncode('avif');
    expect(problems('jimp')).to.deep.equal(outputFormats.map((each) => (each === 'avif' ? avif : undefined)));
  });

  it('asks for the engine only where that matters, and lets all pass while it is unknown', () => {
    const asked: string[] = [];
    const check = encodableBy(() => void asked.push('engine'));
    for (const format of [...outputFormats, 'pdf', '', 'constructor']) {
      expect(check(format)).to.equal(undefined);
    }
    expect(asked).to.deep.equal(['engine']);
  });
});
