import type { FieldProblem } from '../field-problem.js';
import type { JudgeContext } from '../vocabulary/keyword.js';

/**
 * Judges values, into which defaults and normal forms are written; empty where they are right. They are a caller's, unless the context
 * says more.
 */
export type Judge = (values: Record<string, unknown>, context?: JudgeContext) => FieldProblem[];
