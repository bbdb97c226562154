/** One problem of a request's input: the parameter's name and what is wrong with it, for a person to act on. */
export interface FieldProblem {
  field: string;
  problem: string;
}

/** Problems that are told at most; the others are counted in one more with the field `*`. */
export const mostProblems = 50;

/** The first 50 problems, and one more that counts the others: what was sent must not decide how much is answered. */
export function boundProblems(problems: readonly FieldProblem[], total = problems.length): FieldProblem[] {
  if (total <= mostProblems) return [...problems];
  const more = total - mostProblems;
  const rest = { field: '*', problem: `has ${more} more ${more === 1 ? 'problem' : 'problems'}` };
  return [...problems.slice(0, mostProblems), rest];
}
