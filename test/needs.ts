import type { Context } from 'mocha';

/** Skips the suite with one line that says what is missing; with `CI_REQUIRE_ALL=1` that is a failure. */
export function skipWithout(context: Context, what: string): never {
  if (process.env.CI_REQUIRE_ALL === '1') throw new Error(`needs ${what}`);
  console.log(`      skipped: needs ${what}`);
  return context.skip();
}
