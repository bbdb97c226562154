import { expect } from 'chai';
import { loadRegistry } from '../../../../gateway/plugins/load-registry.js';
import { builtinPlugins } from '../../../../gateway/plugins/paths.js';
import { isStepHelper, readSteps } from '../../../../gateway/plugins/recipes/steps.js';
import type { Helper, Registry } from '../../../../gateway/plugins/registry.js';
import { createVocabulary } from '../../../../schemas/vocabulary.js';
import { fixture } from '../../../fixtures.js';

let registry: Registry;
before(async () => {
  registry = await loadRegistry([builtinPlugins, fixture('plugins/author')], createVocabulary());
});

const pipeline = () => registry.get('pipeline') as Helper;

/** The fields that are refused, with the beginning of each problem. */
function problemsOf(steps: unknown[], dryrun = false): Record<string, string> {
  const { problems } = readSteps(steps, registry, { dryrun });
  return Object.fromEntries(problems.map(({ field, problem }) => [field, problem]));
}

describe('steps', () => {
  it('are helpers that take one picture and answer it', () => {
    const ids = [...registry.values()].filter(isStepHelper).map(({ id }) => id);
    expect(ids).to.include.members(['media/resize', 'media/add-border', 'media/shrink']);
    expect(ids).to.not.include.members(['pipeline', 'text/shout', 'media/facts', 'media/collage']);
  });

  it('get their input in normal form with defaults', () => {
    const { steps, problems } = readSteps(
      [
        { use: 'media/resize', width: 400 },
        { use: 'media/add-border', color: 'red', width: '5.0%' },
      ],
      registry,
      { dryrun: false },
    );
    expect(problems).to.deep.equal([]);
    expect(steps.map(({ helper }) => helper.id)).to.deep.equal(['media/resize', 'media/add-border']);
    expect(steps[0]?.input).to.include({ width: 400, fit: 'inside' });
    expect(steps[1]?.input).to.include({ width: '5%', color: '#ff0000' });
    expect(steps[1]?.fieldOf('width')).to.equal('steps.1.width');
  });

  it('are refused all at once, each mistake by its path', () => {
    const problems = problemsOf([
      { use: 'media/resize' },
      {
        use: 'media/add-border',
        widht: 5,
        color: 'nocolour',
        url: 'https://example.com/a.png',
        format: 'png',
      },
      { use: 'media/add-watermark' },
      { use: 'media/add-watermark', text: 'x', mark: 'x', 'a b': 1, quality: 5, dryrun: true, file: 1 },
      { use: 'text/shout', text: 'x' },
      { use: 'media/resise' },
      { width: 5 },
      7,
    ]);
    expect(Object.keys(problems)).to.have.members([
      'steps.0.width',
      'steps.1.widht',
      'steps.1.color',
      'steps.1.url',
      'steps.1.format',
      'steps.2.text',
      'steps.3.mark',
      'steps.3["a b"]',
      'steps.3.quality',
      'steps.3.dryrun',
      'steps.3.file',
      'steps.4.use',
      'steps.5.use',
      'steps.6.use',
      'steps.7',
    ]);
    expect(problems['steps.1.widht']).to.contain('did you mean "width"?');
    expect(problems['steps.1.url']).to.contain('write it beside steps');
    expect(problems['steps.2.text']).to.contain('as mark_url').and.not.contain('upload');
    expect(problems['steps.3.mark']).to.contain('mark_url');
    expect(problems['steps.4.use']).to.contain('media/resize');
    expect(problems['steps.5.use']).to.contain('did you mean "media/resize"?');
  });

  it('may name further files by their urls', () => {
    const mark = { use: 'media/add-watermark', mark_url: 'https://example.com/logo.png' };
    expect(problemsOf([{ ...mark, scale: 0.5 }])).to.deep.equal({});
    expect(problemsOf([{ ...mark, text: 'x' }])).to.have.keys('steps.0.mark_url');
  });

  it('may lack what is required in a dry run', () => {
    expect(problemsOf([{ use: 'media/resize' }, { use: 'media/add-watermark' }], true)).to.deep.equal({});
    expect(problemsOf([{ use: 'media/resize', width: 0 }], true)).to.have.keys('steps.0.width');
  });
});

describe('the pipeline', () => {
  const check = (input: Record<string, unknown>) => {
    const { problems } = pipeline().parameters.check(input, { dryrun: false, uploaded: ['file'] });
    return problems.map(({ field }) => field);
  };
  const resize = { use: 'media/resize', width: 5 };

  it('names the bounds of its list, and steps that are none', () => {
    expect(check({ steps: [resize] })).to.deep.equal([]);
    expect(check({})).to.deep.equal(['steps']);
    expect(check({ steps: [] })).to.deep.equal(['steps']);
    expect(check({ steps: Array(11).fill(resize) })).to.deep.equal(['steps']);
    expect(check({ steps: 'resize' })).to.deep.equal(['steps']);
    expect(check({ steps: [resize, 7] })).to.deep.equal(['steps.1']);
    expect(check({ steps: [{ use: 'text/shout' }, {}] })).to.deep.equal(['steps.0.use', 'steps.1.use']);
  });

  it('names what is wrong with its steps beside its own mistakes', () => {
    const steps = [{ use: 'media/resize', width: 0 }, { use: 'x' }];
    expect(check({ steps, format: 'x', colour: 1 })).to.have.members([
      'steps.0.width',
      'steps.1.use',
      'format',
      'colour',
    ]);
  });

  it('reads its list from a text', () => {
    const { parameters } = pipeline();
    expect(parameters.coerce('steps', JSON.stringify([resize]))).to.deep.equal([resize]);
    expect(parameters.coerce('steps', '[{')).to.equal('[{');
  });

  it('has no format of its own, and takes a quality with one that has it', () => {
    const { input } = pipeline().parameters.check({ steps: [resize] }, { dryrun: true });
    expect(input).to.not.have.property('format');
    expect(check({ steps: [resize], format: 'jpeg', quality: 5 })).to.deep.equal([]);
    expect(check({ steps: [resize], format: 'png', quality: 5 })).to.deep.equal(['quality']);
    const read = pipeline().readSteps?.({ steps: [resize], format: 'jpg' }, { dryrun: false });
    expect(read).to.include({ format: 'jpg' });
  });

  it('has examples that are right', () => {
    const { examples } = pipeline().declaration;
    expect(examples.map(({ input }) => check(input))).to.deep.equal([[]]);
  });

  it('is not there without helpers that can be steps', async () => {
    const without = await loadRegistry([fixture('plugins/conformance')], createVocabulary());
    expect([...without.keys()]).to.not.include('pipeline');
  });
});
