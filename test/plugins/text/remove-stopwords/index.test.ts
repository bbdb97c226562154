import { expect } from 'chai';
import plugin from '../../../../plugins/text/remove-stopwords/index.js';
import { remove } from './remove.js';

describe('text/remove-stopwords', () => {
  it('removes stopwords and leaves every space', () => {
    expect(remove('The quick brown fox jumps over the lazy dog.')).to.equal(
      ' quick brown fox jumps   lazy dog.',
    );
    expect(remove('\tto\r\n be  or\u00a0not')).to.equal('\t\r\n   \u00a0');
  });

  it('leaves punctuation', () => {
    expect(remove('Yes, the (very) "end" of it!')).to.equal('Yes,  () "end"  !');
  });

  it('takes any case for the same word', () => {
    expect(remove('THE The tHe the')).to.equal('   ');
  });

  it('takes a contraction for one word, with any apostrophe', () => {
    expect(remove("don't don’t donʼt DON'T")).to.equal('   ');
    expect(remove("it's shan't who'd could've")).to.equal('   ');
  });

  it('does not take a possessive for its noun', () => {
    expect(remove("John's", { also: ['john'] })).to.equal("John's");
    expect(remove("John's", { also: ["john's"] })).to.equal('');
  });

  it('takes the parts of a hyphenated word for words', () => {
    expect(remove('state-of-the-art')).to.equal('state---art');
  });

  it('does not take an outer apostrophe into the word', () => {
    expect(remove("'the' ’the’ ʼtheʼ")).to.equal("'' ’’ ʼʼ");
    expect(remove("the''the")).to.equal("''");
  });

  it('does not find stopwords inside words', () => {
    const text = 'theory _the the_ the2 2the isn the\u0301 théa';
    expect(remove(text)).to.equal(text);
  });

  it('takes composed and decomposed letters for the same', () => {
    expect(remove('été e\u0301te\u0301', { language: 'fra' })).to.equal(' ');
  });

  it('answers a text without words as it is', () => {
    expect(remove('')).to.equal('');
    expect(remove(' …\n\0 \ud800 😀')).to.equal(' …\n\0 \ud800 😀');
  });

  it('keeps what keep names, also against also', () => {
    expect(remove("This is NOT the end, don't", { keep: [' not', 'Don’t'] })).to.equal("  NOT  end, don't");
    expect(remove('fox', { keep: ['FOX'], also: ['fox'] })).to.equal('fox');
  });

  it('removes what also names', () => {
    expect(remove('The Quick fox', { also: ['quick '] })).to.equal('  fox');
  });

  it('is not led astray by names of object properties', () => {
    expect(remove('constructor __proto__ toString')).to.equal('constructor __proto__ toString');
  });

  it('leaves the main thread', () => {
    expect(plugin.runs).not.to.equal('inline');
  });
});
