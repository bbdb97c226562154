/** Whether a key with these scopes (null: all) may call the helper `service`, e.g. `text/remove-stopwords`. */
export function scopeAllows(scopes: readonly string[] | null, service: string): boolean {
  if (scopes === null) return true;
  return scopes.some((scope) =>
    scope.endsWith('/*') ? service.startsWith(scope.slice(0, -1)) : scope === service,
  );
}

/** Every scope that means something where these helpers are served: each of them, and each folder as `folder/*`. */
export function knownScopes(services: readonly string[]): string[] {
  const groups = new Set<string>();
  for (const service of services) {
    const parts = service.split('/');
    for (let depth = 1; depth < parts.length; depth++) groups.add(`${parts.slice(0, depth).join('/')}/*`);
  }
  return [...services, ...groups].sort();
}
