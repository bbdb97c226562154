import { expect } from 'chai';
import cssColors from 'color-name';
import { converter, parse } from 'culori';
import fc from 'fast-check';
import { parseColor } from '../../../schemas/keywords/color.js';
import { modifiers } from '../../../schemas/keywords/color-modifiers.js';
import { parsePhrase } from '../../../schemas/keywords/color-phrase.js';
import { anyCharacter, words } from '../../examples.js';

function hexOf(text: string): string {
  const color = parseColor(text);
  return 'value' in color ? String(color.value) : color.problem + (color.hint?.() ?? '');
}

function hexByHand(...parts: number[]): string {
  return `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
}

const pairsOf = (text: string) =>
  text
    .trim()
    .split(/ \| |\n\s*/)
    .map((pair) => pair.split('='));

const byte = fc.integer({ min: 0, max: 255 });

describe('parseColor', () => {
  const texts = `
    purple=#800080 | ReBeccaPurple=#663399 | #FFF=#ffffff | #A1b2C3=#a1b2c3 | f80=#ff8800 | 112233=#112233
    rgb(255, 0, 0)=#ff0000 | RGB(255 0 0)=#ff0000 | rgb(300,-5,0)=#ff0000 | rgb(50%, 0%, 100%)=#8000ff
    rgb(50% 0 100%)=#8000ff | rgb(none 128 0)=#008000 | rgba(1, 2, 3)=#010203 | hsl(120, 100%, 25%)=#008000
    hsl(120 100% 25%)=#008000 | hsl(120 100 25)=#008000 | hsl(120deg 100% 25%)=#008000
    hsl(0.5turn 100% 50%)=#00ffff | hsl(200grad, 100%, 50%)=#00ffff | hsl(3.14159rad 100% 50%)=#00ffff
    hsl(-120deg 150% 50%)=#0000ff | hsl(480 100% 50%)=#00ff00 | hsl(0 -50% 50%)=#808080 | hsl(0 100% 150%)=#ffffff
  `;

  it('reads names, hexadecimal digits and functions', () => {
    expect(pairsOf(texts)).to.have.length(24);
    for (const [text = '', hex] of pairsOf(texts)) expect(hexOf(text), text).to.equal(hex);
    expect(hexOf(' #112233 ')).to.equal('#112233');
  });

  it('refuses alpha in any syntax', () => {
    const hex = ['transparent', '#fff8', '#ffffff80', '#ffffffff'];
    const functions = ['rgba(1, 2, 3, 0.5)', 'rgb(1 2 3 / 50%)', 'rgb(1 2 3 / none)', 'hsla(1, 2%, 3%, 1)'];
    for (const text of [...hex, ...functions, 'HSL(1 2% 3% / 1)']) {
      expect(hexOf(text)).to.contain('without alpha').and.to.contain(JSON.stringify(text));
    }
  });

  const refused = {
    unfinished: ['', ' ', '#', '#ff', '#fffff', 'dark', 'very pale', 'very', 'light light', 'a shade of'],
    unknown: [...words`notacolor nonsense constructor __proto__ #ggg`, 'not a color', 'banana phone'],
    otherCharacters: ['日本red', '日本', 'ßred', 'blue;', 'blue"'],
    otherCss: ['lab(50% 1 2)', 'url(x)', 'currentcolor', 'inherit'],
    wrongRgb: ['rgb(1,2)', 'rgb(1, 2 3)', 'rgb(50%, 0, 1)', 'rgb(1 2 3', 'rgb(1e999 0 0)'],
    wrongHsl: ['hsl(1e999 1% 1%)', 'hsl(0, 100, 50)', 'hsl(50% 1% 1%)'],
  };
  for (const [what, texts] of Object.entries(refused)) {
    it(`refuses texts and names them: ${what}`, () => {
      for (const text of texts) {
        const named = `but is the string "${text.replace('"', '\\"')}"`;
        expect(hexOf(text)).to.contain(named).and.to.contain('must be a solid colour');
      }
    });
  }

  it('says which name or phrase a slip is near to, and nothing where none is', () => {
    const slips = {
      'dark sea gren': 'dark sea green',
      darkseagren: 'darkseagreen',
      prple: 'purple',
      'plae warm yellow': 'pale warm yellow',
      'Cornflower-Bleu': 'cornflower blue',
    };
    for (const [slip, meant] of Object.entries(slips)) {
      expect(hexOf(slip), slip).to.match(new RegExp(`; did you mean "${meant}"\\?$`));
    }
    for (const text of ['nope', 'qqqq red', 'constructor', 'lab(50% 1 2)', 'a '.repeat(50)]) {
      expect(hexOf(text), text).not.to.contain('did you mean');
    }
  });

  it('escapes what a terminal would obey and cuts what is long', () => {
    expect(hexOf('\u001b[31m\u202e')).to.contain('"\\u{1b}[31m\\u{202e}"');
    expect(hexOf('z'.repeat(90))).to.contain(`"${'z'.repeat(60)}…"`);
    expect(hexOf('z'.repeat(101))).to.contain('at most 100 characters, but has 101');
  });

  it('knows every CSS name in any case, and with its words apart', () => {
    for (const [name, rgb] of Object.entries(cssColors)) {
      expect(hexOf(name), name).to.equal(hexByHand(...rgb));
      expect(hexOf(name.toUpperCase()), name).to.equal(hexByHand(...rgb));
    }
    expect(hexOf('dark sea-green')).to.equal('#8fbc8f');
    expect(hexOf('Light_Golden Rod Yellow')).to.equal('#fafad2');
  });

  it('gives one answer for one colour in every syntax', () => {
    fc.assert(
      fc.property(byte, byte, byte, (r, g, b) => {
        const hex = hexByHand(r, g, b);
        const percent = [r, g, b].map((part) => `${((part / 255) * 100).toFixed(4)}%`);
        const spaced = [`rgb( ${r} , ${g} , ${b} )`, `rgb(${r} ${g} ${b})`, `rgb(${percent.join(' ')})`];
        const commas = [`rgb(${r},${g},${b})`, `rgb(${percent.join(',')})`];
        for (const text of [hex, hex.toUpperCase(), hex.slice(1), ...spaced, ...commas]) {
          expect(hexOf(text)).to.equal(hex);
        }
      }),
    );
  });

  it('answers with a colour or a problem, whatever it is given', () => {
    const word = fc.constantFrom(...words`very pale dark bluish warm red grey of rose rgb( # 1 %`);
    const phrase = fc.array(word, { maxLength: 20 }).map((all) => all.join(' '));
    fc.assert(
      fc.property(fc.oneof(phrase, fc.string({ unit: anyCharacter, maxLength: 120 })), (text) => {
        const color = parseColor(text);
        if ('value' in color) expect(color.value).to.match(/^#[0-9a-f]{6}$/);
        else expect(color.problem).to.match(/^must be /);
      }),
      { numRuns: 500 },
    );
  });
});

const toOklch = converter('oklch');

function oklch(text: string) {
  const color = toOklch(parse(parsePhrase(text) ?? ''));
  if (color === undefined) throw new Error(`no colour: ${text}`);
  return { l: color.l, c: color.c, h: color.h ?? 0 };
}

const bases = ['red', 'orange', 'green', 'blue', 'purple', 'teal', 'brown', 'pink', 'olive'];

describe('a colour phrase', () => {
  const phrases = `
    dark sea green=#8fbc8f | dusty rose=#b56f76 | burnt orange=#cc5500 | burgundy=#900020 | rose gold=#b76e79
    pale warm yellow=#fbe5ab | deep ocean blue=#005f78 | very dark blue=#000536 | bluish green=#007565
    light brown=#cf9c6f | warm blue=#3300ff
  `;

  it('is a colour that people would call so', () => {
    for (const [phrase = '', hex] of pairsOf(phrases)) expect(parsePhrase(phrase), phrase).to.equal(hex);
  });

  it('means the same with other separators, fillers and spellings', () => {
    const same = ['pale, warm yellow', 'a pale warm shade of yellow', 'pale-warm-yellow'];
    for (const each of [...same, 'the colour pale warm yellow']) {
      expect(parsePhrase(each), each).to.equal(parsePhrase('pale warm yellow'));
    }
    expect(parsePhrase('blueish gray')).to.equal(parsePhrase('bluish grey'));
    expect(parsePhrase('charcoal gray')).to.equal(parsePhrase('charcoal grey'));
  });

  it('gets lighter by light and pale, darker by dark and deep, more so by very, greyer by greyish, dull and dusty', () => {
    for (const base of bases) {
      const plain = oklch(base);
      // The light and dark of CSS itself have their own, historical values.
      expect(oklch(`very pale ${base}`).l, base).to.be.above(plain.l);
      expect(oklch(`very dark ${base}`).l, base).to.be.below(plain.l);
      expect(oklch(`very deep ${base}`).l, base).to.be.below(oklch(`slightly deep ${base}`).l);
      for (const modifier of words`greyish dull dusty muted`)
        expect(oklch(`${modifier} ${base}`).c, `${modifier} ${base}`).to.be.below(plain.c);
    }
  });

  it('rotates the hue by warm and cool, which tint a grey, and by -ish', () => {
    const phrases = ['warm yellow', 'yellow', 'cool yellow', 'yellowish green', 'green', 'bluish green'];
    const hues = phrases.map((phrase) => oklch(phrase).h);
    expect(hues).to.deep.equal(hues.toSorted((a, b) => a - b));
    expect(new Set(hues).size).to.equal(hues.length);
    expect(oklch('warm grey').h).to.be.within(30, 80);
    expect(oklch('cool grey').h).to.be.within(220, 280);
  });

  it('is always a colour: any modifiers with any base', () => {
    const some = fc.array(fc.constantFrom(...modifiers.keys()), { minLength: 1, maxLength: 4 });
    const base = fc.constantFrom(...bases, 'white', 'black', 'snow');
    fc.assert(
      fc.property(some, base, (words, base) => {
        expect(parsePhrase([...words, base].join(' '))).to.match(/^#[0-9a-f]{6}$/);
      }),
    );
  });

  it('is none where the colour is missing or a word is unknown', () => {
    const unfinished = ['very', 'pale cool', 'red very', 'very very dark'];
    for (const text of [...unfinished, 'very blue-ish', 'blorp green', 'green blorp']) {
      expect(parsePhrase(text), text).to.equal(undefined);
    }
  });
});
