import { expect } from 'chai';
import fc from 'fast-check';
import { outcome, signedUrls, tamperingTest } from './signed-urls.js';
import { drawFrom, meaningOf, rewritings } from './tamper.js';

describe('a signed url', () => {
  it('passes as it is', () => {
    fc.assert(fc.property(signedUrls, (url) => outcome(url) === 'passed'));
  });

  it('passes whoever re-encodes and reorders it', () => {
    fc.assert(
      fc.property(signedUrls, fc.nat(), (url, seed) => {
        const draw = drawFrom(seed);
        let written = url;
        for (let n = 0; n < 6; n += 1) {
          written = (rewritings[draw(rewritings.length)] as (typeof rewritings)[0])(written, draw);
          expect(meaningOf(written), written).to.equal(meaningOf(url));
          expect(outcome(written), written).to.equal('passed');
        }
      }),
      { numRuns: 500 },
    );
  });

  tamperingTest(10_000);
});
