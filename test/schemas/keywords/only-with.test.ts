import { expect } from 'chai';
import { pictureOutput, pictureOutputRules } from '../../../gateway/helper.js';
import { compileParameters } from '../../../schemas/parameters/parameters.js';
import { createVocabulary } from '../../../schemas/vocabulary.js';

const input = {
  type: 'object',
  properties: {
    ...pictureOutput,
    wrap: { type: 'boolean', default: false },
    lines: { type: 'integer', minimum: 1, maximum: 9, default: 3 },
    shape: { type: 'string' },
    radius: { type: 'integer' },
  },
  onlyWith: { ...pictureOutputRules, lines: { wrap: [true] }, radius: { shape: ['round'], wrap: [true] } },
};
const { check } = compileParameters(createVocabulary(), { input });
const problems = (sent: Record<string, unknown>, dryrun = false) => check(sent, { dryrun }).problems;

describe('onlyWith', () => {
  it('accepts a parameter beside the values that it is for, in any spelling', () => {
    expect(problems({ quality: 70, format: 'JPEG' })).to.deep.equal([]);
    expect(problems({ quality: 70, format: 'same' })).to.deep.equal([]);
    expect(problems({ lines: 2, wrap: true })).to.deep.equal([]);
  });

  it('refuses it beside another value, and beside the default, in a dry run too', () => {
    const problem = 'is for the formats jpg, webp, avif and same; with png it means nothing';
    for (const dryrun of [false, true]) {
      expect(problems({ quality: 70, format: 'PNG' }, dryrun)).to.deep.equal([{ field: 'quality', problem }]);
      expect(problems({ quality: 70 }, dryrun)).to.deep.equal([{ field: 'quality', problem }]);
    }
    expect(problems({ lines: 3 })).to.deep.equal([
      { field: 'lines', problem: 'is for wrap true; with wrap false it means nothing' },
    ]);
  });

  it('requires nothing where the parameter is left to its default, or undefined', () => {
    expect(check({}, { dryrun: false }).input).to.deep.include({ lines: 3, wrap: false });
    expect(problems({ quality: undefined })).to.deep.equal([]);
  });

  it('names each condition, and a missing value', () => {
    expect(problems({ radius: 1 })).to.deep.equal([
      {
        field: 'radius',
        problem:
          'is for the shape round; without shape it means nothing; is for wrap true; with wrap false it means nothing',
      },
    ]);
  });

  it('adds nothing to other problems', () => {
    expect(problems({ quality: 700 }).map(({ problem }) => problem)).to.deep.equal([
      'must be an integer from 1 to 100, but is the number 700',
    ]);
    expect(problems({ quality: 70, format: 'gif' }).map(({ field }) => field)).to.deep.equal(['format']);
  });

  it('validates examples too', () => {
    const examples = [{ input: { quality: 5 } }];
    expect(() => compileParameters(createVocabulary(), { input, examples })).to.throw(
      'example 1 is refused by its own schema: quality is for the formats',
    );
  });
});

describe('an author’s faults with the keywords', () => {
  const faultOf = (more: Record<string, unknown>, properties: Record<string, unknown> = {}) => {
    const wrong = { type: 'object', properties: { ...input.properties, ...properties }, ...more };
    try {
      compileParameters(createVocabulary(), { input: wrong });
      return undefined;
    } catch (error) {
      return (error as Error).message.replace('input is not a valid schema: ', '');
    }
  };
  const length = (measure: unknown, type: unknown = ['integer', 'string']) =>
    faultOf({}, { width: { type, measure } });

  it('names faults of onlyWith, each with its place', () => {
    expect(faultOf({ onlyWith: { qualiti: { format: ['jpg'] } } })).to.equal(
      'input.onlyWith.qualiti is no parameter; did you mean "quality"? (#/onlyWith/qualiti)',
    );
    expect(faultOf({ onlyWith: { quality: { formt: ['jpg'] } } })).to.contain(
      'input.onlyWith.quality.formt is no parameter; did you mean "format"?',
    );
    expect(faultOf({ onlyWith: { quality: { format: ['jpeg'] } } })).to.contain(
      'has "jpeg", which becomes "jpg"; write that',
    );
    expect(faultOf({ onlyWith: { quality: { format: ['bmp'] } } })).to.contain(
      'has "bmp", which format never is: it must be one of png,',
    );
    expect(faultOf({ onlyWith: { quality: { quality: [1] } } })).to.contain('is about itself');
    expect(faultOf({ onlyWith: ['quality'] })).to.equal(
      'input.onlyWith must be an object, but is a list of 1; write {"quality":{"format":["jpg","webp"]}} (#/onlyWith)',
    );
    expect(faultOf({ onlyWith: { quality: { format: 'jpg' } } })).to.contain(
      'quality.format must be a list of at least 1 item',
    );
    expect(faultOf({}, { size: { type: 'object', onlyWith: { quality: { format: ['jpg'] } } } })).to.equal(
      'input.properties.size.onlyWith stands at the top of the input alone (#/properties/size/onlyWith)',
    );
  });

  it('names unknown parameters beside all else', () => {
    const faults = faultOf({ onlyWith: { qualiti: { format: ['jpg'] } } }, { width: { type: 'integr' } });
    expect(faults).to.include('qualiti is no parameter').and.include('width.type must be one of');
  });

  it('names faults of a measure', () => {
    expect(length(true)).to.equal(
      'input.properties.width.measure must be an object, but is the boolean true; write {"minimum":0,"maximum":100} (#/properties/width/measure)',
    );
    expect(length({ minimum: 1 })).to.contain('is no setting of it: maximum is required: an integer');
    expect(length({ minimum: 1, maximum: 2, percent: false })).to.contain('percent must be true');
    expect(length({ minimum: 1, maximum: 2, max: 3 })).to.contain('max is not known here');
    expect(length({ minimum: 3, maximum: 2 })).to.contain('minimum is 3, above maximum, which is 2');
    expect(length({ minimum: 1, maximum: 2 }, 'integer')).to.contain('write "type": ["integer", "string"]');
  });

  it('names faults of colours and formats', () => {
    expect(faultOf({}, { c: { type: 'string', color: 'auto' } })).to.equal(
      'input.properties.c.color must be true or an object with auto, but is the string "auto" (#/properties/c/color)',
    );
    expect(faultOf({}, { c: { type: 'string', color: { auto: 1 } } })).to.contain('auto must be true');
    expect(faultOf({}, { f: { type: 'string', encodable: 'png' } })).to.contain('must be true');
  });
});

describe('encodable, in what an author wrote', () => {
  const canEncode = (format: string) => (format === 'avif' ? 'cannot be avif here' : undefined);
  const avif = { ...pictureOutput, format: { ...pictureOutput.format, default: 'avif' } };

  it('lets defaults and examples pass, and refuses them of a caller', () => {
    const parameters = compileParameters(createVocabulary({ canEncode }), {
      input: { type: 'object', properties: avif },
      examples: [{ input: { format: 'avif' } }],
    });
    const refused = [{ field: 'format', problem: 'cannot be avif here' }];
    for (const dryrun of [true, false]) {
      expect(parameters.check({}, { dryrun }).problems).to.deep.equal(refused);
      expect(parameters.check({ format: 'avif' }, { dryrun }).problems).to.deep.equal(refused);
      expect(parameters.check({ format: 'png' }, { dryrun }).problems).to.deep.equal([]);
    }
  });
});
