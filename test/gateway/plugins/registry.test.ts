import { expect } from 'chai';
import { loadRegistry } from '../../../gateway/plugins/load-registry.js';
import {
  configOf,
  configProblems,
  type Helper,
  logCutLimits,
  moduleOf,
  secretsOf,
} from '../../../gateway/plugins/registry.js';
import { describeDeclaration } from '../../../schemas/declared-helper.js';
import { createVocabulary } from '../../../schemas/vocabulary.js';
import { fixture } from '../../fixtures.js';
import { rejection } from '../download/raw-server.js';

const declaration = describeDeclaration({
  summary: 'x',
  input: { type: 'object' },
  config: {
    key: { env: 'A_KEY', secret: true, required: true, description: 'Ask Ada.' },
    host: { env: 'A_HOST', required: true },
    region: { env: 'A_REGION', default: 'eu' },
    other: { env: 'A_OTHER' },
  },
});
const helper = { id: 'a', file: '/a.mjs', url: 'file:///a.mjs', declaration } as Helper;

describe('a helper’s configuration', () => {
  it('is what the environment says, else its default, else nothing; an empty variable says nothing', () => {
    expect(configOf(helper, { A_KEY: 'k', A_REGION: '', A_OTHER: '', B: 'b' })).to.deep.equal({
      key: 'k',
      region: 'eu',
    });
  });

  it('goes to workers with what is secret of it', () => {
    const { config, secrets } = moduleOf(helper, { A_KEY: 'k', A_HOST: 'h' });
    expect(config).to.deep.equal({ key: 'k', host: 'h', region: 'eu' });
    expect(secrets).to.deep.equal(['k']);
    expect(secretsOf(helper, {})).to.deep.equal([]);
  });

  it('names all that it lacks, and no value', () => {
    expect(configProblems(helper, { A_OTHER: 'value' })).to.deep.equal([
      {
        file: '/a.mjs',
        reason: [
          'config.key needs the environment variable A_KEY, which is not set: Ask Ada.',
          'config.host needs the environment variable A_HOST, which is not set',
        ].join('\n'),
      },
    ]);
    expect(configProblems(helper, { A_KEY: 'k', A_HOST: 'h' })).to.deep.equal([]);
  });

  it('is told beside every other fault of a start, and asked for by nobody who only looks', async () => {
    const folders = [fixture('plugins/context'), fixture('plugins/bad/syntax')];
    const { message } = await rejection(loadRegistry(folders, createVocabulary(), { env: {} }));
    expect(message)
      .to.match(/^3 plugins cannot be served/)
      .and.match(/SyntaxError/);
    expect(message.match(/config\.apiKey needs .* TEST_CONTEXT_KEY, .*: Key of the test\./g)).to.have.length(
      2,
    );
    const looked = await loadRegistry([fixture('plugins/context')], createVocabulary());
    expect(looked.size).to.equal(2);
  });
});

describe('limits of a declaration that the operator cuts', () => {
  it('are logged with both figures and the variable, and no others', () => {
    const lines: unknown[] = [];
    const helpers = [undefined, 100, 1000, 1001].map((most) => {
      const id = `after-${most}`;
      const files = [{ field: 'logo', maxBytes: most }];
      return [id, { id, declaration: { timeoutMs: most, files } } as unknown as Helper] as const;
    });
    const logger = { warn: (line: unknown) => void lines.push(line) };
    logCutLimits(new Map(helpers), { taskTimeoutMs: 1000, maxImageBytes: 1000 }, logger);
    const cut = { service: 'after-1001', declared: 1001, most: 1000 };
    expect(lines).to.deep.equal([
      { ...cut, field: 'timeoutMs', variable: 'HELPER_TASK_TIMEOUT_MS' },
      { ...cut, field: 'files.logo.maxBytes', variable: 'HELPER_MAX_IMAGE_BYTES' },
    ]);
  });
});
