import { expect } from 'chai';
import fc from 'fast-check';
import { browserModule } from './browser-module.js';

interface Values {
  scalarOf(text: string, types: string[]): unknown;
  itemsOf(text: string, types: string[]): unknown;
  textOfItems(items: unknown[]): string;
}
interface Views {
  isDiff(value: unknown): boolean;
  removedParts(before: string[], after: string[]): { text: string; gone: boolean }[] | undefined;
}
interface Requests {
  describe(request: object, form: object): { answer: { extension?: string } };
}
interface Address {
  fragmentOf(texts: Map<string, string>): string;
  textsIn(fragment: string): Map<string, string>;
}

describe('the file that the playground’s request writes', () => {
  it('has the ending of the format, and of the picture that is sent where that is to stay', async () => {
    const { describe: written } = await browserModule<Requests>('request.js');
    const ending = (input: object, files: [string, { name: string }][] = []) => {
      const request = { url: '/', input, files: new Map(files) };
      return written(request, { dataset: { answer: 'picture' } }).answer.extension;
    };
    expect(ending({})).to.equal('png');
    expect(ending({ format: 'avif' })).to.equal('avif');
    expect(ending({ format: 'same' }, [['file', { name: 'a.b.gif' }]])).to.equal('gif');
    expect(ending({ format: 'same', url: 'https://x.example/y.JPEG?z=1.gif' })).to.equal('jpeg');
    expect(ending({ format: 'same', url: 'https://x.example/y' })).to.equal('png');
  });
});

describe('what is typed into the playground', () => {
  let values: Values;
  before(async () => {
    values = await browserModule('values.js');
  });

  it('is a number, a boolean or null where the schema says so, and else the text as it is', () => {
    expect(values.scalarOf(' 12 ', ['integer'])).to.equal(12);
    expect(values.scalarOf('1e3', ['number'])).to.equal(1000);
    expect(values.scalarOf('12', ['string'])).to.equal('12');
    expect(values.scalarOf('50%', ['number', 'string'])).to.equal('50%');
    expect(values.scalarOf('0x10', ['integer'])).to.equal('0x10');
    expect(values.scalarOf('1e999', ['number'])).to.equal('1e999');
    expect(values.scalarOf('true', ['boolean', 'string'])).to.equal(true);
    expect(values.scalarOf('null', ['null', 'string'])).to.equal(null);
  });

  it('is a list with commas, or as JSON', () => {
    expect(values.itemsOf(' a, b,c ', ['string'])).to.deep.equal(['a', 'b', 'c']);
    expect(values.itemsOf('1, 2', ['integer'])).to.deep.equal([1, 2]);
    expect(values.itemsOf('', ['string'])).to.deep.equal([]);
    expect(values.itemsOf('["a, b"]', ['string'])).to.deep.equal(['a, b']);
  });

  it('gives any list of strings back that was filled in', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (items) => {
        expect(values.itemsOf(values.textOfItems(items), ['string'])).to.deep.equal(items);
      }),
    );
  });
});

describe('the fragment of the playground’s address', () => {
  it('gives back every text, with %20 for a space', async () => {
    const { fragmentOf, textsIn } = await browserModule<Address>('address.js');
    expect(fragmentOf(new Map([['a', 'x y+z']]))).to.equal('a=x%20y%2Bz');
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string(), fc.string())), (entries) => {
        const texts = new Map(entries);
        expect([...textsIn(`#${fragmentOf(texts)}`)]).to.deep.equal([...texts]);
      }),
    );
  });
});

describe('the playground’s views', () => {
  let views: Views;
  before(async () => {
    views = await browserModule('views.js');
  });

  it('know a unified diff by its hunks', () => {
    expect(views.isDiff('@@ -1,2 +1 @@\n-a\n b')).to.equal(true);
    expect(views.isDiff('a - b @@ c')).to.equal(false);
    expect(views.isDiff(['@@ -1 +1 @@'])).to.equal(false);
  });

  it('mark what went, and say so where something came in', () => {
    const split = (text: string) => text.split(/(?<= )|(?= )/);
    expect(views.removedParts(split('over the lazy dog'), split('over  lazy dog'))).to.deep.equal([
      { text: 'over ', gone: false },
      { text: 'the', gone: true },
      { text: ' lazy dog', gone: false },
    ]);
    expect(views.removedParts(['a'], ['b'])).to.equal(undefined);
  });

  it('leave of any text exactly what stayed', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom('a', 'b', ' '), fc.boolean())), (pieces) => {
        const before = pieces.map(([piece]) => piece);
        const after = pieces.filter(([, stays]) => stays).map(([piece]) => piece);
        const parts = views.removedParts(before, after) ?? [];
        expect(parts.map(({ text }) => text).join('')).to.equal(before.join(''));
        const kept = parts.filter(({ gone }) => !gone).map(({ text }) => text);
        expect(kept.join('')).to.equal(after.join(''));
      }),
    );
  });
});
