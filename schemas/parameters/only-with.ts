import { joinField } from '../explain-errors.js';
import type { FieldProblem } from '../field-problem.js';
import { asSchema, escapePointer, isObject, type JsonSchema } from '../json-schema.js';
import { didYouMean } from '../nearest.js';
import { quote } from '../quote.js';
import { subschemas } from '../subschemas.js';
import { type Condition, conditionForm, givenForm, onlyWithOf } from '../vocabulary/only-with.js';
import type { Judge } from './judge.js';

/** What a call brought, once it has been judged. */
export interface Sent {
  /** Whether a parameter was sent: one that a default stands in for says nothing. */
  has: (name: string) => boolean;
  /** With defaults, in normal form. */
  values: Readonly<Record<string, unknown>>;
  /** Problems that there are already. */
  problems: readonly FieldProblem[];
}

/** The parameters that were sent beside what they make no sense with, one problem each. */
export function createOnlyWith(schema: JsonSchema): (sent: Sent) => FieldProblem[] {
  const rules = [...onlyWithOf(schema)];

  return function onlyWithProblems({ has, values, problems }) {
    const isWrong = (name: string) => problems.some(({ field }) => isInside(field, name));
    return rules.flatMap(([field, conditions]) => {
      if (!has(field) || isWrong(field)) return [];
      // Of a value that is wrong nobody knows what it was meant to be.
      const broken = conditions.filter((each) => !isWrong(each.parameter) && !holds(each, values));
      return broken.length > 0
        ? [{ field, problem: broken.map((each) => told(each, values)).join('; ') }]
        : [];
    });
  };
}

/** Whether what a parameter stands beside is as its condition wants it. */
function holds({ parameter, values: wanted }: Condition, values: Sent['values']): boolean {
  return Object.hasOwn(values, parameter) && wanted.includes(values[parameter]);
}

function told(condition: Condition, values: Sent['values']): string {
  const value = Object.hasOwn(values, condition.parameter) ? values[condition.parameter] : undefined;
  return `is for ${conditionForm(condition)}; ${givenForm(condition, value)} it means nothing`;
}

/** Whether a problem's field is a parameter, or what is in it. */
export function isInside(field: string, name: string): boolean {
  return field === name || field.startsWith(`${name}.`) || field.startsWith(`${name}[`);
}

/** The properties of an input, each with what it goes with in its description: so that it is told wherever the parameter is. */
export function withConditions(input: JsonSchema): JsonSchema {
  const properties = asSchema(input.properties);
  const told = [...onlyWithOf(input)].flatMap(([name, conditions]) => {
    const property = properties[name];
    if (!isObject(property)) return [];
    const { description } = property;
    const note = `Only for ${conditions.map(conditionForm).join(', and for ')}.`;
    return [
      [name, { ...property, description: description === undefined ? note : `${description} ${note}` }],
    ];
  });
  return { ...properties, ...Object.fromEntries(told) };
}

/**
 * What is wrong with the `onlyWith` of an input besides its form, each with its place: names that there are not, values that their
 * parameter never has, and one that stands elsewhere than at the top. `judge` judges values as those of a dry run; without it,
 * where there is none yet, values are left out.
 */
export function onlyWithFaults(input: JsonSchema, judge?: Judge): string[] {
  const names = Object.keys(asSchema(input.properties));
  const faults = misplaced(input);
  for (const [name, conditions] of onlyWithOf(input)) {
    const unknown = (each: string, place: string) =>
      `input.${place.replaceAll('/', '.')} is no parameter${didYouMean(each, names)} (#/${place})`;
    const at = `onlyWith/${escapePointer(name)}`;
    if (!names.includes(name)) faults.push(unknown(name, at));
    for (const { parameter, values } of conditions) {
      const place = `${at}/${escapePointer(parameter)}`;
      if (!names.includes(parameter)) faults.push(unknown(parameter, place));
      else if (parameter === name) faults.push(`input.onlyWith.${name} is about itself (#/${place})`);
      else if (judge) faults.push(...values.flatMap((value) => neverHad(parameter, value, place, judge)));
    }
  }
  return faults;
}

function neverHad(parameter: string, value: unknown, place: string, judge: Judge): string[] {
  const values = { [parameter]: value };
  const wrong = judge(values, { anyEngine: true }).find(({ field }) => isInside(field, parameter));
  const where = `input.${place.replaceAll('/', '.')}`;
  const shown = typeof value === 'string' ? quote(value) : JSON.stringify(value);
  if (wrong) return [`${where} has ${shown}, which ${parameter} never is: it ${wrong.problem} (#/${place})`];
  const normal = values[parameter];
  if (normal === value) return [];
  return [`${where} has ${shown}, which becomes ${JSON.stringify(normal)}; write that (#/${place})`];
}

function misplaced(input: JsonSchema): string[] {
  const waiting = inside(input, 'input', '#');
  for (const { schema, path, pointer } of waiting) {
    if ('onlyWith' in schema) {
      return [`${path}.onlyWith stands at the top of the input alone (${pointer}/onlyWith)`];
    }
    waiting.push(...inside(schema, path, pointer));
  }
  return [];
}

function inside(schema: JsonSchema, path: string, pointer: string) {
  return subschemas(schema).map(({ keyword, key, schema: inner }) => {
    const keys = key === undefined ? [keyword] : [keyword, String(key)];
    return {
      schema: inner,
      path: keys.reduce(joinField, path),
      pointer: [pointer, ...keys.map(escapePointer)].join('/'),
    };
  });
}
