import { asSchema, isObject, type JsonSchema } from './json-schema.js';
import { describeValue } from './quote.js';

/** The parameters of a signed url: the key's id, its expiry and the signature. */
export const signatureParameters = ['kid', 'exp', 'sig'] as const;

/** How an author writes a declaration, for messages. */
export const writtenForm = 'export default { summary, input, handler }';

/** What is wrong with a default export that is no object. */
export function noDeclaration(exported: unknown): string {
  return `the default export must be a helper declaration, but is ${describeValue(exported)}; write "${writtenForm}"`;
}

/** A file that a helper accepts: uploaded in a multipart field, or named by its url in a parameter. */
export interface FileField {
  /** The multipart field, and the name under which the handler finds it in `context.files`. */
  field: string;
  /** The parameter for its url. */
  parameter: string;
  /** `image`: the gateway checks its header and decodes it; `bytes`: it is passed on unchanged. */
  kind: 'image' | 'bytes';
  required: boolean;
  /** The helper's own parameter that it may replace: one of the two is required. */
  insteadOf?: string;
  /** Parameters that mean nothing beside the file. */
  notWith?: readonly string[];
  /** Parameters that mean nothing without it. */
  options?: readonly string[];
  /** Accepted media types; any where absent. */
  types?: readonly string[];
  /** Bytes at most, where that is less than the gateway accepts. */
  maxBytes?: number;
  description?: string;
}

/** A value that a helper reads from the environment. */
export interface ConfigField {
  name: string;
  /** The variable. */
  env: string;
  /** Never shown. */
  secret: boolean;
  required: boolean;
  default?: string;
  description?: string;
}

export interface HelperExample {
  summary?: string;
  input: Record<string, unknown>;
}

/** A plugin's declaration as plain data, which every thread can have: answers, pages and tools are made from it. */
export interface DeclaredHelper {
  /** One sentence. */
  summary: string;
  description?: string;
  input: JsonSchema;
  /** Schema of an answer's `data`. */
  output?: JsonSchema;
  examples: readonly HelperExample[];
  files: readonly FileField[];
  config: readonly ConfigField[];
  runs: 'inline' | 'pool';
  /** Milliseconds of its own deadline. */
  timeoutMs?: number;
  /** Whether the picture that it makes of an input may be used again for the same input. */
  cache: boolean;
  /** Whether a call changes something elsewhere. */
  effects: boolean;
  /** Whether the same call may be made again without changing more. */
  repeatable: boolean;
  /** What a dry run answers: the name of the operation, what a real run does, or what the plugin's own function says. */
  dryrun: 'operation' | 'run' | 'own';
  /** Whether it has a `setup` to run before the first call. */
  setup: boolean;
}

/** The picture of a helper with `source: 'image'`, which is `context.image`. */
export const sourceField: FileField = { field: 'file', parameter: 'url', kind: 'image', required: true };

/** The data of a plugin's default export that is a declaration, as `checkDeclaration` says. */
export function describeDeclaration(value: unknown): DeclaredHelper {
  const given = asSchema(value);
  const { description, output, examples, timeoutMs, dryrun } = given;
  const hasEffects = given.effects === true;
  const files = Object.entries(asSchema(given.files)).map(fileOf);
  return {
    summary: String(given.summary),
    ...(typeof description === 'string' ? { description } : {}),
    input: asSchema(given.input),
    ...(isObject(output) ? { output } : {}),
    examples: Array.isArray(examples) ? examples : [],
    files: given.source === 'image' ? [sourceField, ...files] : files,
    config: Object.entries(asSchema(given.config)).map(configOf),
    runs: given.runs === 'inline' ? 'inline' : 'pool',
    ...(typeof timeoutMs === 'number' ? { timeoutMs } : {}),
    cache: given.cache !== false && !hasEffects,
    effects: hasEffects,
    repeatable: !hasEffects || given.idempotent === true,
    dryrun: dryrun === undefined ? 'operation' : dryrun === 'run' ? 'run' : 'own',
    setup: given.setup !== undefined,
  };
}

function fileOf([name, value]: [string, unknown]): FileField {
  const { kind, required, parameter = name, ...others } = asSchema(value) as Partial<FileField>;
  return { ...others, field: name, parameter, kind: kind ?? 'image', required: required === true };
}

function configOf([name, value]: [string, unknown]): ConfigField {
  const { env, secret, required, ...others } = asSchema(value) as Partial<ConfigField>;
  return { ...others, name, env: env ?? name, secret: secret === true, required: required === true };
}
