import type { Helper } from '../../helpers/registry.js';
import {
  beginningWith,
  type Candidate,
  type Completion,
  files,
  folders,
  nothing,
  prefixed,
} from './candidates.js';
import { completeValue } from './complete-value.js';

/** What of the helpers is looked up while a person waits. */
export interface HelperFinder {
  /** The helpers whose id begins so, each with its summary. */
  list(typed: string): Promise<Candidate[]>;
  find(id: string): Promise<Pick<Helper, 'declaration' | 'parameters'> | undefined>;
}

type Found = NonNullable<Awaited<ReturnType<HelperFinder['find']>>>;

/** The command's own options. */
const own = new Map<string, Candidate & { takes?: Completion }>(
  [
    { value: '--out', description: 'write the result to a file', takes: files },
    { value: '--out-dir', description: 'write the results into a folder', takes: folders },
    { value: '--json', description: 'print the whole envelope' },
    { value: '--set', description: 'give a parameter any value: NAME=VALUE', takes: nothing },
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
    const said = beginningWith(typed, [{ value: 'true' }, { value: 'false' }]);
    if (isBoolean(helper, last) && typed !== '' && said.candidates.length > 0) return said;
  }
  const { files: fields } = helper.declaration;
  const takesFile = fields.length > 0 && !typed.startsWith('-');
  return takesFile ? files : beginningWith(typed, optionsOf(helper, before));
}

/** What an option takes: a file, where its name is a file field's, or what the schema says. */
function completeOption({ declaration, parameters }: Found, flag: string, typed: string): Completion {
  const name = flag.slice(2);
  if (declaration.files.some(({ field }) => field === name)) return files;
  const property = parameters.properties.find((each) => each.name === name);
  if (!property) return own.get(flag)?.takes ?? nothing;
  return completeValue(property.schema, declaration.input, typed);
}

/** The options that are not there yet. */
function optionsOf({ declaration, parameters }: Found, before: readonly string[]): Candidate[] {
  const given = new Set(
    before.filter((word) => word.startsWith('--')).map((word) => word.replace(/=.*$/s, '')),
  );
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
  const all = new Map([...fields, ...named, ...own.values()].map((option) => [option.value, option]));
  return [...all.values()]
    .filter(({ value }) => !given.has(value) || value === '--set')
    .map(({ value, description }) => ({ value, description }));
}

function isBoolean({ parameters }: Found, flag: string): boolean {
  const property = parameters.properties.find(({ name }) => `--${name}` === flag);
  return property?.schema.type === 'boolean';
}
