import { expect } from 'chai';
import fc from 'fast-check';
import { parseMeasure } from '../../../schemas/vocabulary/measure.js';
import { judgeValue } from './judge-value.js';

const all = { minimum: 4, maximum: 1000, percent: true, auto: true } as const;
const judge = (value: unknown, measure: object = all) =>
  judgeValue({ type: ['integer', 'string'], measure }, value);

describe('keyword measure', () => {
  for (const [value, measure] of [
    [4, 4],
    [1000, 1000],
    ['20', 20],
    ['0020', 20],
    ['5%', '5%'],
    ['5.50%', '5.5%'],
    ['007.0%', '7%'],
    ['0%', '0%'],
    ['100%', '100%'],
    ['0.000001%', '0.000001%'],
    ['auto', 'auto'],
    ['Auto', 'auto'],
  ] as const) {
    it(`reads ${JSON.stringify(value)} as ${JSON.stringify(measure)}`, () => {
      expect(judge(value)).to.equal(measure);
    });
  }

  for (const value of [
    3,
    1001,
    2.5,
    '3',
    '2.5',
    '-5',
    '+5',
    '1e2',
    '',
    ' 5',
    '5 %',
    '%',
    '-1%',
    '100.1%',
    '1e1%',
    '0.0000001%',
    '٢٠',
    'automatic',
    'auto ',
  ]) {
    it(`refuses ${JSON.stringify(value)}`, () => {
      expect(judge(value))
        .to.be.a('string')
        .that.matches(/must be/);
    });
  }

  it('takes per cent and auto only where it is asked to', () => {
    const plain = { minimum: 0, maximum: 9 };
    expect(judge('auto', plain)).to.equal(
      'must be a whole number of pixels from 0 to 9, but is the string "auto"',
    );
    expect(judge('5%', { ...plain, auto: true })).to.equal(
      'must be a whole number of pixels from 0 to 9, or auto, but is the string "5%"',
    );
    expect(judge('auto', { ...plain, percent: true })).to.equal(
      'must be a whole number of pixels from 0 to 9, or per cent such as "5%", but is the string "auto"',
    );
  });

  it('tells what was meant by a unit', () => {
    expect(judge('20px')).to.equal(
      'must be a whole number of pixels from 4 to 1000, per cent such as "5%", or auto, but is the string "20px"; write 20',
    );
    expect(judge('2000px')).to.match(/"2000px"$/);
    expect(judge('5.50 %')).to.match(/; write 5\.5%$/);
    expect(judge('101 %')).to.match(/"101 %"$/);
  });

  it('is pixels in its bounds, per cent to 100, auto, or nothing, for anything', () => {
    fc.assert(
      fc.property(fc.oneof(fc.double(), fc.integer(), fc.string(), fc.anything()), (value) => {
        const measure = parseMeasure(value, all);
        if (typeof measure === 'number') expect(measure).to.be.within(4, 1000).and.satisfy(Number.isInteger);
        else if (measure?.endsWith('%')) expect(Number(measure.slice(0, -1))).to.be.within(0, 100);
        else expect(measure).to.be.oneOf(['auto', undefined]);
      }),
    );
  });

  it('leaves its own normal forms as they are', () => {
    const places = fc.integer({ min: 0, max: 6 });
    const percent = fc
      .tuple(fc.integer({ min: 0, max: 99 }), fc.nat(999_999), places)
      .map(([whole, part, most]) => `${whole}.${String(part).padStart(6, '0').slice(0, most)}0%`);
    fc.assert(
      fc.property(fc.oneof(fc.integer({ min: 4, max: 1000 }).map(String), percent), (text) => {
        const measure = parseMeasure(text.replace(/(\.\d{6})\d+%/, '$1%'), all);
        expect(measure).not.to.equal(undefined);
        expect(parseMeasure(measure, all)).to.equal(measure);
        expect(parseFloat(String(measure))).to.be.closeTo(parseFloat(text), 1e-9);
      }),
    );
  });
});
