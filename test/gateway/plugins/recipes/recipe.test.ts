import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import fc from 'fast-check';
import { valuesOf } from '../../../../gateway/commands/plugins/test-inputs.js';
import { loadRegistry } from '../../../../gateway/plugins/load-registry.js';
import { builtinPlugins } from '../../../../gateway/plugins/paths.js';
import { createRecipeCompiler, type RecipeCompiler } from '../../../../gateway/plugins/recipes/recipe.js';
import { isStepHelper, readSteps } from '../../../../gateway/plugins/recipes/steps.js';
import type { Helper, Registry } from '../../../../gateway/plugins/registry.js';
import { asSchema } from '../../../../schemas/json-schema.js';
import { callParameters } from '../../../../schemas/parameters/parameters.js';
import { createVocabulary } from '../../../../schemas/vocabulary.js';
import { fixture } from '../../../fixtures.js';

let registry: Registry;
let compile: RecipeCompiler;
before(async () => {
  registry = await loadRegistry([builtinPlugins, fixture('plugins/recipes')], createVocabulary());
  compile = createRecipeCompiler(registry, createVocabulary);
});

/** A recipe of these steps, or the fields that are refused, with their problems. */
function recipeOf(steps: unknown, more: object = {}): Helper {
  const { helper, problems } = compile('recipes/x', { steps, ...more });
  expect(problems).to.deep.equal([]);
  return helper as Helper;
}
function problemsOf(steps: unknown, more: object = {}): Record<string, string> {
  const { helper, problems } = compile('recipes/x', { steps, ...more });
  expect(helper === undefined, 'no helper').to.equal(problems.length > 0);
  return Object.fromEntries(problems.map(({ field, problem }) => [field, problem]));
}

const resize = (more: object) => ({ use: 'media/resize', ...more });
const border = (more: object) => ({ use: 'media/add-border', ...more });
const mark = (more: object) => ({ use: 'media/add-watermark', ...more });

const propertiesOf = ({ parameters }: Helper) =>
  Object.fromEntries(parameters.properties.map(({ name, schema }) => [name, schema]));
const requiredOf = ({ declaration }: Helper) => declaration.input.required;

/** The steps of a call as their helpers get them, or the fields that are refused. */
function call(helper: Helper, input: Record<string, unknown>, dryrun = false) {
  const checked = helper.parameters.check(input, { dryrun, uploaded: dryrun ? [] : ['file'] });
  if (checked.problems.length > 0) return checked.problems.map(({ field }) => field);
  const read = helper.readSteps?.(checked.input, { dryrun });
  return read?.problems.length
    ? read.problems.map(({ field }) => field)
    : read?.steps.map((each) => each.input);
}

describe('a recipe', () => {
  it('has the parameters that its steps name, with the schemas of their places', () => {
    const card = recipeOf(
      [resize({ width: '{width}', height: '{width}', fit: 'cover' }), mark({ text: '{caption}' })],
      { input: { width: { default: 800, maximum: 1600 } }, format: 'webp' },
    );
    const { width, caption, ...others } = propertiesOf(card);
    expect(width).to.include({ type: 'integer', minimum: 1, maximum: 1600, default: 800 });
    expect(caption).to.include({ type: 'string', maxLength: 500, description: 'The text to write.' });
    expect(Object.keys(others)).to.deep.equal(['url', 'quality', 'dryrun']);
    expect(requiredOf(card)).to.deep.equal(['caption']);
    expect(card.declaration.summary).to.equal('Runs media/resize, then media/add-watermark.');
    expect(call(card, { caption: 'x' })).to.containSubset([
      { width: 800, height: 800, fit: 'cover' },
      { text: 'x' },
    ]);
    expect(call(card, { caption: 'x', width: 1601 })).to.deep.equal(['width']);
    expect(call(card, {})).to.deep.equal(['caption']);
    expect(call(card, {}, true)).to.containSubset([{ width: 800 }, {}]);
    const read = card.readSteps?.({ width: 800, caption: 'x' }, { dryrun: false });
    expect(read?.format).to.equal('webp');
    expect(read?.steps.map(({ fieldOf }) => fieldOf('text'))).to.deep.equal(['width', 'caption']);
  });

  it('takes a format and a quality as its own says', () => {
    const [free, fixed, png] = [undefined, 'JPEG', 'png'].map((format) =>
      recipeOf([resize({ width: 5 })], { format }),
    );
    const check = (helper: Helper | undefined, input: object) => {
      const { problems } = (helper as Helper).parameters.check(
        { ...input },
        { dryrun: false, uploaded: ['file'] },
      );
      return problems.map(({ field, problem }) => `${field} ${problem}`);
    };
    expect(check(free, { format: 'webp', quality: 5 })).to.deep.equal([]);
    expect(check(free, { format: 'png', quality: 5 })[0]).to.match(/^quality /);
    expect(check(fixed, { quality: 5 })).to.deep.equal([]);
    expect(check(fixed, { format: 'jpg' })[0]).to.match(/^format /);
    expect(check(png, { quality: 5 })[0]).to.match(/^quality /);
  });

  it('has an example of the first ones of its parameters, where that is a right call', () => {
    const steps = [resize({ width: '{width}' }), mark({ text: '{caption}' })];
    const caption = { examples: ['New', 'Old'] };
    const exampleOf = (input: object) => recipeOf(steps, { input }).declaration.examples;
    expect(exampleOf({ caption, width: { default: 5 } })).to.deep.equal([{ input: { caption: 'New' } }]);
    expect(exampleOf({ caption })).to.deep.equal([]);
    expect(recipeOf([resize({ width: 5 })]).declaration.examples).to.deep.equal([{ input: {} }]);
    const either = recipeOf([mark({ text: '{caption}', mark_url: '{logo}' })]);
    expect(either.declaration.examples).to.deep.equal([]);
  });

  const refused: [what: string, steps: unknown, more: object, ...fields: (string | [string, RegExp])[]][] = [
    ['no steps', undefined, {}, 'steps'],
    ['an empty list', [], {}, 'steps'],
    ['eleven steps', Array(11).fill(resize({ width: 1 })), {}, 'steps'],
    ['a step that is no object', [7], {}, 'steps.0'],
    ['unknown keys', [resize({ width: 1 })], { step: [] }, ['step', /did you mean steps/]],
    ['an unknown helper', [{ use: 'media/resise' }], {}, ['steps.0.use', /did you mean "media\/resize"/]],
    ['the pipeline', [{ use: 'pipeline', steps: [] }], {}, 'steps.0.use'],
    ['a parameter as helper', [{ use: '{helper}' }], {}, 'steps.0.use'],
    ['a wrong value', [border({}), resize({ width: 0, heigth: 5 })], {}, 'steps.1.width', 'steps.1.heigth'],
    ['a parameter of no helper', [resize({ width: '{width}', heigth: '{height}' })], {}, 'steps.0.heigth'],
    ['what is required', [mark({})], {}, 'steps.0.text'],
    [
      'what is the call’s own',
      [resize({ width: 1, format: '{format}', quality: 5 })],
      {},
      'steps.0.format',
      'steps.0.quality',
    ],
    ['another place of the format', [resize({ width: 1, format: '{x}' })], {}, 'steps.0.format'],
    ['reserved names', [mark({ text: '{url}' }), mark({ text: '{ak}' })], {}, 'steps.0.text', 'steps.1.text'],
    [
      'wrong names',
      [mark({ text: '{1}' }), mark({ text: '{}' }), mark({ text: '{a b}' })],
      {},
      'steps.0.text',
      'steps.1.text',
      'steps.2.text',
    ],
    [
      'a lone brace',
      [mark({ text: 'a {b} c' }), mark({ text: '{{{x}' })],
      {},
      ['steps.0.text', /write "\{\{"/],
      'steps.1.text',
    ],
    ['literals that never go together', [mark({ text: '{x}', max_lines: 3 })], {}, 'steps.0.max_lines'],
    [
      'an entry of no step',
      [resize({ width: '{width}' })],
      { input: { widht: {} } },
      ['input.widht', /did you mean "width"/],
    ],
    [
      'an unknown keyword',
      [resize({ width: '{width}' })],
      { input: { width: { multipleOf: 5 } } },
      'input.width.multipleOf',
    ],
    [
      'wider bounds',
      [resize({ width: '{w}' })],
      { input: { w: { minimum: 0, maximum: 5 } } },
      'input.w.minimum',
    ],
    [
      'a wider maximum',
      [resize({ width: '{w}' })],
      { input: { w: { maximum: 16_384 } } },
      ['input.w.maximum', /to 16383/],
    ],
    ['bounds of a text', [mark({ text: '{x}' })], { input: { x: { maximum: 5 } } }, 'input.x.maximum'],
    [
      'bounds that leave nothing',
      [resize({ width: '{w}' })],
      { input: { w: { minimum: 6, maximum: 5 } } },
      'input.w.minimum',
    ],
    ['a longer text', [mark({ text: '{x}' })], { input: { x: { maxLength: 501 } } }, 'input.x.maxLength'],
    [
      'a length of numbers',
      [resize({ width: '{w}' })],
      { input: { w: { maxLength: 5 } } },
      'input.w.maxLength',
    ],
    [
      'a default that does not fit',
      [resize({ width: '{w}' })],
      { input: { w: { maximum: 5, default: 6 } } },
      'input.w.default',
    ],
    [
      'a default that is null',
      [resize({ width: '{w}' })],
      { input: { w: { default: null } } },
      'input.w.default',
    ],
    [
      'an example that does not fit',
      [resize({ width: '{w}' })],
      { input: { w: { examples: [1, 'x'] } } },
      'input.w.examples',
    ],
    [
      'a default of the step that does not fit',
      [border({ width: '{w}' })],
      { input: { w: { maximum: 10 } } },
      'input.w.default',
    ],
    [
      'values that are none',
      [resize({ fit: '{fit}', width: 5 })],
      { input: { fit: { enum: ['cover', 'x'] } } },
      'input.fit.enum',
    ],
    [
      'an endless pattern',
      [mark({ text: '{x}' })],
      { input: { x: { pattern: '(a+)+$' } } },
      'input.x.pattern',
    ],
    ['a broken pattern', [mark({ text: '{x}' })], { input: { x: { pattern: '(' } } }, 'input.x.pattern'],
    ['a mark without a choice of both', [mark({ text: 'x', scale: 0.5 })], {}, 'steps.0.scale'],
  ];
  for (const [what, steps, more, ...fields] of refused) {
    it(`is refused: ${what}`, () => {
      const problems = problemsOf(steps, more);
      const names = fields.map((each) => (typeof each === 'string' ? each : each[0]));
      expect(problems).to.have.all.keys(...names);
      for (const each of fields) if (typeof each !== 'string') expect(problems[each[0]]).to.match(each[1]);
    });
  }

  it('says all that is wrong at once, and which helper has gone', () => {
    const steps = [resize({ width: 0 }), { use: 'media/gone' }, mark({ text: '{' })];
    const { problems, gone } = compile('recipes/x', { steps, summary: '', format: 'x' });
    expect(problems.map(({ field }) => field)).to.have.members([
      ...['summary', 'format', 'steps.0.width', 'steps.1.use', 'steps.2.text'],
    ]);
    expect(gone).to.equal('media/gone');
    for (const wrong of [null, 7, 'x', []]) expect(compile('x', wrong).problems[0]?.field).to.equal('*');
  });

  it('narrows a length in pixels, in whatever form it comes', () => {
    const frame = recipeOf([border({ width: '{width}', top: '{top}' })], {
      input: { width: { maximum: 50 }, top: { default: '3%' } },
    });
    expect(call(frame, { width: 50, top: '5%' })).to.containSubset([{ width: 50, top: '5%' }]);
    for (const width of [51, '51', '5%', '100%']) expect(call(frame, { width })).to.deep.equal(['width']);
    const bounds = propertiesOf(frame).width;
    expect(bounds).to.containSubset({ measure: { minimum: 0, maximum: 50 }, default: 20 });
  });

  it('narrows a fraction in whatever form it comes', () => {
    const faint = recipeOf([mark({ text: 'x', opacity: '{opacity}' })], {
      input: { opacity: { maximum: 0.5 } },
    });
    for (const opacity of [0.5, '50%', 50, '0.2'])
      expect(call(faint, { opacity })).to.containSubset([{ text: 'x' }]);
    for (const opacity of [0.6, '60%', 60, 1]) expect(call(faint, { opacity })).to.deep.equal(['opacity']);
    expect(call(faint, { opacity: 50 })).to.containSubset([{ opacity: 0.5 }]);
  });

  it('narrows to some values', () => {
    const some = recipeOf(
      [resize({ width: 5, fit: '{fit}', background: '{colour}' }), border({ width: '{size}' })],
      {
        input: {
          fit: { enum: ['stretch', 'cover'], default: 'cover' },
          colour: { enum: ['red', '#FFF'], default: '#FFF' },
          size: { enum: [5, '5%'], default: 5 },
        },
      },
    );
    const right = { fit: 'FILL', colour: 'red', size: '5%' };
    expect(call(some, right)).to.containSubset([{ fit: 'fill', background: '#ff0000' }, { width: '5%' }]);
    expect(call(some, {})).to.containSubset([{ fit: 'cover', background: '#ffffff' }, { width: 5 }]);
    for (const wrong of [{ fit: 'inside' }, { colour: 'lime' }, { size: 6 }]) {
      expect(call(some, wrong)).to.deep.equal(Object.keys(wrong));
    }
    const { problems } = some.parameters.check({ colour: 'lime' }, { dryrun: true });
    expect(problems[0]?.problem).to.contain('one of red, "#FFF"');
  });

  it('takes a safe pattern', () => {
    const code = recipeOf([mark({ text: '{code}' })], {
      input: { code: { pattern: '^[A-Z]{2}-\\d+$', maxLength: 20 } },
    });
    expect(call(code, { code: 'AB-12' })).to.containSubset([{ text: 'AB-12' }]);
    for (const wrong of ['ab-12', `AB-${'1'.repeat(30)}`])
      expect(call(code, { code: wrong })).to.deep.equal(['code']);
  });

  it('requires what its step requires, and a default frees of that', () => {
    expect(requiredOf(recipeOf([resize({ width: '{w}' })]))).to.deep.equal(['w']);
    expect(requiredOf(recipeOf([resize({ width: '{w}', height: '{h}' })]))).to.deep.equal([]);
    expect(requiredOf(recipeOf([resize({ width: '{w}', height: '{w}' })]))).to.deep.equal(['w']);
    expect(requiredOf(recipeOf([resize({ width: '{w}', height: 5 })]))).to.deep.equal([]);
    expect(requiredOf(recipeOf([resize({ width: '{w}' })], { input: { w: { default: 5 } } }))).to.deep.equal(
      [],
    );
    expect(requiredOf(recipeOf([mark({ text: '{t}' })]))).to.deep.equal(['t']);
    expect(requiredOf(recipeOf([mark({ mark_url: '{logo}' })]))).to.deep.equal(['logo']);
    expect(requiredOf(recipeOf([mark({ text: '{t}', mark_url: '{logo}' })]))).to.deep.equal([]);
    expect(
      requiredOf(recipeOf([resize({ width: '{a}' }), border({ width: '{a}', color: '{b}' })])),
    ).to.deep.equal(['a']);
  });

  it('says in its own names what shows with values alone', () => {
    const either = recipeOf([resize({ width: 5 }), mark({ text: '{caption}', mark_url: '{logo}' })]);
    expect(call(either, {})).to.deep.equal(['caption']);
    expect(call(either, { caption: 'x', logo: 'https://example.com/a.png' })).to.deep.equal(['logo']);
    expect(call(recipeOf([resize({ width: '{w}', height: '{h}' })]), {})).to.deep.equal(['w']);
    const wrapped = recipeOf([mark({ text: 'x', wrap: '{wrap}', max_lines: '{lines}' })]);
    expect(call(wrapped, { lines: 3 })).to.deep.equal(['lines']);
    // The step's own default says no more than nothing.
    expect(call(wrapped, {})).to.containSubset([{ max_lines: 10, wrap: false }]);
    expect(call(wrapped, { lines: 3, wrap: true })).to.containSubset([{ max_lines: 3, wrap: true }]);
  });

  it('has literal braces', () => {
    const literal = recipeOf([mark({ text: '{{name} {{' })]);
    expect(call(literal, {})).to.containSubset([{ text: '{name} {' }]);
  });

  it('has parameters of several places, which fit all of them', () => {
    const several = recipeOf([resize({ width: '{n}' }), border({ width: '{n}' })]);
    expect(call(several, { n: 7 })).to.containSubset([{ width: 7 }, { width: 7 }]);
    for (const n of [0, 5001, '5%', 'x']) expect(call(several, { n })).to.deep.equal(['n']);
    const { problems } = several.parameters.check({ n: 'x' }, { dryrun: true });
    expect(problems[0]?.problem).to.match(/^must be an integer from 1 to 16383/);
    expect(propertiesOf(several).n).to.not.have.property('default');
  });

  it('has parameters inside of lists and objects, behind references and in alternatives', () => {
    const layout = recipeOf([
      {
        use: 'media/layout',
        box: { size: '{size}', at: ['{x}', 5] },
        tree: { name: 'root', kids: [{ name: '{leaf}' }] },
        shape: { kind: 'dot', r: '{r}' },
      },
    ]);
    expect(requiredOf(layout)).to.deep.equal(['size', 'x', 'leaf', 'r']);
    const right = { size: 3, x: 4, leaf: 'a', r: 2 };
    expect(call(layout, right)).to.containSubset([
      { box: { size: 3, at: [4, 5] }, tree: { kids: [{ name: 'a' }] }, shape: { r: 2 } },
    ]);
    for (const wrong of [{ size: 99 }, { x: 'x' }, { leaf: 7 }, { r: -1 }]) {
      expect(call(layout, { ...right, ...wrong })).to.deep.equal(Object.keys(wrong));
    }
    const tree = recipeOf([{ use: 'media/layout', box: { size: 1 }, tree: '{tree}' }]);
    expect(call(tree, { tree: { name: 'a', kids: [{ name: 'b', kids: [] }] } })).to.containSubset([
      { tree: { name: 'a' } },
    ]);
    expect(call(tree, { tree: { name: 'a', kids: [{ nam: 'b' }] } })).to.include('tree.kids.0.nam');
    expect(problemsOf([{ use: 'media/layout', box: { size: '{s}', sise: 4 } }])).to.have.all.keys(
      'steps.0.box.sise',
    );
    expect(problemsOf([{ use: 'media/layout', box: { sise: '{s}' } }])).to.have.any.keys('steps.0.box.sise');
  });

  it('accepts what its step accepts with the values put in by hand', () => {
    const ids = [...registry.values()].filter(isStepHelper).map(({ id }) => id);
    const calls = fc.constantFrom(...ids).chain((use) => {
      const { input } = (registry.get(use) as Helper).declaration;
      const schemas = Object.entries(asSchema(input.properties));
      const own = schemas.filter(([name]) => !callParameters.includes(name));
      const names = own.map(([name]) => name);
      const values = own.map(([name, schema]) => [name, valuesOf(asSchema(schema), input)]);
      const slip = fc.constantFrom<unknown>('5%', -1, 'auto', true, {}, [1], '{', '{{x}');
      return fc.record({
        use: fc.constant(use),
        values: fc.record(Object.fromEntries(values), { requiredKeys: [], noNullPrototype: true }),
        wrong: fc.option(fc.tuple(fc.constantFrom(...names, 'text'), slip), { freq: 3 }),
        literal: fc.subarray(names),
      });
    });
    const literally = (value: unknown) =>
      JSON.parse(
        JSON.stringify(value, (_, each) => (typeof each === 'string' ? each.replaceAll('{', '{{') : each)),
      );
    let [right, all] = [0, 0];
    fc.assert(
      fc.property(calls, ({ use, values, wrong, literal }) => {
        const sent: Record<string, unknown> = { ...values, ...(wrong ? { [wrong[0]]: wrong[1] } : {}) };
        const step = Object.entries(sent).map(([name, value]) => [
          name,
          literal.includes(name) ? literally(value) : `{p_${name}}`,
        ]);
        const { helper } = compile('x', { steps: [{ use, ...Object.fromEntries(step) }] });
        const open = Object.entries(sent).filter(([name]) => !literal.includes(name));
        const given = Object.fromEntries(open.map(([name, value]) => [`p_${name}`, value]));
        const check = (input: object) => helper?.parameters.check({ ...input }, { dryrun: true }).input ?? {};
        // The step's own default says no more than nothing.
        const [normal, defaults] = [check(given), check({})];
        for (const [name] of open) {
          const parameter = `p_${name}`;
          if (parameter in defaults && isDeepStrictEqual(normal[parameter], defaults[parameter]))
            delete sent[name];
        }
        const byHand = readSteps([{ use, ...sent }], registry, { dryrun: false });
        const isRight = byHand.problems.length === 0;
        all += 1;
        right += isRight ? 1 : 0;
        const answer = helper && call(helper, given);
        if (isRight) expect(answer).to.deep.equal(byHand.steps.map(({ input }) => input));
        else expect(answer?.[0] ?? '', JSON.stringify(byHand.problems)).to.be.a('string');
      }),
      { numRuns: 300 },
    );
    expect(right).to.be.within(all / 8, all);
  });
});
