import type { FuncKeywordDefinition, SchemaValidateFunction } from 'ajv';
import type fastCheck from 'fast-check';
import type { FieldProblem } from '../field-problem.js';
import type { JsonSchema } from '../json-schema.js';
import type { Listing } from '../quote.js';

/** A value in its normal form, or what is wrong with it and a hint that is computed only where it is shown. */
export type Normalised = { value: unknown } | { problem: string; hint?: () => string };

/** Whose values are validated, for keywords to which that matters. */
interface CheckContext {
  /** Whichever image engine there is: for what a plugin's author wrote, not a caller. */
  anyEngine: boolean;
}

/** The characters of `text` that no font can draw, each once; empty where all can be drawn. */
type CanDraw = (text: string) => string[];

/** What is wrong with a format here, by the name that answers use; undefined for one that can be written or is unknown. */
export type CanEncode = (format: string) => string | undefined;

/** What keywords are validated by besides their setting. */
export interface Abilities {
  /** Validates `drawable`; without it every text passes. */
  canDraw?: CanDraw;
  /** Validates `encodable`, by the engine that runs at that time; without it every format passes. */
  canEncode?: CanEncode;
  /** What `scopes` accepts; read at each validation, because helpers come and go. */
  knownScopes?: () => readonly string[];
  /** What `scopes` accepts besides: a regular expression. */
  scopePattern?: string;
  /** Wall clock in ms, for `future`. */
  now?: () => number;
}

/** How a page asks for a value. */
export type ControlForm =
  | { kind: 'color'; auto: boolean }
  | { kind: 'fraction' }
  /** A text that may be pixels, per cent or `auto`. */
  | { kind: 'measure'; unit: string; auto: boolean }
  | { kind: 'choice'; options: readonly unknown[]; aliases?: Readonly<Record<string, readonly string[]>> }
  /** A number between bounds. */
  | { kind: 'pixels'; minimum: number; maximum: number };

/** A keyword of the gateway's own, with all its faces. `Setting` is its value in a schema, `Value` what it validates. */
export interface Keyword<Setting, Value = string> {
  readonly name: string;
  /** JSON types of the values that it validates. */
  readonly type: NonNullable<FuncKeywordDefinition['type']>;
  /** JSON Schema of its setting. */
  readonly metaSchema: JsonSchema;
  /** Whether a setting, of a schema that may not have been validated, is one. */
  accepts(setting: unknown): boolean;
  /** Called once when a schema is compiled, with the setting and what is beside it; throws where it makes no sense. */
  prepare?(
    setting: Setting,
    beside: JsonSchema,
    abilities: Abilities,
  ): (value: Value, context: CheckContext) => Normalised;
  /** What it allows, as a noun, for messages and documentation. */
  describe?(setting: Setting, beside: JsonSchema, listing: Listing): string;
  /** The schema beside it, in plain JSON Schema, with words for what it allows: they accept all that it accepts. */
  standard?(setting: Setting, plain: JsonSchema, abilities: Abilities): JsonSchema;
  /** The same in the few words that every client of agents reads; without it, the description has to do. */
  brief?(setting: Setting): JsonSchema;
  /** How a page asks for it. */
  control?(setting: Setting): ControlForm;
  /** Values that people may mean, for a shell's completion. */
  suggestions?(setting: Setting): readonly string[];
  /** Values of one type to try a helper with. */
  samples?(
    setting: Setting,
    type: string,
    beside: JsonSchema,
    fc: typeof fastCheck,
  ): fastCheck.Arbitrary<unknown> | undefined;
}

/** The setting of a keyword that is `true`, or is left out. */
export const switchedOn = {
  metaSchema: { const: true },
  accepts: (setting: unknown) => setting === true,
};

/** A keyword whose setting and values are known to itself alone. */
export type AnyKeyword = Keyword<never, never>;

/** The keyword as ajv wants it: it replaces a valid value by its normal form, and says what is wrong with any other. */
export function toAjvKeyword(keyword: AnyKeyword, abilities: Abilities): FuncKeywordDefinition {
  const { name, type, metaSchema } = keyword;
  return {
    keyword: name,
    type,
    metaSchema,
    modifying: true,
    errors: true,
    compile(setting: unknown, beside: JsonSchema) {
      const normalise = keyword.prepare?.(setting as never, beside, abilities);
      type This = CheckContext | undefined;
      const validate: SchemaValidateFunction = function validateNormalised(this: This, value, context) {
        if (normalise === undefined) return true;
        const result = normalise(value as never, this ?? { anyEngine: false });
        if ('problem' in result) {
          const { problem, hint } = result;
          // Computed where it is shown: a hint for each item of a long list would cost more than to validate it.
          const message = { get: () => problem + (hint?.() ?? '') };
          // Of a custom keyword ajv does not say whose it is, which tells of what alternative an error is.
          const error = { keyword: name, params: {}, parentSchema: beside };
          validate.errors = [Object.defineProperty(error, 'message', message)];
          return false;
        }
        if (context) context.parentData[context.parentDataProperty] = result.value;
        return true;
      };
      return validate;
    },
  };
}

/** Validates a caller's values, unless the context says more, and writes defaults and normal forms into them. */
export type CheckValues = (values: Record<string, unknown>, context?: CheckContext) => FieldProblem[];

/** Whether a text leaves the choice to the helper: the word `auto`, in any case. */
export function isAuto(text: string): boolean {
  return text.toLowerCase() === 'auto';
}

/** A schema that demands more than it does already. */
export function withMore(schema: JsonSchema, more: JsonSchema): JsonSchema {
  const isFree = Object.keys(more).every((keyword) => schema[keyword] === undefined);
  if (isFree) return { ...schema, ...more };
  return { ...schema, allOf: [...(Array.isArray(schema.allOf) ? schema.allOf : []), more] };
}

/** A schema with alternatives in place of each of its types. */
export function withAlternatives(
  { type, ...untyped }: JsonSchema,
  alternativesOf: (type: unknown) => readonly JsonSchema[],
): JsonSchema {
  return withMore(untyped, { anyOf: [type].flat().flatMap(alternativesOf) });
}

/** A regular expression, as text, for a spelling in any case. */
export function anyCase(spelling: string): string {
  return Array.from(spelling, (character) => {
    const [lower, upper] = [character.toLowerCase(), character.toUpperCase()];
    if (lower !== upper && [...lower].length + [...upper].length === 2) return `[${lower}${upper}]`;
    return character.replace(/[$()*+./?[\\\]^{|}]/, '\\$&');
  }).join('');
}
