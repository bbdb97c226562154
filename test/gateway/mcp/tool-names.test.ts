import { expect } from 'chai';
import { toolNames } from '../../../gateway/mcp/tool-names.js';

describe('names of tools', () => {
  it('are ids with _ for /, and keep hyphens and dots', () => {
    const ids = ['media/add-border', 'hello', 'a/b/c.d'];
    expect([...toolNames(ids).values()].sort()).to.deep.equal(['a_b_c.d', 'hello', 'media_add-border']);
  });

  it('differ where two ids come to the same one, whatever order they are found in', () => {
    const names = toolNames(['a_b', 'a/b']);
    expect(names.get('a/b')).to.equal('a_b');
    expect(names.get('a_b')).to.match(/^a_b\.[0-9a-f]{8}$/);
    expect([...toolNames(['a/b', 'a_b'])].sort()).to.deep.equal([...names].sort());
  });

  it('never take the plain name of another helper', () => {
    const [, made = ''] = [...toolNames(['a/b', 'a_b']).values()];
    const names = toolNames(['a/b', 'a_b', made]);
    expect(names.get(made)).to.equal(made);
    expect(new Set(names.values()).size).to.equal(3);
  });

  it('have at most 128 characters', () => {
    const long = `${'a'.repeat(60)}/${'b'.repeat(60)}/c`;
    const names = toolNames([`${long}/one-more`, `${long}/two-more`]);
    const lengths = [...names.values()].map(({ length }) => length);
    expect(Math.max(...lengths)).to.be.at.most(128);
    expect(new Set(names.values()).size).to.equal(2);
  });
});
