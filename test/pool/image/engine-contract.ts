import type { EngineName } from '../../../pool/image/engine.js';
import { conversionTests, formatTests } from './contract/formats.js';
import { operationTests, watermarkTests } from './contract/operations.js';
import { brokenByteTests, faultTests } from './contract/options.js';
import { stepTests } from './contract/steps.js';
import { engineBench } from './engines.js';

/** What every engine does with pictures; at length every conversion, and many more broken bytes. */
export function imageEngineTests(name: EngineName, length?: 'at length'): void {
  describe(`image engine ${name}${length ? `, ${length}` : ''}`, () => {
    const bench = engineBench(name);
    conversionTests(bench, length !== undefined);
    brokenByteTests(bench, length ? 200 : 12);
    if (length) return;
    formatTests(bench);
    operationTests(bench);
    watermarkTests(bench);
    faultTests(bench);
    stepTests(bench);
  });
}
