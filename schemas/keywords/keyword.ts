import type { FuncKeywordDefinition, SchemaValidateFunction } from 'ajv';
import type { FieldProblem } from '../field-problem.js';
import type { JsonSchema } from '../json-schema.js';

/** A value in its normal form, or what is wrong with it, and a hint that is looked for only where it is told. */
type Normalised = { ok: true; value: unknown } | { ok: false; problem: string; hint?: () => string };

/** How values are judged, for keywords to which that matters. */
interface CheckContext {
  /** Whichever image engine there is: for what a plugin's author wrote, not a caller. */
  anyEngine: boolean;
}

const callContext: CheckContext = { anyEngine: false };

interface NormalisingKeyword {
  keyword: string;
  type: FuncKeywordDefinition['type'];
  /** JSON Schema of the keyword's own value in a schema. */
  metaSchema: FuncKeywordDefinition['metaSchema'];
  /** Called once when a schema is compiled, with the keyword's value and what stands beside it; throws where it makes no sense. */
  prepare: (setting: unknown, beside: JsonSchema) => (value: unknown, context: CheckContext) => Normalised;
}

/** An ajv keyword that replaces a valid value by its normal form, and says what is wrong with any other. */
export function normalisingKeyword(options: NormalisingKeyword): FuncKeywordDefinition {
  const { keyword, type, metaSchema, prepare } = options;
  return {
    keyword,
    type,
    metaSchema,
    modifying: true,
    errors: true,
    compile(setting: unknown, beside: JsonSchema) {
      const normalise = prepare(setting, beside);
      const validate: SchemaValidateFunction = function validateNormalised(
        this: CheckContext | undefined,
        value,
        context,
      ) {
        const result = normalise(value, this ?? callContext);
        if (!result.ok) {
          const { problem, hint } = result;
          const error = { keyword, params: {} };
          // Of a long list, a hint for each item would cost more than to judge it.
          validate.errors = [
            hint === undefined
              ? { ...error, message: problem }
              : Object.defineProperty(error, 'message', { get: () => problem + hint() }),
          ];
          return false;
        }
        if (context) context.parentData[context.parentDataProperty] = result.value;
        return true;
      };
      return validate;
    },
  };
}

/**
 * Judges values, into which defaults and normal forms are written; empty where they are right. They are a caller's, unless the context
 * says more.
 */
export type CheckValues = (values: Record<string, unknown>, context?: CheckContext) => FieldProblem[];

/** Whether a text leaves the choice to the helper: the word `auto`, in any case. */
export function isAuto(text: string): boolean {
  return text.toLowerCase() === 'auto';
}
