import { quote } from './quote.js';

/** One problem of a request's input: the parameter's name and what is wrong with it, for a person to act on. */
export interface FieldProblem {
  field: string;
  problem: string;
}

/** The most problems of an answer; the others are counted in one more with the field `*`. */
export const mostProblems = 50;

/** The first 50 problems, and one more that counts the others: what was sent must not decide how much is answered. */
export function boundProblems(problems: readonly FieldProblem[]): FieldProblem[] {
  if (problems.length <= mostProblems) return [...problems];
  const more = problems.length - mostProblems;
  const rest = { field: '*', problem: `has ${more} more ${more === 1 ? 'problem' : 'problems'}` };
  return [...problems.slice(0, mostProblems), rest];
}

/** The name of a parameter as a problem's `field`: as it is where it can be one, else quoted and cut. */
export function fieldName(name: string): string {
  return name.length <= 64 && /^[\w.-]+$/.test(name) ? name : quote(name);
}

const plainKey = /^(?:[\p{L}_$][\p{L}\p{N}_$-]{0,63}|\d+)$/u;

/** A path of names and places, `keep.2` or `size.width`, with one more at its end. */
export function joinField(path: string, key: string): string {
  if (!plainKey.test(key)) return `${path}[${quote(key)}]`;
  return path === '' ? key : `${path}.${key}`;
}
