import { expect } from 'chai';
import { converter, parse } from 'culori';
import fc from 'fast-check';
import { modifiers } from '../../../../schemas/vocabulary/color/modifiers.js';
import { parsePhrase } from '../../../../schemas/vocabulary/color/phrase.js';

const toOklch = converter('oklch');

function oklch(text: string) {
  const color = toOklch(parse(parsePhrase(text) ?? ''));
  if (color === undefined) throw new Error(`no colour: ${text}`);
  return { l: color.l, c: color.c, h: color.h ?? 0 };
}

const bases = ['red', 'orange', 'green', 'blue', 'purple', 'teal', 'brown', 'pink', 'olive'];

describe('a colour phrase', () => {
  for (const [phrase, hex] of [
    ['dark sea green', '#8fbc8f'],
    ['dusty rose', '#b56f76'],
    ['burnt orange', '#cc5500'],
    ['burgundy', '#900020'],
    ['rose gold', '#b76e79'],
    ['pale warm yellow', '#fbe5ab'],
    ['deep ocean blue', '#005f78'],
    ['very dark blue', '#000536'],
    ['bluish green', '#007565'],
    ['light brown', '#cf9c6f'],
    ['warm blue', '#3300ff'],
  ] as const) {
    it(`${phrase} is ${hex}, today and tomorrow`, () => {
      expect(parsePhrase(phrase)).to.equal(hex);
    });
  }

  it('means the same with other separators, fillers and spellings', () => {
    for (const same of [
      'pale, warm yellow',
      'a pale warm shade of yellow',
      'pale-warm-yellow',
      'the colour pale warm yellow',
    ]) {
      expect(parsePhrase(same), same).to.equal(parsePhrase('pale warm yellow'));
    }
    expect(parsePhrase('blueish gray')).to.equal(parsePhrase('bluish grey'));
    expect(parsePhrase('charcoal gray')).to.equal(parsePhrase('charcoal grey'));
  });

  it('gets lighter by light and pale, darker by dark and deep, more so by very', () => {
    for (const base of bases) {
      const plain = oklch(base).l;
      // The light and dark of CSS itself have their own, historical values.
      expect(oklch(`very pale ${base}`).l, base).to.be.above(plain);
      expect(oklch(`very dark ${base}`).l, base).to.be.below(plain);
      expect(oklch(`very deep ${base}`).l, base).to.be.below(oklch(`slightly deep ${base}`).l);
    }
  });

  it('gets greyer by greyish, dull and dusty', () => {
    for (const base of bases) {
      for (const modifier of ['greyish', 'dull', 'dusty', 'muted']) {
        expect(oklch(`${modifier} ${base}`).c, `${modifier} ${base}`).to.be.below(oklch(base).c);
      }
    }
  });

  it('turns yellow to orange by warm and to green by cool, and tints a grey', () => {
    expect(oklch('warm yellow').h).to.be.below(oklch('yellow').h);
    expect(oklch('cool yellow').h).to.be.above(oklch('yellow').h);
    expect(oklch('warm grey').h).to.be.within(30, 80);
    expect(oklch('cool grey').h).to.be.within(220, 280);
  });

  it('takes a hue in by -ish', () => {
    const green = oklch('green').h;
    expect(oklch('bluish green').h).to.be.above(green);
    expect(oklch('yellowish green').h).to.be.below(green);
  });

  it('is always a colour: any modifiers with any base', () => {
    const modifier = fc.constantFrom(...modifiers.keys());
    fc.assert(
      fc.property(
        fc.array(modifier, { minLength: 1, maxLength: 4 }),
        fc.constantFrom(...bases, 'white', 'black', 'snow'),
        (words, base) => {
          expect(parsePhrase([...words, base].join(' '))).to.match(/^#[0-9a-f]{6}$/);
        },
      ),
    );
  });

  it('is none where the colour is missing or a word is unknown', () => {
    for (const text of [
      'very',
      'pale cool',
      'very blue-ish',
      'blorp green',
      'green blorp',
      'red very',
      'very very dark',
    ]) {
      expect(parsePhrase(text), text).to.equal(undefined);
    }
  });
});
