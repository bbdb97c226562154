import { expect } from 'chai';
import fc from 'fast-check';
import { didYouMean, nearest } from '../../schemas/nearest.js';
import { ownCpuMs } from '../bench/measure.js';

describe('nearest', () => {
  const names = ['width', 'color', 'format', 'url', 'a', 'b'];

  it('finds slips, other cases and beginnings', () => {
    const slips = { widht: 'width', colour: 'color', Format: 'format', form: 'format', urls: 'url' };
    for (const [slip, name] of Object.entries(slips)) expect(nearest(slip, names)).to.equal(name);
  });

  it('finds nothing for what is far, empty or very long', () => {
    for (const name of ['opacity', 'x', '', 'w'.repeat(100_000)])
      expect(nearest(name, names)).to.equal(undefined);
  });

  it('does not mistake another short name for a slip that begins with another letter', () => {
    expect(nearest('gif', ['png', 'jpg', 'jpeg', 'webp', 'avif', 'same'])).to.equal(undefined);
    expect(nearest('avfi', ['png', 'avif'])).to.equal('avif');
  });

  it('finds a helper by the beginning of its name, by its last segment and through a slip', () => {
    const [diff, stopwords, border] = ['text/diff-two-strings', 'text/remove-stopwords', 'media/add-border'];
    const scopes = ['media/*', border, 'media/add-watermark', 'text/*', diff, stopwords];
    const meant = {
      'text/difff': diff,
      'text/diff': diff,
      'text/diff_two_strings': diff,
      'diff-two-strings': diff,
      'txt/remove-stopwords': stopwords,
      'text/stopwords': stopwords,
      'media/border': border,
      'image/add-bordr': border,
      'text/**': 'text/*',
      'medai/*': 'media/*',
    };
    for (const [name, scope] of Object.entries(meant)) expect(nearest(name, scopes), name).to.equal(scope);
    for (const name of ['audio/transcribe', 'zzz', '/', 'a/b/c']) {
      expect(nearest(name, scopes), name).to.equal(undefined);
    }
  });

  it('finds a language of three letters by its two, before what only looks alike', () => {
    const lists = ['ben', 'deu', 'eng', 'est', 'fin', 'porBr', 'por', 'spa', 'zho'];
    const two = { en: 'eng', EN: 'eng', 'en-GB': 'eng', es: 'spa', de: 'deu', zh: 'zho', pt_BR: 'por' };
    const others = { english: 'eng', German: 'deu', ger: 'deu', chi: 'zho' };
    for (const [name, meant] of Object.entries({ ...two, ...others })) {
      expect(nearest(name, lists), name).to.equal(meant);
    }
    expect(nearest('xx', lists)).to.equal(undefined);
  });

  it('suggests several where each may be meant, the nearest first, and one where it is nearest by far', () => {
    const cities = ['Bern', 'Berlin', 'Bergen', 'Oslo', 'Berne'];
    expect(didYouMean('bergn', cities, 3)).to.equal('; did you mean "Bern" or "Bergen"?');
    expect(didYouMean('ber', cities, 3)).to.equal('; did you mean "Bern", "Berne" or "Berlin"?');
    expect(didYouMean('ber', cities)).to.equal('; did you mean "Bern"?');
    expect(didYouMean('OSLO', cities, 3)).to.equal('; did you mean "Oslo"?');
  });

  it('prefers the one that misses less', () => {
    expect(nearest('max', ['maximum_of_all', 'max_size'])).to.equal('max_size');
  });

  const word = fc.string({ unit: fc.constantFrom(...'abcdef-/*_'), maxLength: 12 });
  const words = fc.uniqueArray(word, { maxLength: 8 });

  it('gives one of the candidates or nothing, and a candidate for itself', () => {
    fc.assert(
      fc.property(fc.oneof(word, fc.string()), words, (name, candidates) => {
        const found = nearest(name, candidates);
        if (found !== undefined) expect(candidates).to.include(found);
        for (const each of candidates) {
          if (/[a-f]/.test(each)) expect(nearest(each.toUpperCase(), [each])).to.equal(each);
        }
      }),
    );
  });

  it('forgives one slip in a name of four letters or more', () => {
    const long = fc.string({ unit: fc.constantFrom(...'abcdefghij'), minLength: 4, maxLength: 30 });
    fc.assert(
      fc.property(long, fc.nat(), (name, at) => {
        const place = at % name.length;
        const slip = `${name.slice(0, place)}x${name.slice(place + 1)}`;
        expect(nearest(slip, [name, 'qqqqqqqqqqqqqqqqqqqqqq'])).to.equal(name);
      }),
    );
  });

  it('is quick whatever it is given', () => {
    const candidates = Array.from({ length: 200 }, (_, at) => `${at}${'ab'.repeat(60)}`);
    const begun = ownCpuMs();
    for (const length of [128, 129, 1_000_000]) nearest('a'.repeat(length), candidates);
    expect(ownCpuMs() - begun).to.be.below(1000);
  });

  it('is worded as a question', () => {
    expect(didYouMean('widht', names)).to.equal('; did you mean "width"?');
    expect(didYouMean('opacity', names)).to.equal('');
  });
});
