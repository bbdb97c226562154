import { expect } from 'chai';

import { parseDuration } from '../../../gateway/commands/duration.js';

describe('commands/duration', () => {
  for (const [text, seconds] of [
    ['now', 0],
    ['0', 0],
    ['30s', 30],
    ['15m', 900],
    ['24h', 86_400],
    ['7d', 604_800],
  ] as const) {
    it(`reads ${text}`, () => expect(parseDuration(text)).to.equal(seconds));
  }

  it('refuses what has no unit or is no duration', () => {
    for (const text of ['', '24', '-1h', '1.5h', '1w', 'soon', '1 h', '1h30m', '9999999999s']) {
      expect(parseDuration(text)).to.equal(undefined);
    }
  });
});
