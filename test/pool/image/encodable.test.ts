import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { encodableBy, engineToBe } from '../../../pool/image/encodable.js';
import { canEncode, cannotEncode, outputFormats } from '../../../pool/image/formats.js';

/** Runs in a process of its own in which sharp cannot be loaded. */
const withoutSharp = `
  import Module from 'node:module';
  const load = Module._load;
  Module._load = function (name, ...rest) {
    if (name === 'sharp') throw new Error('Could not load the "sharp" module');
    return load.call(this, name, ...rest);
  };
  const { engineToBe } = await import('${new URL('../../../pool/image/encodable.js', import.meta.url)}');
  console.log(engineToBe('auto'), engineToBe('sharp'));
`;

describe('encodableBy', () => {
  it('refuses what the engine does not write, in the words of the engine itself', () => {
    for (const engine of ['sharp', 'jimp'] as const) {
      const judge = encodableBy(() => engine);
      for (const format of outputFormats) {
        const wanted =
          format === 'same' || canEncode(engine, format) ? undefined : cannotEncode(engine, format);
        expect(judge(format), `${engine} ${format}`).to.equal(wanted);
      }
    }
    expect(encodableBy(() => 'jimp')('avif'))
      .to.include('jimp')
      .and.to.include('avif');
  });

  it('asks for the engine only where that matters, and lets all pass while nobody knows it', () => {
    const asked: string[] = [];
    const judge = encodableBy(() => void asked.push('engine'));
    for (const format of [...outputFormats, 'pdf', '', 'constructor']) {
      expect(judge(format)).to.equal(undefined);
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
      withoutSharp,
    ]);
    expect(stdout.trim()).to.equal('jimp sharp');
  });
});
