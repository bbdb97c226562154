import { expect } from 'chai';

import { compileFields } from '../../../schemas/fields.js';
import { createAdminVocabulary } from '../../../schemas/vocabulary/admin.js';
import { parseTime } from '../../../schemas/vocabulary/future.js';

const now = Date.UTC(2030, 0, 1);
const ajv = createAdminVocabulary({ knownScopes: () => [], now: () => now });
const fields = compileFields(ajv, { properties: { at: { type: 'string', future: true } } });

/** What is wrong with a value, or undefined. */
function problem(at: unknown): string | undefined {
  return fields.check({ at }).problems[0]?.problem;
}

describe('keyword future', () => {
  for (const [text, time] of [
    ['2030-01-31', Date.UTC(2030, 0, 31)],
    ['2030-01-31T18:00Z', Date.UTC(2030, 0, 31, 18)],
    ['2030-01-31T18:00:30.250Z', Date.UTC(2030, 0, 31, 18, 0, 30, 250)],
    ['2030-01-31T18:00:30.250999+00:00', Date.UTC(2030, 0, 31, 18, 0, 30, 250)],
    ['2030-01-31T18:00:00+02:00', Date.UTC(2030, 0, 31, 16)],
    ['2030-01-31T18:00:00-0530', Date.UTC(2030, 0, 31, 23, 30)],
    ['2032-02-29', Date.UTC(2032, 1, 29)],
  ] as const) {
    it(`reads ${text}`, () => {
      expect(parseTime(text)).to.equal(time);
      expect(problem(text)).to.equal(undefined);
    });
  }

  it('says that a time needs an offset', () => {
    expect(problem('2030-01-31T18:00:00')).to.include('Z or an offset');
  });

  it('takes none for never', () => {
    expect(problem(undefined)).to.equal(undefined);
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
      expect(problem(value)).to.include('ISO 8601');
    });
  }

  it('refuses what has passed', () => {
    expect(problem('2030-01-01')).to.include('passed');
  });
});
