import { expect } from 'chai';
import fc from 'fast-check';
import { toCsv, usageColumns } from '../../../gateway/usage/csv.js';

describe('usage/csv', () => {
  it('writes rows under their columns, with quotes where they are needed', () => {
    const rows = [
      { key: 'k', label: 'a "b", c', calls: 3 },
      { key: 'line\nbreak', label: null },
    ];
    expect(toCsv(['key', 'label', 'calls'], rows)).to.equal(
      'key,label,calls\r\nk,"a ""b"", c",3\r\n"line\nbreak",,\r\n',
    );
  });

  it('has no text that a spreadsheet would run', () => {
    const starts = fc.constantFrom('=', '+', '-', '@', '\t', '\r');
    fc.assert(
      fc.property(starts, fc.string(), (start, rest) => {
        const [, line = ''] = /^a\r\n"?([\s\S]*)$/.exec(toCsv(['a'], [{ a: start + rest }])) ?? [];
        expect(line[0]).to.equal("'");
      }),
    );
    expect(toCsv(['a'], [{ a: -1 }])).to.equal('a\r\n-1\r\n');
  });

  it('names a key with its label', () => {
    expect(usageColumns('day,key').slice(0, 4)).to.deep.equal(['day', 'key', 'label', 'calls']);
  });
});
