import type { Logger } from 'pino';
import { compileOutput } from '../../../../schemas/output.js';
import { createVocabulary } from '../../../../schemas/vocabulary/vocabulary.js';
import type { Config } from '../../../config.js';
import { configProblems, type Environment } from '../../../helpers/helper-config.js';
import type { Helper } from '../../../helpers/registry.js';
import { openLocalHelpers } from '../../../local/open-local.js';
import { createNetwork } from './network.js';
import { findTests, runTests } from './own-tests.js';
import { type HelperReport, type TestOptions, testHelper } from './test-helper.js';

export interface FolderOptions extends Omit<TestOptions, 'network'> {
  folder: string;
  config: Config;
  env: Environment;
  logger: Logger;
  /** Told of each helper when it is done. */
  onReport: (report: HelperReport | NotTested) => void;
}

/** A helper that could not be tried. */
export interface NotTested {
  id: string;
  reason: string;
}

export interface FolderReport {
  plugins: (HelperReport | NotTested)[];
  /** The author's own tests, where there are any. */
  tests: { files: number; passed: boolean };
}

/** Tests these helpers of a folder in worker threads, one after another, and then runs the tests that lie beside them. */
export async function testFolder(helpers: readonly Helper[], options: FolderOptions): Promise<FolderReport> {
  const { folder, config, env, logger, onReport } = options;
  const network = createNetwork();
  const ajv = createVocabulary();
  const plugins: FolderReport['plugins'] = [];
  const guardSource = network.guard;
  const local = await openLocalHelpers(config, logger, env, { guardSource, allInWorkers: true });
  try {
    for (const { id } of helpers) {
      const helper = local.registry.get(id) as Helper;
      const acts = helper.declaration.effects && !options.effects;
      const missing = acts
        ? 'it changes something elsewhere: --effects calls it'
        : configProblems(helper, env)[0]?.reason;
      const { output } = helper.declaration;
      const judgeOutput = output && compileOutput(ajv, output);
      const report =
        missing === undefined
          ? await testHelper({ helper, local, judgeOutput }, { ...options, network })
          : { id, reason: missing };
      plugins.push(report);
      onReport(report);
    }
  } finally {
    await local.close();
  }
  const files = await findTests(folder);
  const passed = files.length === 0 || (await runTests(files, folder));
  return { plugins, tests: { files: files.length, passed } };
}
