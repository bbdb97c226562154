import { Ajv, type ValidateFunction } from 'ajv';
import { noDeclaration, sourceField } from './declared-helper.js';
import { toProblems } from './explain-errors.js';
import { asSchema, isObject, type JsonSchema } from './json-schema.js';
import { didYouMean } from './nearest.js';
import { reservedNames } from './parameters/compile-schema.js';
import { describeValue, quote } from './quote.js';
import { ownSchemas } from './vocabulary.js';

/** JSON Schema of a plugin's default export. `callable: true` is a function, which JSON Schema has no word for. */
export const declarationSchema = {
  type: 'object',
  required: ['summary', 'input', 'handler'],
  additionalProperties: false,
  properties: {
    summary: { type: 'string', minLength: 1, pattern: '\\S' },
    description: { type: 'string' },
    runs: { type: 'string', enum: ['inline', 'pool'] },
    inline: { callable: true },
    timeoutMs: { type: 'integer', minimum: 1, maximum: 3_600_000 },
    cache: { type: 'boolean' },
    effects: { type: 'boolean' },
    idempotent: { type: 'boolean' },
    source: { type: 'string', enum: ['image'] },
    files: {
      type: 'object',
      additionalProperties: {
        type: 'object',
        required: ['kind'],
        additionalProperties: false,
        properties: {
          kind: { type: 'string', enum: ['image', 'bytes'] },
          parameter: { type: 'string' },
          insteadOf: { type: 'string' },
          notWith: { type: 'array', items: { type: 'string' } },
          options: { type: 'array', items: { type: 'string' } },
          types: {
            type: 'array',
            minItems: 1,
            items: { type: 'string', pattern: '^[\\w.+-]+/(?:[\\w.+-]+|\\*)$' },
          },
          required: { type: 'boolean' },
          maxBytes: { type: 'integer', minimum: 1 },
          description: { type: 'string' },
        },
      },
    },
    config: {
      type: 'object',
      additionalProperties: {
        type: 'object',
        required: ['env'],
        additionalProperties: false,
        properties: {
          env: { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_]*$' },
          secret: { type: 'boolean' },
          default: { type: 'string' },
          required: { type: 'boolean' },
          description: { type: 'string' },
        },
      },
    },
    setup: { callable: true },
    input: {
      type: 'object',
      required: ['type'],
      properties: {
        type: { const: 'object' },
        properties: { type: 'object', additionalProperties: { type: 'object' } },
      },
    },
    output: { type: 'object', required: ['type'], properties: { type: { const: 'object' } } },
    examples: {
      type: 'array',
      items: {
        type: 'object',
        required: ['input'],
        additionalProperties: false,
        properties: { summary: { type: 'string' }, input: { type: 'object' } },
      },
    },
    dryrun: { anyOf: [{ const: 'run' }, { callable: true }] },
    handler: { callable: true },
  },
} as const;

/** Compiled when it is first needed: the package's own declarations are checked by its tests. */
function compileOnce(): ValidateFunction {
  const ajv = new Ajv({ ...ownSchemas, strict: true, allErrors: true, ownProperties: true, verbose: true });
  ajv.addKeyword({
    keyword: 'callable',
    schemaType: 'boolean',
    validate: (_: true, value: unknown) => typeof value === 'function',
  });
  compiled = ajv.compile(declarationSchema);
  return compiled;
}
let compiled: ValidateFunction | undefined;

/** What is wrong with a plugin's default export, for its author; empty where it is a declaration. */
export function checkDeclaration(value: unknown): string[] {
  if (!isObject(value)) return [noDeclaration(value)];
  const validate = compiled ?? compileOnce();
  const problems = validate(value) ? [] : toProblems(validate.errors ?? []);
  return [
    ...problems.map(({ field, problem }) => reasonFor(value, field, problem)),
    ...threadReasons(value),
    ...effectReasons(value),
    ...configReasons(value),
    ...parameterReasons(value),
  ];
}

/** Where a handler may run: a picture is work for a worker, and a file has to arrive first. */
function threadReasons({ source, files, runs, inline, dryrun }: Record<string, unknown>): string[] {
  const reasons: string[] = [];
  const declared = Object.entries(asSchema(files));
  const image = declared.find(([, file]) => asSchema(file).kind === 'image');
  const picture = source === 'image' ? 'source is "image"' : image && `files.${image[0]} is an image`;
  const file = picture ?? (declared[0] && `there are files (${declared[0][0]})`);
  if (picture && runs === 'inline') reasons.push(`runs must be "pool" where ${picture}`);
  const what = picture ? 'picture' : 'file';
  if (file && inline !== undefined) {
    reasons.push(`inline cannot be used where ${file}: a ${what} is work for the pool`);
  }
  if (runs === 'inline' && inline !== undefined) {
    reasons.push('inline cannot be used where runs is "inline": every call is on the main thread then');
  }
  if (file && dryrun === 'run') {
    reasons.push(`dryrun must be a function where ${file}: a dry run brings no ${what}`);
  }
  return reasons;
}

/** What a helper with effects cannot promise, and what only such a helper has to say. */
function effectReasons({ effects, idempotent, cache, dryrun }: Record<string, unknown>): string[] {
  const reasons: string[] = [];
  if (effects !== true) {
    if (idempotent === undefined) return reasons;
    return ['idempotent is for a helper where effects is true: every other may be called again'];
  }
  if (cache === true) reasons.push('cache cannot be true where effects is true: each call is made');
  if (dryrun === 'run') {
    reasons.push('dryrun must be a function where effects is true: a dry run changes nothing');
  }
  return reasons;
}

/** The gateway's own variables are not for plugins: among them are its database and its operator's token. */
function configReasons({ config }: Record<string, unknown>): string[] {
  return Object.entries(asSchema(config)).flatMap(([name, value]) => {
    const { env, required, default: fallback } = asSchema(value);
    const reasons: string[] = [];
    if (typeof env === 'string' && /^HELPER_/i.test(env)) {
      const own = "must not begin with HELPER_, as the gateway's own variables do";
      reasons.push(`config.${name}.env ${own}; it is ${env}`);
    }
    if (required === true && fallback !== undefined) {
      reasons.push(
        `config.${name} is required and has a default, so it is never missing; keep one of the two`,
      );
    }
    return reasons;
  });
}

const functionForms: Readonly<Record<string, string>> = {
  handler: 'a function',
  inline: 'a function that says of an input whether its call is short',
  setup: 'a function',
  dryrun: '"run" or a function',
};

function reasonFor(value: Record<string, unknown>, field: string, problem: string): string {
  const known = Object.keys(declarationSchema.properties);
  if (Object.hasOwn(value, field) && !known.includes(field)) {
    return `${field} is not part of a declaration${didYouMean(field, known)}`;
  }
  if (field === 'summary') return 'summary must be a sentence that says what the helper does';
  const form = functionForms[field];
  if (form !== undefined) return `${field} must be ${form}, but is ${describeValue(value[field])}`;
  const [, part, ...below] = /^(files|config)\.([^.]+)$/.exec(field) ?? [];
  const given = asSchema(value[part ?? ''])[below[0] ?? ''];
  if (typeof given === 'string') {
    const key = part === 'files' ? 'kind' : 'env';
    return `${field} ${problem}; write { ${key}: ${quote(given)} }`;
  }
  return `${field} ${problem}`;
}

const parameterName = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
const neverNames = new Set(['__proto__', 'constructor', 'prototype']);
/** Keywords that admit parameters without a name, or make an asynchronous validator. */
const refusedKeywords = ['patternProperties', 'propertyNames', '$async', '$ref'];

/** What is wrong with the names of a declaration's parameters and files, for its author. */
function parameterReasons({ input, source, files }: Record<string, unknown>): string[] {
  const schema = asSchema(input);
  const reserved = reservedNames(source === 'image' ? [sourceField] : []);
  const names = new Set([...reserved, ...Object.keys(asSchema(schema.properties))]);
  const reasons = refusedKeywords
    .filter((keyword) => Object.hasOwn(schema, keyword))
    .map((keyword) => `input.${keyword} cannot be used: every parameter is listed in input.properties`);
  for (const name of Object.keys(asSchema(schema.properties))) {
    if (reserved.includes(name)) {
      reasons.push(`the parameter ${name} is the gateway's own; give it another name`);
    } else reasons.push(...nameReasons('parameter', name));
  }
  return [...reasons, ...fileReasons(schema, asSchema(files), names)];
}

/** A file adds up to two names to the fields and parameters: its own, and that of its url. */
function fileReasons(input: JsonSchema, files: JsonSchema, parameters: ReadonlySet<string>): string[] {
  const owners = new Map([...parameters].map((name) => [name, 'a parameter']));
  const properties = Object.keys(asSchema(input.properties));
  const replacements = new Map<string, string>();
  const reasons: string[] = [];
  const claim = (what: string, name: string, owner: string) => {
    const other = owners.get(name);
    if (other) reasons.push(`${what} has the name of ${other}; give it another name`);
    owners.set(name, owner);
  };
  for (const name of Object.keys(files)) {
    reasons.push(...nameReasons('file', name));
    claim(`the file ${name}`, name, `the file ${name}`);
  }
  for (const [name, value] of Object.entries(files)) {
    const { parameter, insteadOf, required } = asSchema(value);
    if (typeof parameter === 'string' && parameter !== name) {
      reasons.push(...nameReasons(`parameter of files.${name},`, parameter));
      claim(`the parameter ${parameter} of files.${name}`, parameter, `the parameter of files.${name}`);
    }
    for (const list of ['notWith', 'options']) {
      for (const each of [asSchema(value)[list]].flat()) {
        if (typeof each !== 'string' || properties.includes(each)) continue;
        reasons.push(`files.${name}.${list} has ${noParameter(each, properties)}`);
      }
    }
    if (typeof insteadOf !== 'string') continue;
    const other = replacements.get(insteadOf);
    const problem = other
      ? `names ${insteadOf}, as files.${other} does: one file may stand in the place of a parameter`
      : insteadProblem(insteadOf, required === true, input);
    if (problem) reasons.push(`files.${name}.insteadOf ${problem}`);
    replacements.set(insteadOf, name);
  }
  return reasons;
}

/** Exactly one of a parameter and the file that replaces it is required: neither can be always there. */
function insteadProblem(name: string, fileRequired: boolean, input: JsonSchema): string | undefined {
  const properties = asSchema(input.properties);
  if (!Object.hasOwn(properties, name)) return `is ${noParameter(name, Object.keys(properties))}`;
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

/** Whether a parameter may have this name, if the gateway itself does not use it. */
export function isParameterName(name: string): boolean {
  return parameterName.test(name) && !neverNames.has(name);
}

/** What such a name is, to follow "another name" or the like. */
export const parameterNameForm = 'a letter or _ and at most 63 letters, digits, _ and -';

function nameReasons(what: string, name: string): string[] {
  if (isParameterName(name)) return [];
  return [`the ${what} ${quote(name)} needs another name: ${parameterNameForm}`];
}
