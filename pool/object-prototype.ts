/**
 * What is written into `Object.prototype` is in every object of its thread, for the calls of all tenants: a careless merge of an input
 * that holds `__proto__` is enough. So nothing can be added to it or taken out, and what was overwritten is put back after each call.
 * Its members stay writable: read-only ones would make `thing.toString = …` fail for every other object.
 */
const prototype = Object.prototype as unknown as Record<string, unknown>;
const members = Object.entries(Object.getOwnPropertyDescriptors(Object.prototype)).flatMap(
  ([name, { value }]): [string, unknown][] => (value === undefined ? [] : [[name, value]]),
);

/** To be called before a plugin is imported, in each thread where plugins run. */
export function sealObjectPrototype(): void {
  Object.seal(Object.prototype);
}

/** Puts back what a helper has overwritten, and names the helper on stderr. */
export function restoreObjectPrototype(service: string): void {
  for (const [name, value] of members) {
    if (prototype[name] === value) continue;
    try {
      prototype[name] = value;
    } catch {
      // It was made read-only, on purpose: that cannot be undone.
      continue;
    }
    console.error(`helper-gateway: ${service} has overwritten Object.prototype.${name}; it is put back`);
  }
}
