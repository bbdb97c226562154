import type { ImageEngine } from '../../../pool/image/engine.js';
import { engineBench } from './contract/bench.js';
import { borderTests } from './contract/border.js';
import { brokenByteTests, brokenPictureTests } from './contract/broken.js';
import { conversionTests, formatTests } from './contract/formats.js';
import { geometryTests } from './contract/geometry.js';
import { legibilityTests } from './contract/legibility.js';
import { logoTests } from './contract/logo.js';
import { optionTests } from './contract/options.js';
import { outputTests } from './contract/outputs.js';
import { resizeTests } from './contract/resize.js';
import { sourceTests } from './contract/source.js';
import { watermarkTests } from './contract/watermark.js';
import type { Decode } from './decoders.js';

/** What every engine does with pictures; `decode` must be another library than the engine's own. */
export function imageEngineTests(
  name: ImageEngine['name'],
  makeEngine: () => Promise<ImageEngine>,
  decode: Decode,
): void {
  describe(`image engine ${name}`, () => {
    let engine: ImageEngine;
    before(async () => {
      engine = await makeEngine();
    });
    const bench = engineBench(() => engine, decode);
    conversionTests(bench, false);
    formatTests(bench);
    borderTests(bench);
    watermarkTests(bench);
    logoTests(bench);
    legibilityTests(bench);
    sourceTests(bench);
    resizeTests(bench);
    geometryTests(bench);
    optionTests(bench);
    outputTests(bench, name);
    brokenPictureTests(bench);
    brokenByteTests(bench, 12);
  });
}

/** Every conversion, and many more broken bytes. */
export function longImageEngineTests(
  name: ImageEngine['name'],
  makeEngine: () => Promise<ImageEngine>,
  decode: Decode,
): void {
  describe(`image engine ${name}, at length`, () => {
    let engine: ImageEngine;
    before(async () => {
      engine = await makeEngine();
    });
    const bench = engineBench(() => engine, decode);
    conversionTests(bench, true);
    brokenByteTests(bench, 200);
  });
}
