import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { variables } from '../../../schemas/config/config.js';
import type { Variable } from '../../../schemas/config/forms.js';

const readme = readFileSync(new URL('../../../../schemas/config/README.md', import.meta.url), 'utf8');

/** A variable's row, made from all that is said about it. */
function rowOf({ name, default: preset, description, form }: Variable): string {
  const value = typeof preset === 'object' ? preset.shown : preset ? `\`${preset}\`` : '–';
  return `| \`${name}\` | ${value} | ${description} | ${form.wanted} |`;
}

const sections = [...new Set(variables.map(({ section }) => section))].map((title) => ({
  title,
  rows: variables.filter(({ section }) => section === title).map(rowOf),
}));

/** The rows of variables that stand below a heading. */
function rowsBelow(title: string): string[] {
  const [, below = ''] = readme.split(`\n## ${title}\n`);
  const [section = ''] = below.split('\n## ');
  return section.split('\n').filter((line) => line.startsWith('| `'));
}

describe('the README of the variables', () => {
  for (const { title, rows } of sections) {
    it(`has the right rows under "${title}"`, () => {
      expect(rows).not.to.deep.equal([]);
      expect(rowsBelow(title), `the right rows are:\n\n${rows.join('\n')}\n\n`).to.deep.equal(rows);
    });
  }

  it('has no other row', () => {
    const rows = readme.split('\n').filter((line) => line.startsWith('| `'));
    expect(rows).to.deep.equal(sections.flatMap((section) => section.rows));
  });
});
