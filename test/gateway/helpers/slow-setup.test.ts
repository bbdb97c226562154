import { expect } from 'chai';
import { createSlowSetupNotice } from '../../../gateway/helpers/slow-setup.js';

describe('a setup that a start waits for', () => {
  it('is told once, with its file, however many threads wait', () => {
    const told: unknown[] = [];
    const tell = createSlowSetupNotice({ warn: (line: unknown) => void told.push(line) });
    tell('a', 'file:///a.mjs');
    tell('a', 'file:///a.mjs');
    tell('b', 'file:///b%20c.mjs');
    expect(told).to.deep.equal([
      { service: 'a', file: '/a.mjs' },
      { service: 'b', file: '/b c.mjs' },
    ]);
  });
});
