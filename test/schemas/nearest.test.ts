import { expect } from 'chai';
import fc from 'fast-check';
import { didYouMean, nearest } from '../../schemas/nearest.js';
import { ownCpuMs } from '../bench/measure.js';
import { words } from '../examples.js';

describe('nearest', () => {
  const names = ['width', 'color', 'format', 'url', 'a', 'b'];

  const [diff, stopwords, border] = ['text/diff-two-strings', 'text/remove-stopwords', 'media/add-border'];
  const scopes = ['media/*', border, 'media/add-watermark', 'text/*', diff, stopwords];
  const languages = words`ben deu eng est fin porBr por spa zho`;
  const formats = words`png jpg jpeg webp avif same`;

  for (const [what, candidates, meant, nothing] of [
    [
      'slips, other cases and beginnings, and nothing for what is far, empty or very long',
      names,
      { widht: 'width', colour: 'color', Format: 'format', form: 'format', urls: 'url' },
      ['opacity', 'x', '', 'w'.repeat(100_000)],
    ],
    ['no other short name that begins with another letter', formats, { avfi: 'avif' }, ['gif']],
    [
      'a helper by the beginning of its name, by its last segment and through a slip',
      scopes,
      {
        ...{ 'text/difff': diff, 'text/diff': diff, 'text/diff_two_strings': diff, 'diff-two-strings': diff },
        ...{ 'txt/remove-stopwords': stopwords, 'text/stopwords': stopwords },
        ...{ 'media/border': border, 'image/add-bordr': border, 'text/**': 'text/*', 'medai/*': 'media/*' },
      },
      ['audio/transcribe', 'zzz', '/', 'a/b/c'],
    ],
    [
      'a language of three letters by its two, before what only looks alike',
      languages,
      {
        ...{ en: 'eng', EN: 'eng', 'en-GB': 'eng', es: 'spa', de: 'deu', zh: 'zho', pt_BR: 'por' },
        ...{ english: 'eng', German: 'deu', ger: 'deu', chi: 'zho' },
      },
      ['xx'],
    ],
    ['the one that misses less', ['maximum_of_all', 'max_size'], { max: 'max_size' }, []],
  ] as [string, string[], Record<string, string>, string[]][]) {
    it(`finds ${what}`, () => {
      for (const [name, candidate] of Object.entries(meant))
        expect(nearest(name, candidates), name).to.equal(candidate);
      for (const name of nothing) expect(nearest(name, candidates), name).to.equal(undefined);
    });
  }

  it('suggests several where each may be meant, the nearest first, and one where it is nearest by far', () => {
    const cities = ['Bern', 'Berlin', 'Bergen', 'Oslo', 'Berne'];
    expect(didYouMean('bergn', cities, 3)).to.equal('; did you mean "Bern" or "Bergen"?');
    expect(didYouMean('ber', cities, 3)).to.equal('; did you mean "Bern", "Berne" or "Berlin"?');
    expect(didYouMean('ber', cities)).to.equal('; did you mean "Bern"?');
    expect(didYouMean('OSLO', cities, 3)).to.equal('; did you mean "Oslo"?');
    expect(didYouMean('opacity', cities)).to.equal('');
  });

  const word = fc.string({ unit: fc.constantFrom(...'abcdef-/*_'), maxLength: 12 });
  const some = fc.uniqueArray(word, { maxLength: 8 });

  it('gives one of the candidates or nothing, and a candidate for itself', () => {
    fc.assert(
      fc.property(fc.oneof(word, fc.string()), some, (name, candidates) => {
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
});
