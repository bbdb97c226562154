import type { ImageEngine } from '../../../pool/image/engine.js';
import { engineBench } from './contract/bench.js';
import { conversionTests, formatTests, outputTests, sourceTests } from './contract/formats.js';
import { legibilityTests } from './contract/legibility.js';
import { borderTests, geometryTests, resizeTests } from './contract/operations.js';
import { brokenByteTests, brokenPictureTests, optionTests } from './contract/options.js';
import { logoTests, watermarkTests } from './contract/watermark.js';
import type { Decode } from './engines.js';

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
