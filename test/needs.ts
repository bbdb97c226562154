import { join } from 'node:path';
import type { Context } from 'mocha';

/** Skips the suite with one line that says what is missing; with `CI_REQUIRE_ALL=1` that is a failure. */
export function skipWithout(context: Context, what: string): never {
  if (process.env.CI_REQUIRE_ALL === '1') throw new Error(`needs ${what}`);
  console.log(`      skipped: needs ${what}`);
  return context.skip();
}

/** The path of a file of a package that CI alone installs, into the folder `TEST_TOOLS`. Without that the suite is skipped. */
export function toolFile(context: Context, file: string): string {
  const { TEST_TOOLS: folder } = process.env;
  return folder ? join(folder, 'node_modules', file) : skipWithout(context, `${file} in TEST_TOOLS`);
}
