import type { Helper, Registry } from '../helpers/registry.js';

/**
 * The helpers with all that their authors wrote run by worker threads, also what says `runs: 'inline'`: a deadline ends an endless
 * loop there, and here nothing would.
 */
export function inWorkers(registry: Registry): Registry {
  return new Map([...registry].map(([id, helper]) => [id, inWorker(helper)]));
}

function inWorker({ functions, ...helper }: Helper): Helper {
  const { inline, handler } = functions ?? {};
  if (!inline || !handler) return helper;
  // Asked all the same, so that a verdict that is none is found; what is short goes to the worker with the rest.
  const verdict = (input: unknown) => {
    const given = inline(input);
    return typeof given === 'boolean' ? false : given;
  };
  return { ...helper, functions: { handler, inline: verdict } };
}
