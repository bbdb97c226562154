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

  it('has several lines for a text that may be long, and one where it has a form', () => {
    const multiline = (schema: JsonSchema) => (control(schema) as { multiline?: boolean }).multiline;
    expect(multiline({ type: 'string' })).to.equal(true);
    expect(multiline({ type: 'string', maxLength: 1_000_000 })).to.equal(true);
    expect(multiline({ type: 'string', maxLength: 500 })).to.equal(false);
    expect(multiline({ type: 'string', format: 'uri' })).to.equal(false);
  });

  it('has a slider where both bounds are known and near enough to each other', () => {
    const slider = (schema: JsonSchema) => (control(schema) as { slider?: boolean }).slider;
    expect(slider({ type: 'integer', minimum: 0, maximum: 5000 })).to.equal(true);
    expect(slider({ type: 'number', minimum: 0, maximum: 0.5 })).to.equal(true);
    expect(slider({ type: 'integer', minimum: 0 })).to.equal(false);
    expect(slider({ type: 'integer', minimum: 0, maximum: 10_000_000 })).to.equal(false);
  });

  it('says what a measure counts, and has a slider for pixels alone', () => {
    const unit = (more: object) => (control(measure(more)) as { unit?: string }).unit;
    expect([{}, { percent: true }, { auto: true }, { percent: true, auto: true }].map(unit)).to.deep.equal([
      'px',
      'px or %',
      'px or auto',
      'px, % or auto',
    ]);
    expect(control(measure({}))).to.deep.include({ slider: true, min: 0, max: 90 });
  });

  it('knows what a parameter goes with', () => {
    const root = { onlyWith: { p: { format: ['jpg'] } } };
    expect(control({ type: 'integer' }, { root }).onlyWith).to.deep.equal([
      { parameter: 'format', values: ['jpg'] },
    ]);
    expect(control({ type: 'integer' })).not.to.have.property('onlyWith');
  });

  it('sends an empty text where that is a value', () => {
    const sendsEmpty = (schema: JsonSchema, required: boolean) =>
      (control({ type: 'string', ...schema }, { required }) as { sendsEmpty?: boolean }).sendsEmpty;
    expect(sendsEmpty({}, true)).to.equal(true);
    expect(sendsEmpty({ default: 'x' }, false)).to.equal(true);
    expect(sendsEmpty({}, false)).to.equal(false);
    expect(sendsEmpty({ minLength: 1 }, true)).to.equal(false);
    expect(sendsEmpty({ pattern: '^a' }, true)).to.equal(false);
  });

  it('names nested fields by their path, with what each may be', () => {
    const group = control({
      type: 'object',
      required: ['width'],
      properties: { width: { type: 'integer', minimum: 1 }, unit: { enum: ['px', 'mm'] } },
    });
    const members = group.kind === 'group' ? group.members : [];
    expect(members.map(({ path, kind, required }) => [path, kind, required])).to.deep.equal([
      ['p.width', 'number', true],
      ['p.unit', 'choice', false],
    ]);
    expect(members[0]?.allowed).to.equal('an integer of at least 1');
  });

  it('asks first which alternative is meant, and has the fields of each', () => {
    const shape = (kind: string, name: string) => ({
      type: 'object',
      required: ['kind', name],
      properties: { kind: { const: kind }, [name]: { type: 'number' } },
    });
    const found = control({ oneOf: [shape('circle', 'r'), shape('square', 'side')] });
    if (found.kind !== 'variants') throw new Error(found.kind);
    expect([found.tag.path, found.tag.options]).to.deep.equal(['p.kind', ['circle', 'square']]);
    expect(found.variants.map(({ members }) => members.map(({ path }) => path))).to.deep.equal([
      ['p.r'],
      ['p.side'],
    ]);
  });

  it('follows references, and is JSON for what goes on for ever', () => {
    const root = {
      definitions: {
        size: { type: 'integer', minimum: 0, maximum: 9 },
        tree: { type: 'object', properties: { child: { $ref: '#/definitions/tree' } } },
      },
    };
    expect(control({ $ref: '#/definitions/size' }, { root }).kind).to.equal('number');
    let last = control({ $ref: '#/definitions/tree' }, { root });
    for (let depth = 0; last.kind === 'group' && depth < 20; depth += 1) last = last.members[0] as Control;
    expect(last.kind).to.equal('json');
  });
});
