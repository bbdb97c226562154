import { expect } from 'chai';
import { snippets } from '../../../gateway/signing/snippets.js';
import { readText, sectionOf } from '../../readme.js';
import { vectors } from './vectors.js';

const page = readText('gateway/signing/README.md');

/** The blocks of code in a section, in their order. */
function blocksOf(heading: string): string[] {
  return [
    ...(page
      .slice(page.indexOf(`## ${heading}`))
      .split('\n## ')[0]
      ?.matchAll(/^```\w+\n(.*?)^```$/gms) ?? []),
  ].map(([, code = '']) => code);
}

describe('gateway/signing/README', () => {
  it('shows the snippets as they ship', () => {
    expect(blocksOf('Signing in your own program')).to.deep.equal(snippets().map(({ code }) => code));
  });

  it('shows the test vectors as they ship', () => {
    const shown = vectors.map(({ about, address, canonical_query, signature }) =>
      [about, address, canonical_query, signature].join('\n  '),
    );
    expect(blocksOf('Test vectors')).to.deep.equal([`${shown.join('\n\n')}\n`]);
    const secrets = new Set(vectors.map(({ secret }) => secret));
    for (const secret of secrets) expect(sectionOf(page, 'Test vectors')).to.include(secret);
    expect(vectors.slice(0, -1).every(({ secret }) => secret === vectors[0]?.secret)).to.equal(true);
  });
});
