import { expect } from 'chai';

import { checkExpiry } from '../../../gateway/keys/expiry.js';

const NOW = Date.UTC(2030, 0, 1);

describe('keys/expiry', () => {
  for (const [text, time] of [
    ['2030-01-31', Date.UTC(2030, 0, 31)],
    ['2030-01-31T18:00Z', Date.UTC(2030, 0, 31, 18)],
    ['2030-01-31T18:00:30.250Z', Date.UTC(2030, 0, 31, 18, 0, 30, 250)],
    ['2030-01-31T18:00:30.250999+00:00', Date.UTC(2030, 0, 31, 18, 0, 30, 250)],
    ['2030-01-31T18:00:00+02:00', Date.UTC(2030, 0, 31, 16)],
    ['2030-01-31T18:00:00-0530', Date.UTC(2030, 0, 31, 23, 30)],
    ['2032-02-29', Date.UTC(2032, 1, 29)],
  ] as const) {
    it(`reads ${text}`, () => expect(checkExpiry(text, NOW)).to.deep.equal({ value: time }));
  }

  it('says that a time needs an offset', () => {
    expect(checkExpiry('2030-01-31T18:00:00', NOW))
      .to.have.property('problem')
      .that.includes('Z or an offset');
  });

  it('takes none for never', () => {
    expect(checkExpiry(undefined, NOW)).to.deep.equal({ value: null });
    expect(checkExpiry(null, NOW)).to.deep.equal({ value: null });
  });

  for (const value of [
    'tomorrow',
    '31.01.2030',
    '2030-02-30',
    '2030-13-01',
    '2030-01-31T25:00Z',
    '2030-01-31T18:00',
    '2030',
    '',
    ' 2030-01-31',
    1900000000000,
    {},
  ]) {
    it(`refuses ${JSON.stringify(value)} and says what it takes`, () => {
      expect(checkExpiry(value, NOW)).to.have.property('problem').that.includes('ISO 8601');
    });
  }

  it('refuses what has passed', () => {
    expect(checkExpiry('2030-01-01', NOW)).to.have.property('problem').that.includes('passed');
  });
});
