import type { FieldProblem } from '../field-problem.js';
import { asSchema, escapePointer, isObject, type JsonSchema, typesOf, walkSchema } from '../json-schema.js';
import { didYouMean } from '../nearest.js';
import { join, quote } from '../quote.js';
import type { CheckValues, Keyword } from './keyword.js';

/** The values of another parameter beside which one makes sense, in their normal form. */
export interface Condition {
  parameter: string;
  values: readonly unknown[];
}

/**
 * `onlyWith: { quality: { format: ['jpg', 'webp'] } }` at the top of an input: a parameter that may be sent only beside these values of
 * another. ajv does not validate it: what matters is what was sent, and ajv has filled in the defaults by then.
 */
export const onlyWith: Keyword<object> = {
  name: 'onlyWith',
  type: 'object',
  metaSchema: {
    type: 'object',
    additionalProperties: {
      type: 'object',
      minProperties: 1,
      additionalProperties: {
        type: 'array',
        minItems: 1,
        items: { type: ['string', 'number', 'boolean'] },
      },
    },
    examples: [{ quality: { format: ['jpg', 'webp'] } }],
  },
  accepts: isObject,
};

/** The conditions of each parameter that has any; all of them must hold. What is no list of values is left out. */
export function onlyWithOf({ onlyWith }: JsonSchema): ReadonlyMap<string, readonly Condition[]> {
  const rules = new Map<string, readonly Condition[]>();
  for (const [name, conditions] of Object.entries(asSchema(onlyWith))) {
    const each = Object.entries(asSchema(conditions)).flatMap(([parameter, values]) =>
      Array.isArray(values) ? [{ parameter, values }] : [],
    );
    if (each.length > 0) rules.set(name, each);
  }
  return rules;
}

/** `the formats jpg, webp and avif`, `wrap true`: beside what a parameter makes sense. */
function conditionForm({ parameter, values }: Condition): string {
  const words = values.map(wordOf);
  if (!values.every((value) => typeof value === 'string')) return `${parameter} ${join('or', words)}`;
  return `the ${parameter}${words.length === 1 ? '' : 's'} ${join('and', words)}`;
}

/** A value of the condition's parameter, as it stands after "with": `png`, `wrap false`. */
function givenForm({ parameter }: Condition, value: unknown): string {
  if (value === undefined) return `without ${parameter}`;
  return typeof value === 'string' ? `with ${wordOf(value)}` : `with ${parameter} ${wordOf(value)}`;
}

function wordOf(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  return /^[\w.-]+$/.test(value) ? value : quote(value);
}

/** What a call sent, after validation. */
interface Sent {
  /** Whether a parameter was sent: one that a default stands in for says nothing. */
  has: (name: string) => boolean;
  /** With defaults, in normal form. */
  values: Readonly<Record<string, unknown>>;
  /** Problems so far. */
  problems: readonly FieldProblem[];
}

/** The parameters that were sent without what they need beside them, one problem each; undefined where none needs anything. */
export function createOnlyWith(schema: JsonSchema): ((sent: Sent) => FieldProblem[]) | undefined {
  const rules = [...onlyWithOf(schema)];
  if (rules.length === 0) return undefined;

  return function onlyWithProblems({ has, values, problems }) {
    const isWrong = (name: string) => problems.some(({ field }) => isFieldOf(field, name));
    return rules.flatMap(([field, conditions]) => {
      if (!has(field) || isWrong(field)) return [];
      // A wrong value may have been meant as a right one.
      const broken = conditions.flatMap((condition) => {
        const { parameter } = condition;
        const value = Object.hasOwn(values, parameter) ? values[parameter] : undefined;
        if (isWrong(parameter) || condition.values.includes(value)) return [];
        return [`is for ${conditionForm(condition)}; ${givenForm(condition, value)} it means nothing`];
      });
      return broken.length > 0 ? [{ field, problem: broken.join('; ') }] : [];
    });
  };
}

/** Whether a problem's field is a parameter, or what is in it. */
export function isFieldOf(field: string, name: string): boolean {
  return field === name || field.startsWith(`${name}.`) || field.startsWith(`${name}[`);
}

/** The properties of an input, with their conditions in their descriptions. */
export function withConditions(input: JsonSchema): JsonSchema {
  const properties = asSchema(input.properties);
  const described = [...onlyWithOf(input)].flatMap(([name, conditions]) => {
    const property = properties[name];
    if (!isObject(property)) return [];
    const { description } = property;
    const note = `Only for ${conditions.map(conditionForm).join(', and for ')}.`;
    return [[name, { ...property, description: [description, note].filter(Boolean).join(' ') }]];
  });
  return { ...properties, ...Object.fromEntries(described) };
}

/**
 * What is wrong with the `onlyWith` of an input besides its form, each with its place: unknown names, values that their parameter
 * never has, and an `onlyWith` elsewhere than at the top. `validate` is that of dry runs; without it values are not checked.
 */
export function onlyWithFaults(input: JsonSchema, validate?: CheckValues): string[] {
  const names = Object.keys(asSchema(input.properties));
  const misplaced = walkSchema(input, 'input').find(({ schema, parent }) => parent && 'onlyWith' in schema);
  const faults: string[] = [];
  if (misplaced) {
    const { path, pointer } = misplaced.place;
    faults.push(`${path}.onlyWith stands at the top of the input alone (#${pointer}/onlyWith)`);
  }
  for (const [name, conditions] of onlyWithOf(input)) {
    const unknown = (each: string, place: string) =>
      `input.${place.replaceAll('/', '.')} is no parameter${didYouMean(each, names)} (#/${place})`;
    const at = `onlyWith/${escapePointer(name)}`;
    if (!names.includes(name)) faults.push(unknown(name, at));
    for (const { parameter, values } of conditions) {
      const place = `${at}/${escapePointer(parameter)}`;
      if (!names.includes(parameter)) faults.push(unknown(parameter, place));
      else if (parameter === name) faults.push(`input.onlyWith.${name} is about itself (#/${place})`);
      else if (validate)
        faults.push(...values.flatMap((value) => neverHad(parameter, value, place, validate)));
    }
  }
  return faults;
}

function neverHad(parameter: string, value: unknown, place: string, validate: CheckValues): string[] {
  const values = { [parameter]: value };
  const wrong = validate(values, { anyEngine: true }).find(({ field }) => isFieldOf(field, parameter));
  const where = `input.${place.replaceAll('/', '.')}`;
  const shown = typeof value === 'string' ? quote(value) : JSON.stringify(value);
  if (wrong) return [`${where} has ${shown}, which ${parameter} never is: it ${wrong.problem} (#/${place})`];
  const normal = values[parameter];
  if (normal === value) return [];
  return [`${where} has ${shown}, which becomes ${JSON.stringify(normal)}; write that (#/${place})`];
}

/**
 * The schema of an input with its `onlyWith` as draft-07's `dependencies`: where a parameter is given, another has one of the values
 * that it goes with, and is given too where its default is none of these.
 */
export function withDependencies(schema: JsonSchema): JsonSchema {
  const { onlyWith: _, ...plain } = schema;
  const rules = onlyWithOf(schema);
  if (rules.size === 0) return plain;
  const properties = asSchema(plain.properties);
  const more = Object.fromEntries(
    [...rules].map(([name, conditions]) => [name, demand(conditions, properties)]),
  );
  if (plain.dependencies === undefined) return { ...plain, dependencies: more };
  const others = Array.isArray(plain.allOf) ? plain.allOf : [];
  return { ...plain, allOf: [...others, { dependencies: more }] };
}

function demand(conditions: readonly Condition[], properties: JsonSchema): JsonSchema {
  const missing = conditions.filter(
    ({ parameter, values }) => !values.includes(asSchema(properties[parameter]).default),
  );
  const values = conditions.map((each) => {
    const { parameter } = each;
    return [parameter, oneOfValues(each, asSchema(properties[parameter]))];
  });
  return {
    properties: Object.fromEntries(values),
    ...(missing.length > 0 ? { required: missing.map(({ parameter }) => parameter) } : {}),
  };
}

/** One of these values in any spelling; nothing can be said of values with other normal forms, such as colours. */
function oneOfValues(
  { values }: Condition,
  { choice, color, measure, fraction, ...plain }: JsonSchema,
): JsonSchema {
  if (isObject(choice)) {
    const chosen = Object.entries(choice).filter(([name]) => values.includes(name));
    return { choice: Object.fromEntries(chosen) };
  }
  if (color !== undefined || measure !== undefined || fraction !== undefined) return {};
  return typesOf(plain).length === 0 ? {} : { enum: values };
}
