import { fileURLToPath } from 'node:url';
import type { Redactor } from './context/secrets.js';
import { guard } from './fault-guard.js';
import { readThrown, type Thrown } from './thrown.js';

/** A plugin's `setup` that failed. `message` is for the operator, and holds no secret. */
export class SetupError extends Error {}

export interface SetupOptions {
  /** The helper's id, by which its faults are told. */
  service: string;
  /** Whether it comes with the package, and need not be guarded against. */
  shipped: boolean;
  redactor: Redactor | undefined;
}

/**
 * Runs a plugin's `setup` and gives what it makes, however long that takes. What it lets escape fails it; later that is told as of
 * any call. Throws a `SetupError`.
 */
export async function setUp(
  setup: () => unknown,
  { service, shipped, redactor }: SetupOptions,
): Promise<unknown> {
  const work = async () => setup();
  try {
    return await (shipped ? work() : guard({ name: service, hide: redactor?.text }, work));
  } catch (error) {
    const reason = say(readThrown(error));
    throw new SetupError(`setup failed: ${redactor ? redactor.text(reason) : reason}`);
  }
}

/** Where the plugin of this module lies, for whoever is to mend it. */
export function fileOf(url: string): string {
  return fileURLToPath(url);
}

/** Without stacks: it is read in a start's last line. */
function say({ name, message, causes = [] }: Thrown): string {
  const own = name === undefined ? `it threw ${message}` : `${name}: ${message}`;
  return [own, ...causes.map((cause) => `caused by ${say(cause)}`)].join('\n');
}
