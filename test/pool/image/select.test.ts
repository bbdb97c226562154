import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import {
  canEncode,
  cannotEncode,
  encodableBy,
  engineToBe,
  outputFormats,
} from '../../../pool/image/options.js';
import { loadEngine } from '../../../pool/image/select.js';
import { createFontSet } from '../../../pool/image/text/fonts.js';

describe('loadEngine', function () {
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

/** Runs in a process of its own in which sharp cannot be loaded. */
const withoutSharpModule = `
  import Module from 'node:module';
  const load = Module._load;
  Module._load = function (name, ...rest) {
    if (name === 'sharp') throw new Error('Could not load the "sharp" module');
    return load.call(this, name, ...rest);
  };
  const { engineToBe } = await import('${new URL('../../../pool/image/options.js', import.meta.url)}');
  console.log(engineToBe('auto'), engineToBe('sharp'));
`;

describe('encodableBy', () => {
  it('refuses what the engine does not write, in the words of the engine itself', () => {
    for (const engine of ['sharp', 'jimp'] as const) {
      const check = encodableBy(() => engine);
      for (const format of outputFormats) {
        const wanted =
          format === 'same' || canEncode(engine, format) ? undefined : cannotEncode(engine, format);
        expect(check(format), `${engine} ${format}`).to.equal(wanted);
      }
    }
    expect(encodableBy(() => 'jimp')('avif'))
      .to.include('jimp')
      .and.to.include('avif');
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

describe('engineToBe', () => {
  it('is the one that was chosen, and else the one that can be loaded', async () => {
    expect([engineToBe('jimp'), engineToBe('sharp'), engineToBe('auto')]).to.deep.equal([
      'jimp',
      'sharp',
      'sharp',
    ]);
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--input-type=module',
      '-e',
      withoutSharpModule,
    ]);
    expect(stdout.trim()).to.equal('jimp sharp');
  });
});
