import { expect } from 'chai';
import { loadRegistry } from '../../../gateway/plugins/load-registry.js';
import { createMainHelpers, createSlowSetupNotice } from '../../../gateway/plugins/main-helpers.js';
import type { Helper } from '../../../gateway/plugins/registry.js';
import { createVocabulary } from '../../../schemas/vocabulary.js';
import { fixture } from '../../fixtures.js';
import { rejection } from '../download/raw-server.js';

describe('a helper on the main thread', () => {
  const env = { TEST_CONTEXT_KEY: 'a-key' };
  let found: ReadonlyMap<string, Helper>;

  before(async () => {
    found = await loadRegistry([fixture('plugins/context')], createVocabulary());
  });

  function helpersIn(given: Record<string, string>) {
    return createMainHelpers({ env: given, onSlowSetup: () => {} });
  }
  const helper = (id: string) => found.get(id) as Helper;

  /** The helper with this `setup`. */
  function withSetup(id: string, setup: NonNullable<Helper['functions']>['setup']): Helper {
    const { functions } = helper(id);
    return { ...helper(id), functions: { ...functions, setup } } as Helper;
  }

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
      .to.include(helper('in-line').file)
      .and.match(/setup failed: TypeError: no entry for \[secret\]$/);
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
    expect((await rejection(helpersIn({}).prepare(helper('in-pool')))).message).to.include(
      'TEST_CONTEXT_KEY',
    );
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
