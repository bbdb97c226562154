import { sourceField } from './declared-helper.js';
import { asSchema, type JsonSchema } from './json-schema.js';
import { didYouMean } from './nearest.js';
import { reservedNames } from './parameters/gateway-parameters.js';
import { quote } from './quote.js';

const parameterName = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
const neverNames = new Set(['__proto__', 'constructor', 'prototype']);
/** Keywords that let in parameters without a name, or make a validator that answers later. */
const refusedKeywords = ['patternProperties', 'propertyNames', '$async', '$ref'];

/** What is wrong with the names of a declaration's parameters and files, for its author. */
export function parameterReasons({ input, source, files }: Record<string, unknown>): string[] {
  const schema = asSchema(input);
  const reserved = reservedNames(source === 'image' ? [sourceField] : []);
  const taken = new Set([...reserved, ...Object.keys(asSchema(schema.properties))]);
  const reasons = refusedKeywords
    .filter((keyword) => Object.hasOwn(schema, keyword))
    .map((keyword) => `input.${keyword} cannot be used: every parameter is listed in input.properties`);
  for (const name of Object.keys(asSchema(schema.properties))) {
    if (reserved.includes(name)) {
      reasons.push(`the parameter ${name} is the gateway's own; give it another name`);
    } else reasons.push(...nameReasons('parameter', name));
  }
  return [...reasons, ...fileReasons(schema, asSchema(files), taken)];
}

/** A file brings up to two names into the one space of fields and parameters: its own, and that of its url. */
function fileReasons(input: JsonSchema, files: JsonSchema, parameters: ReadonlySet<string>): string[] {
  const taken = new Map([...parameters].map((name) => [name, 'a parameter']));
  const properties = Object.keys(asSchema(input.properties));
  const stands = new Map<string, string>();
  const reasons: string[] = [];
  const take = (what: string, name: string, owner: string) => {
    const other = taken.get(name);
    if (other) reasons.push(`${what} has the name of ${other}; give it another name`);
    taken.set(name, owner);
  };
  for (const name of Object.keys(files)) {
    reasons.push(...nameReasons('file', name));
    take(`the file ${name}`, name, `the file ${name}`);
  }
  for (const [name, value] of Object.entries(files)) {
    const { parameter, insteadOf, required } = asSchema(value);
    if (typeof parameter === 'string' && parameter !== name) {
      reasons.push(...nameReasons(`parameter of files.${name},`, parameter));
      take(`the parameter ${parameter} of files.${name}`, parameter, `the parameter of files.${name}`);
    }
    for (const list of ['notWith', 'options']) {
      const unknown = namesIn(asSchema(value)[list]).filter((each) => !properties.includes(each));
      reasons.push(...unknown.map((each) => `files.${name}.${list} has ${noParameter(each, properties)}`));
    }
    if (typeof insteadOf !== 'string') continue;
    const other = stands.get(insteadOf);
    const problem = other
      ? `names ${insteadOf}, as files.${other} does: one file may stand in the place of a parameter`
      : insteadProblem(insteadOf, required === true, input);
    if (problem) reasons.push(`files.${name}.insteadOf ${problem}`);
    stands.set(insteadOf, name);
  }
  return reasons;
}

/** Of a parameter and the file in its place one has to come and not both: neither can be always there. */
function insteadProblem(name: string, fileRequired: boolean, input: JsonSchema): string | undefined {
  const properties = asSchema(input.properties);
  if (!Object.hasOwn(properties, name)) {
    return `is ${noParameter(name, Object.keys(properties))}`;
  }
  if (fileRequired) return `cannot be used where the file is required: it would never stand for ${name}`;
  if (Array.isArray(input.required) && input.required.includes(name)) {
    return `cannot name ${name} while input.required does: one of the two is asked for as it is`;
  }
  if (asSchema(properties[name]).default === undefined) return undefined;
  return `cannot name ${name}, which has a default and so is always there`;
}

function noParameter(name: string, properties: readonly string[]): string {
  return `${quote(name)}, which is no parameter of input${didYouMean(name, properties)}`;
}

function namesIn(list: unknown): string[] {
  return Array.isArray(list) ? list.filter((each) => typeof each === 'string') : [];
}

function nameReasons(what: string, name: string): string[] {
  if (parameterName.test(name) && !neverNames.has(name)) return [];
  return [
    `the ${what} ${quote(name)} needs another name: a letter or _ and at most 63 letters, digits, _ and -`,
  ];
}
