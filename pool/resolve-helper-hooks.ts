/** Hooks for Node before 22.15; Node loads this file into its hooks thread. See `resolve-helper.ts`. */
const helper = { url: '' };

/** Called by Node once, with what `register` was given. */
export function initialize(data: { url: string }): void {
  helper.url = data.url;
}

/** Called by Node for every import. */
export function resolve<Context>(
  specifier: string,
  context: Context,
  next: (specifier: string, context: Context) => unknown,
): unknown {
  if (specifier === 'helper-gateway/helper') return { url: helper.url, shortCircuit: true };
  return next(specifier, context);
}
