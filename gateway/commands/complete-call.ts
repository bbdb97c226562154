import { hookPlugins } from '../../pool/plugin-hooks.js';
import { checkDeclaration } from '../../schemas/declaration.js';
import { type DeclaredHelper, describeDeclaration } from '../../schemas/declared-helper.js';
import { asSchema, followReference, isObject, type JsonSchema } from '../../schemas/json-schema.js';
import { askKeywords } from '../../schemas/keywords/keywords.js';
import { compileParameters } from '../../schemas/parameters/parameters.js';
import { createVocabulary } from '../../schemas/vocabulary.js';
import { discoverPlugins, type FoundPlugin } from '../plugins/discover.js';
import { importDeclaration } from '../plugins/import-plugin.js';
import { builtinPlugins, helperUrl, pipelineId } from '../plugins/paths.js';
import type { Helper } from '../plugins/registry.js';
import {
  beginningWith,
  type Candidate,
  type Completion,
  files,
  folders,
  nothing,
  prefixed,
} from './completion.js';

/** What of the helpers is looked up while a person waits. */
export interface HelperFinder {
  /** The helpers whose id begins so, each with its summary. */
  list(typed: string): Promise<Candidate[]>;
  find(id: string): Promise<Pick<Helper, 'declaration' | 'parameters'> | undefined>;
}

type Found = NonNullable<Awaited<ReturnType<HelperFinder['find']>>>;

/** The command's own options. */
const ownOptions = new Map<string, Candidate & { argument?: Completion }>(
  [
    { value: '--out', description: 'write the result to a file', argument: files },
    { value: '--out-dir', description: 'write the results into a folder', argument: folders },
    { value: '--json', description: 'print the whole envelope' },
    { value: '--set', description: 'give a parameter any value: NAME=VALUE', argument: nothing },
    { value: '--help', description: 'show the parameters' },
  ].map((option) => [option.value, option]),
);

/** Completes the words behind `call`: the helper, then its parameters and their values, and files. */
export async function completeCall(
  before: readonly string[],
  typed: string,
  helpers: HelperFinder,
): Promise<Completion> {
  const [service, ...rest] = before;
  if (service === undefined) return beginningWith(typed, await helpers.list(typed));
  const helper = await helpers.find(service);
  return helper ? completeWord(helper, rest, typed) : nothing;
}

function completeWord(helper: Found, before: readonly string[], typed: string): Completion {
  if (before.includes('--')) return files;
  const [flag, value] = /^(--[^=]+)=(.*)$/s.exec(typed)?.slice(1) ?? [];
  if (flag !== undefined) return prefixed(`${flag}=`, completeOption(helper, flag, value ?? ''));
  const last = before.at(-1) ?? '';
  if (last.startsWith('--') && !last.includes('=')) {
    const isSwitch = isBoolean(helper, last) || ['--json', '--help'].includes(last);
    if (!isSwitch) return completeOption(helper, last, typed);
    const values = beginningWith(typed, [{ value: 'true' }, { value: 'false' }]);
    if (isBoolean(helper, last) && typed !== '' && values.candidates.length > 0) return values;
  }
  const { files: fields } = helper.declaration;
  const mayBeFile = fields.length > 0 && !typed.startsWith('-');
  return mayBeFile ? files : beginningWith(typed, optionsOf(helper, before));
}

/** Values of an option: files for a file field, otherwise by its schema. */
function completeOption({ declaration, parameters }: Found, flag: string, typed: string): Completion {
  const name = flag.slice(2);
  if (declaration.files.some(({ field }) => field === name)) return files;
  const property = parameters.properties.find((each) => each.name === name);
  if (!property) return ownOptions.get(flag)?.argument ?? nothing;
  return completeValue(property.schema, declaration.input, typed);
}

/** The options that are not there yet. */
function optionsOf({ declaration, parameters }: Found, before: readonly string[]): Candidate[] {
  const given = new Set(before.map((word) => word.replace(/=.*$/s, '')));
  const fields = declaration.files.map(({ field, kind, description }) => ({
    value: `--${field}`,
    description: description ?? (kind === 'image' ? 'a picture' : 'a file'),
  }));
  const isField = (name: string) => declaration.files.some(({ field }) => field === name);
  const others = parameters.properties.filter(({ name }) => !isField(name));
  const named = others.map(({ name, schema, allowed }) => ({
    value: `--${name}`,
    description: typeof schema.description === 'string' ? schema.description : allowed,
  }));
  const all = new Map([...fields, ...named, ...ownOptions.values()].map((option) => [option.value, option]));
  return [...all.values()].filter(({ value }) => !given.has(value) || value === '--set');
}

function isBoolean({ parameters }: Found, flag: string): boolean {
  const property = parameters.properties.find(({ name }) => `--${name}` === flag);
  return property?.schema.type === 'boolean';
}

const deepest = 5;

/** Completes a parameter's value by its schema: what it lists, true and false, colours, its default. Of a list the last item. */
function completeValue(schema: JsonSchema, root: JsonSchema, typed: string): Completion {
  const declared = followReference(schema, root);
  const items = isObject(declared.items) ? declared.items : undefined;
  if (items && !typed.startsWith('[')) {
    const before = typed.slice(0, typed.lastIndexOf(',') + 1);
    return prefixed(before, beginningWith(typed.slice(before.length), listedValues(items, root)));
  }
  const values = listedValues(declared, root);
  const preset = declared.default;
  const isNew = !values.some(({ value }) => value === String(preset));
  const isPlain = typeof preset === 'string' || typeof preset === 'number';
  const own = isPlain && isNew && preset !== '' ? [{ value: String(preset), description: 'default' }] : [];
  return beginningWith(typed, [...values, ...own]);
}

function listedValues(described: JsonSchema, root: JsonSchema, depth = 0): Candidate[] {
  const schema = followReference(described, root);
  if (depth > deepest) return [];
  if ('const' in schema) return [{ value: asWord(schema.const) }];
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => ({ value: asWord(value) }));
  const suggested = askKeywords(schema, (keyword, setting) => keyword.suggestions?.(setting));
  if (suggested) return suggested.map((value) => ({ value }));
  const branches = [schema.oneOf, schema.anyOf].flatMap((each) => (Array.isArray(each) ? each : []));
  const found = branches.flatMap((each) => listedValues(asSchema(each), root, depth + 1));
  const isBoolean = [schema.type].flat().includes('boolean');
  return isBoolean ? [{ value: 'true' }, { value: 'false' }, ...found] : found;
}

function asWord(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Milliseconds for loading a plugin while a person waits. */
const timeoutMs = 2_000;

/** Looks helpers up in these folders. One that cannot be loaded is passed over: to say so is not for completion. */
export function findHelpers(outside: readonly string[]): HelperFinder {
  const folders = [builtinPlugins, ...outside];
  const url = helperUrl(folders);
  if (url) hookPlugins(url);

  const discover = async () =>
    (await Promise.all(folders.map(discoverPlugins))).flatMap((each) => each.plugins);

  async function declarationOf(found: FoundPlugin): Promise<DeclaredHelper | undefined> {
    try {
      const { declaration } = await importDeclaration(found, { timeoutMs, onLate: () => undefined });
      return checkDeclaration(declaration).length > 0 ? undefined : describeDeclaration(declaration);
    } catch {
      return undefined;
    }
  }

  return {
    async list(typed) {
      const found = (await discover()).filter(({ id }) => id.startsWith(typed));
      const listed = found.map(async (each) => ({
        value: each.id,
        description: (await declarationOf(each))?.summary,
      }));
      return Promise.all([
        ...listed,
        { value: pipelineId, description: 'runs several helpers, one after the other' },
      ]);
    },
    async find(id) {
      const found = (await discover()).find((each) => each.id === id);
      const declaration = found && (await declarationOf(found));
      return declaration && { declaration, parameters: compileParameters(createVocabulary(), declaration) };
    },
  };
}
