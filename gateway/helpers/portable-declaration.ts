/**
 * A plugin's default export as it travels between threads: its functions, which cannot, by their names, and the rest as data.
 * Only those that a declaration may have: a function anywhere else is told when the rest is sent.
 */
export interface PortableDeclaration {
  data: unknown;
  functions: string[];
}

/** Takes an export apart in the thread that has imported it. */
export function takeApart(exported: unknown): PortableDeclaration {
  if (typeof exported !== 'object' || exported === null || Array.isArray(exported)) {
    return { data: exported, functions: [] };
  }
  const entries = Object.entries(exported);
  const isFunction = ([, value]: [string, unknown]) => typeof value === 'function';
  return {
    data: Object.fromEntries(entries.filter((entry) => !isFunction(entry))),
    functions: entries.filter(isFunction).map(([name]) => name),
  };
}

/** Puts it together where it is looked at; its functions are no one's to call there. */
export function putTogether({ data, functions }: PortableDeclaration): unknown {
  if (functions.length === 0) return data;
  return { ...(data as object), ...Object.fromEntries(functions.map((name) => [name, notHere])) };
}

function notHere(): never {
  throw new Error('this function is in another thread');
}
