import { expect } from 'chai';

import { formatTable } from '../../../gateway/commands/table.js';

describe('commands/table', () => {
  it('aligns columns by characters, not bytes', () => {
    const rows = [
      ['Zoë 🔑', '1'],
      ['b', '22'],
    ];
    expect(formatTable(['NAME', 'N'], rows)).to.equal('NAME   N\nZoë 🔑  1\nb      22');
  });

  it('shows what would move a terminal’s cursor or turn its text around as a code', () => {
    expect(formatTable(['A'], [['\u001b[2J\u202e']])).to.equal('A\n\\u{1b}[2J\\u{202e}');
  });
});
