import { expect } from 'chai';
import { pino } from 'pino';
import { createHelperLog } from '../../../gateway/plugins/helper-log.js';
import { loadRegistry } from '../../../gateway/plugins/load-registry.js';
import { createMainHelpers, createSlowSetupNotice } from '../../../gateway/plugins/main-helpers.js';
import {
  configOf,
  configProblems,
  type Helper,
  logCutLimits,
  moduleOf,
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
    const env = { A_KEY: 'k', A_REGION: '', A_OTHER: '', B: 'b' };
    expect(configOf(helper, env)).to.deep.equal({ key: 'k', region: 'eu' });
  });

  it('goes to workers with what is secret of it', () => {
    const { config, secrets } = moduleOf(helper, { A_KEY: 'k', A_HOST: 'h' });
    expect(config).to.deep.equal({ key: 'k', host: 'h', region: 'eu' });
    expect(secrets).to.deep.equal(['k']);
  });

  it('names all that it lacks, and no value', () => {
    const reason = [
      'config.key needs the environment variable A_KEY, which is not set: Ask Ada.',
      'config.host needs the environment variable A_HOST, which is not set',
    ].join('\n');
    expect(configProblems(helper, { A_OTHER: 'value' })).to.deep.equal([{ file: '/a.mjs', reason }]);
    expect(configProblems(helper, { A_KEY: 'k', A_HOST: 'h' })).to.deep.equal([]);
  });

  it('is reported beside every other fault of a start, and not required to describe helpers', async () => {
    const folders = [fixture('plugins/context'), fixture('plugins/bad/syntax')];
    const { message } = await rejection(loadRegistry(folders, createVocabulary(), { env: {} }));
    expect(message).to.match(/^3 plugins cannot be served.*SyntaxError/s);
    const missing = message.match(/config\.apiKey needs .* TEST_CONTEXT_KEY, .*: Key of the test\./g);
    expect(missing).to.have.length(2);
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

describe('a helper on the main thread', () => {
  const env = { TEST_CONTEXT_KEY: 'a-key' };
  let found: ReadonlyMap<string, Helper>;

  before(async () => {
    found = await loadRegistry([fixture('plugins/context')], createVocabulary());
  });

  const helpersIn = (given: Record<string, string>) =>
    createMainHelpers({ env: given, onSlowSetup: () => {} });
  const withSetup = (id: string, setup: NonNullable<Helper['functions']>['setup']) => {
    const helper = found.get(id) as Helper;
    return { ...helper, functions: { ...helper.functions, setup } } as Helper;
  };

  it('is set up once where its calls are here, and not where they are in the pool', async () => {
    let times = 0;
    const main = helpersIn(env);
    const setup = () => {
      times += 1;
      return { time: times };
    };
    const [here, there] = [withSetup('in-line', setup), withSetup('in-pool', setup)];
    await Promise.all([main.prepare(here), main.prepare(here), main.prepare(there)]);
    expect(times).to.equal(1);
    expect(main.partsOf(here).state).to.deep.equal({ time: 1 });
    expect(main.partsOf(there).state).to.equal(undefined);
  });

  it('stops a start where its setup fails, with file and reason, but no secret', async () => {
    const failing = withSetup('in-line', ({ config }) => {
      throw new TypeError(`no entry for ${config.apiKey}`);
    });
    const { message } = await rejection(helpersIn(env).prepare(failing));
    expect(message)
      .to.include(failing.file)
      .and.match(/setup failed: TypeError: no entry for \[secret\]$/);
  });

  it('names what a setup throws that is no error', async () => {
    const failing = withSetup('in-line', () => {
      throw 'no database';
    });
    const { message } = await rejection(helpersIn(env).prepare(failing));
    expect(message).to.match(/setup failed: it threw: no database$/);
  });

  it('aborts the signal of setup at the end', async () => {
    let signal: AbortSignal | undefined;
    const main = helpersIn(env);
    const setup = (given: { signal: AbortSignal }) => {
      signal = given.signal;
    };
    await main.prepare(withSetup('in-line', setup));
    expect(signal?.aborted).to.equal(false);
    main.close();
    expect(signal?.aborted).to.equal(true);
  });

  it('needs the variables that it declares', async () => {
    const { message } = await rejection(helpersIn({}).prepare(found.get('in-pool') as Helper));
    expect(message).to.include('TEST_CONTEXT_KEY');
  });
});

describe('a setup that a start waits for', () => {
  it('is logged once, with its file, however many threads wait', () => {
    const logged: unknown[] = [];
    const notice = createSlowSetupNotice({ warn: (line: unknown) => void logged.push(line) });
    notice('a', 'file:///a.mjs');
    notice('a', 'file:///a.mjs');
    notice('b', 'file:///b%20c.mjs');
    expect(logged).to.deep.equal([
      { service: 'a', file: '/a.mjs' },
      { service: 'b', file: '/b c.mjs' },
    ]);
  });
});

describe('what handlers log', () => {
  const call = { service: 'a', request_id: 'r' };
  const unreadable = { level: 40, msg: 'a helper wrote a line that cannot be read' };
  for (const [what, text, line] of [
    [
      'has the call that it came from',
      '{"level":40,"service":"x","msg":"100%s"}',
      { level: 40, msg: '100%s' },
    ],
    ['has a time of the gateway’s', '{"level":40,"time":1,"n":1}', { n: 1 }],
    ['is info where its level is none', '{"level":35,"a":1}', { level: 30, a: 1 }],
    ['may be no JSON without harm', '{"level":30,', unreadable],
  ] as const) {
    it(what, () => {
      const lines: Record<string, unknown>[] = [];
      const logger = pino({ level: 'info' }, { write: (each) => void lines.push(JSON.parse(each)) });
      createHelperLog(logger)({ ...call, text });
      expect(lines[0]).to.include({ ...call, ...line });
      expect(lines[0]?.time).to.be.above(1);
    });
  }
});
