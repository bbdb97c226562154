import { expect } from 'chai';
import { pictureOutput, pictureOutputRules } from '../../../gateway/helper.js';
import { compileParameters } from '../../../schemas/parameters/parameters.js';
import { createVocabulary } from '../../../schemas/vocabulary.js';
import { checkerOf, inWords, refusalOf } from '../checker.js';

const input = {
  properties: {
    ...pictureOutput,
    wrap: { type: 'boolean', default: false },
    lines: { type: 'integer', minimum: 1, maximum: 9, default: 3 },
    shape: { type: 'string' },
    radius: { type: 'integer' },
  },
  onlyWith: { ...pictureOutputRules, lines: { wrap: [true] }, radius: { shape: ['round'], wrap: [true] } },
};

describe('onlyWith', () => {
  const { check, problems } = checkerOf(input);
  const png = 'quality is for the formats jpg, webp, avif and same; with png it means nothing';
  const radius =
    'radius is for the shape round; without shape it means nothing; is for wrap true; with wrap false it means nothing';

  const lines = 'lines is for wrap true; with wrap false it means nothing';
  const tooLarge = 'quality must be an integer from 1 to 100, but is the number 700';

  for (const [what, sent, expected] of [
    ['accepts it beside a value that it is for, in any spelling', { quality: 70, format: 'JPEG' }, []],
    ['accepts it beside another', { quality: 70, format: 'same' }, []],
    ['accepts it beside a boolean', { lines: 2, wrap: true }, []],
    ['requires nothing where it is undefined', { quality: undefined }, []],
    ['refuses it beside another value', { quality: 70, format: 'PNG' }, [png]],
    ['refuses it beside the default', { quality: 70 }, [png]],
    ['refuses its default where it is sent', { lines: 3 }, [lines]],
    ['names each condition, and a missing value', { radius: 1 }, [radius]],
    ['adds nothing to its other problems', { quality: 700 }, [tooLarge]],
  ] as const) {
    it(`${what}, in a dry run too`, () => {
      for (const dryrun of [false, true]) expect(problems(sent, { dryrun })).to.deep.equal(expected);
    });
  }

  it('requires nothing where the parameter is left to its default, nor beside a wrong value', () => {
    expect(check({}).input).to.deep.include({ lines: 3, wrap: false });
    expect(problems({ quality: 70, format: 'gif' }).join()).to.match(/^format [^,]*,[^;]*$/);
  });

  it('validates examples too', () => {
    expect(() => checkerOf(input, { examples: [{ input: { quality: 5 } }] })).to.throw(
      'example 1 is refused by its own schema: quality is for the formats',
    );
  });
});

describe('an author’s faults with the keywords', () => {
  const rules = (onlyWith: unknown) => ({ onlyWith });
  const property = (name: string, schema: object) => ({
    onlyWith: {},
    properties: { ...input.properties, [name]: schema },
  });
  const width = (measure: unknown, type: unknown = ['integer', 'string']) =>
    property('width', { type, measure });
  const jpg = { quality: { format: ['jpg'] } };

  const onlyWithForm = 'must be an object, but is a list of 1; write {"quality":{"format":["jpg","webp"]}}';
  const measureForm = 'must be an object, but is the boolean true; write {"minimum":0,"maximum":100}';
  const atWidth = '(#/properties/width/measure)';
  const isNone = 'is no parameter; did you mean';
  const colorForm = 'must be true or an object with auto, but is the string "auto" (#/properties/c/color)';
  const atSize = 'stands at the top of the input alone (#/properties/size/onlyWith)';

  for (const [more, fault] of [
    [rules({ qualiti: { format: ['jpg'] } }), `onlyWith.qualiti ${isNone} "quality"? (#/onlyWith/qual`],
    [rules({ quality: { formt: ['jpg'] } }), `input.onlyWith.quality.formt ${isNone} "format"?`],
    [rules({ quality: { format: ['jpeg'] } }), 'has "jpeg", which becomes "jpg"; write that'],
    [rules({ quality: { format: ['bmp'] } }), 'has "bmp", which format never is: it must be one of png,'],
    [rules({ quality: { quality: [1] } }), 'is about itself'],
    [rules(['quality']), `input.onlyWith ${onlyWithForm} (#/onlyWith)`],
    [rules({ quality: { format: 'jpg' } }), 'quality.format must be a list of at least 1 item'],
    [property('size', { type: 'object', onlyWith: jpg }), `input.properties.size.onlyWith ${atSize}`],
    [width(true), `input.properties.width.measure ${measureForm} ${atWidth}`],
    [width({ minimum: 1 }), 'is no setting of it: maximum is required: an integer'],
    [width({ minimum: 1, maximum: 2, percent: false }), 'percent must be true'],
    [width({ minimum: 1, maximum: 2, max: 3 }), 'max is not known here'],
    [width({ minimum: 3, maximum: 2 }), 'minimum is 3, above maximum, which is 2'],
    [width({ minimum: 1, maximum: 2 }, 'integer'), 'write "type": ["integer", "string"]'],
    [property('c', { type: 'string', color: 'auto' }), `input.properties.c.color ${colorForm}`],
    [property('c', { type: 'string', color: { auto: 1 } }), 'auto must be true'],
    [property('f', { type: 'string', encodable: 'png' }), 'must be true'],
  ] as [object, string][]) {
    it(`are named, each with its place: ${fault}`, () =>
      expect(refusalOf({ ...input, ...more })).to.contain(fault));
  }

  it('name unknown parameters beside all else', () => {
    const wrong = { ...property('width', { type: 'integr' }), ...rules({ qualiti: { format: ['jpg'] } }) };
    const faults = refusalOf({ ...input, ...wrong });
    expect(faults).to.include('qualiti is no parameter').and.include('width.type must be one of');
  });
});

describe('encodable, in what an author wrote', () => {
  it('lets defaults and examples pass, and refuses them of a caller', () => {
    const canEncode = (format: string) => (format === 'avif' ? 'cannot be avif here' : undefined);
    const properties = { ...pictureOutput, format: { ...pictureOutput.format, default: 'avif' } };
    const { check } = compileParameters(createVocabulary({ canEncode }), {
      input: { type: 'object', properties },
      examples: [{ input: { format: 'avif' } }],
    });
    for (const dryrun of [true, false]) {
      const problems = (sent: Record<string, unknown>) => inWords(check(sent, { dryrun }).problems);
      for (const sent of [{}, { format: 'avif' }])
        expect(problems(sent)).to.deep.equal(['format cannot be avif here']);
      expect(problems({ format: 'png' })).to.deep.equal([]);
    }
  });
});
