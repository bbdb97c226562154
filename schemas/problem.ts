/** One problem of a request's input: the parameter's name and what is wrong with it, for a person to act on. */
export interface FieldProblem {
  field: string;
  problem: string;
}
