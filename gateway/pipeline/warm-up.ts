import { HandlerContext } from '../../pool/context/handler-context.js';
import { readThrown } from '../../pool/thrown.js';
import type { HelperContext } from '../helper.js';
import { nameAtExit } from '../helpers/name-at-exit.js';
import type { Helper } from '../helpers/registry.js';
import { Ending } from '../http/ending.js';
import { MainScope } from './main-scope.js';
import { mayBeShort, type RunOptions, runShort } from './run-here.js';
import type { Caller } from './state.js';

/** For whom an example runs. */
const nobody: Caller = {
  tenant: {
    id: 'warm-up',
    name: 'warm-up',
    weight: 1,
    limits: { rate: null, burst: null, monthly_quota: null, in_flight: null },
  },
  keyId: 'warm-up',
  scopes: null,
};

/**
 * Runs the examples of the helpers whose short calls run on the main thread, once, so that no customer's call waits there for code
 * to be compiled and tables to be built: some 10 ms. One that fails is told to the log; its call would fail too.
 */
export async function warmUp(helpers: Iterable<Helper>, options: RunOptions): Promise<void> {
  for (const helper of helpers) {
    const { id: service, file, declaration, functions, parameters, shipped } = helper;
    const parts = options.helpers.partsOf(helper);
    if (!mayBeShort(functions) || declaration.effects) continue;
    for (const { input: example } of declaration.examples) {
      const { input, problems } = parameters.check(example, { dryrun: false });
      // Only an example of a dry run may lack what a call needs.
      if (problems.length > 0) continue;
      const call = { state: { taskMs: 0, bytesIn: 0, gone: new Ending() }, input, caller: nobody };
      const scope = new MainScope(call, { service, request_id: 'warm-up' }, options, parts);
      const its = { scope, context: new HandlerContext(scope, parts) as HelperContext };
      const run = async () => runShort(functions, call, its, { ...options, shipped });
      // Nothing else need keep the process running yet: one that never settles is to meet its timeout.
      const awake = setInterval(() => {}, options.timeoutMs);
      try {
        const blocked = { limitMs: options.timeoutMs + 1_000, ends: true };
        await nameAtExit(`running an example of the plugin ${file}`, run, shipped ? undefined : blocked);
      } catch (error) {
        const reason = (error as Error).cause ?? error;
        options.logger.error({ err: readThrown(reason), service, example }, 'example failed');
      } finally {
        clearInterval(awake);
      }
    }
  }
}
