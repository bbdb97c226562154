import { expect } from 'chai';
import { type Control, controlOf } from '../../../../gateway/docs/playground/controls.js';
import type { JsonSchema } from '../../../../schemas/json-schema.js';

function control(schema: JsonSchema, { root = {}, required = false } = {}): Control {
  return controlOf('p', schema, { root, required });
}

function measure(more: object): JsonSchema {
  return { type: ['integer', 'string'], measure: { minimum: 0, maximum: 90, ...more } };
}

describe('the control for a parameter', () => {
  const kinds: [string, JsonSchema, string][] = [
    ['a short string', { type: 'string', maxLength: 100 }, 'text'],
    ['a colour', { type: 'string', color: true }, 'color'],
    ['a colour with a setting of its own', { type: 'string', color: { auto: true } }, 'color'],
    ['a fraction', { type: ['number', 'string'], fraction: true }, 'fraction'],
    ['a measure that may be per cent', measure({ percent: true }), 'measure'],
    ['a measure that may be auto', measure({ auto: true }), 'measure'],
    ['a measure of pixels alone', measure({}), 'number'],
    ['an integer', { type: 'integer' }, 'number'],
    ['a number', { type: 'number', minimum: 0 }, 'number'],
    ['a choice', { type: 'string', choice: { png: [], jpg: ['jpeg'] } }, 'choice'],
    ['an enum', { enum: ['a', 1, null] }, 'choice'],
    ['a constant', { const: 'circle' }, 'choice'],
    ['a boolean', { type: 'boolean' }, 'switch'],
    ['a list of strings', { type: 'array', items: { type: 'string' } }, 'list'],
    ['a list of objects', { type: 'array', items: { type: 'object' } }, 'json'],
    ['a list of anything', { type: 'array' }, 'json'],
    ['an object with fields', { type: 'object', properties: { q: { type: 'string' } } }, 'group'],
    ['an object of any names', { type: 'object', additionalProperties: { type: 'number' } }, 'json'],
    ['an object or a list', { oneOf: [{ type: 'object' }, { type: 'array' }] }, 'json'],
    ['anything', {}, 'json'],
    ['a number or a word', { type: ['integer', 'string'] }, 'text'],
  ];
  for (const [what, schema, kind] of kinds) {
    it(`is ${kind} for ${what}`, () => expect(control(schema).kind).to.equal(kind));
  }

  const text = { type: 'string' };
  const integer = { type: 'integer', minimum: 0 };
  for (const [what, field, schema, value] of [
    ['several lines for a text', 'multiline', text, true],
    ['several lines for a text that may be long', 'multiline', { ...text, maxLength: 1_000_000 }, true],
    ['one line for a short text', 'multiline', { ...text, maxLength: 500 }, false],
    ['one line for a text with a form', 'multiline', { ...text, format: 'uri' }, false],
    ['a slider between two bounds', 'slider', { ...integer, maximum: 5000 }, true],
    ['a slider for fractions', 'slider', { type: 'number', minimum: 0, maximum: 0.5 }, true],
    ['no slider without a bound', 'slider', integer, false],
    ['no slider for too many steps', 'slider', { ...integer, maximum: 10_000_000 }, false],
  ] as const) {
    it(`has ${what}`, () => expect(control(schema)).to.have.property(field, value));
  }

  it('says what a measure counts, and has a slider for pixels alone', () => {
    const unit = (more: object) => (control(measure(more)) as { unit?: string }).unit;
    const units = [{}, { percent: true }, { auto: true }, { percent: true, auto: true }].map(unit);
    expect(units.join(' | ')).to.equal('px | px or % | px or auto | px, % or auto');
    expect(control(measure({}))).to.deep.include({ slider: true, min: 0, max: 90 });
  });

  it('knows what a parameter goes with', () => {
    const root = { onlyWith: { p: { format: ['jpg'] } } };
    const { onlyWith } = control({ type: 'integer' }, { root });
    expect(onlyWith).to.deep.equal([{ parameter: 'format', values: ['jpg'] }]);
    expect(control({ type: 'integer' })).not.to.have.property('onlyWith');
  });

  it('sends an empty text where that is a value', () => {
    for (const [schema, required, sendsEmpty] of [
      [{}, true, true],
      [{ default: 'x' }, false, true],
      [{}, false, false],
      [{ minLength: 1 }, true, false],
      [{ pattern: '^a' }, true, false],
    ] as const)
      expect(control({ ...text, ...schema }, { required })).to.include({ sendsEmpty });
  });

  it('follows references, and is JSON for what goes on for ever', () => {
    const tree = { type: 'object', properties: { child: { $ref: '#/definitions/tree' } } };
    const root = { definitions: { size: integer, tree } };
    expect(control({ $ref: '#/definitions/size' }, { root }).kind).to.equal('number');
    let last = control({ $ref: '#/definitions/tree' }, { root });
    for (let depth = 0; last.kind === 'group' && depth < 20; depth += 1) last = last.members[0] as Control;
    expect(last.kind).to.equal('json');
  });
});
