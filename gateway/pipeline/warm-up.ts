import { readThrown } from '../../pool/thrown.js';
import { nameAtExit } from '../helpers/name-at-exit.js';
import type { Registry } from '../helpers/registry.js';
import { mayBeShort, type RunOptions, runShort } from './run-here.js';

/**
 * Runs the examples of the helpers whose short calls run on the main thread, once, so that no customer's call waits there for code
 * to be compiled and tables to be built: some 10 ms. One that fails is told to the log; its call would fail too.
 */
export async function warmUp(registry: Registry, options: RunOptions): Promise<void> {
  for (const { id: service, file, declaration, parameters, shipped } of registry.values()) {
    if (!mayBeShort(declaration)) continue;
    for (const { input: example } of declaration.examples ?? []) {
      const { input, problems } = parameters.check(example, { dryrun: false, hasFile: false });
      // Only an example of a dry run may lack what a call needs.
      if (problems.length > 0) continue;
      const context = { service, request_id: 'warm-up' };
      const state = { taskMs: 0 };
      const run = async () => runShort(declaration, { state, input }, context, { ...options, shipped });
      // Nothing else need keep the process running yet: one that never settles is to meet its timeout.
      const awake = setInterval(() => {}, options.timeoutMs);
      try {
        await nameAtExit(`running an example of the plugin ${file}`, run);
      } catch (error) {
        const reason = (error as Error).cause ?? error;
        options.logger.error({ err: readThrown(reason), service, example }, 'example failed');
      } finally {
        clearInterval(awake);
      }
    }
  }
}
