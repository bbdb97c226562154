import { STATUS_CODES } from 'node:http';

/** Gives each operation an id that no other has: `getTextDiffTwoStrings`. */
export function createOperationIds(): (method: string, id: string) => string {
  const taken = new Set<string>();
  return function operationId(method, id) {
    const words = id.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
    const wanted = method + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
    let name = wanted;
    for (let at = 2; taken.has(name); at += 1) name = `${wanted}_${at}`;
    taken.add(name);
    return name;
  };
}

/** A helper's id as the first part of a component's name. */
export function componentPrefix(id: string): string {
  return id.replaceAll('/', '.');
}

/** The name of a status, e.g. `NotFound`. */
export function statusName(status: number): string {
  return (STATUS_CODES[status] ?? String(status)).replace(/[^A-Za-z0-9]/g, '');
}
