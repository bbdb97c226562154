import type { FileField } from '../../../schemas/declared-helper.js';
import { describeFile } from '../../../schemas/parameters/gateway-parameters.js';
import { type ParameterProperty, uploadsOf } from '../../../schemas/parameters.js';
import type { Helper } from '../../helpers/registry.js';
import { callLine } from './call-line.js';

/** What `call SERVICE --help` prints: all that the helper's declaration says, as the command line takes it. */
export function helpOf({ id, declaration, parameters }: Helper): string {
  const { summary, description, files, examples } = declaration;
  const many = files.length > 0 ? ' [FILES…]' : '';
  const fileRows = files.map(fileRowOf);
  const own = new Set(files.filter(({ field, parameter }) => field === parameter).map(({ field }) => field));
  const rows = parameters.properties.filter(({ name }) => !own.has(name)).map(rowOf);
  return [
    `Usage: helper-gateway call ${id} [--parameter value …]${many}`,
    summary,
    ...(description === undefined ? [] : [description]),
    section('Parameters', [...fileRows, ...rows]),
    section('Options', [
      ['--out FILE', 'write the result to a file; "-" is standard output'],
      ['--out-dir DIR', 'write the result of each file into a folder, named like the file'],
      ['--json', 'print the whole envelope, errors too; of many files a line each'],
      ['--set NAME=VALUE', 'give a parameter any value, also "-" or one that has the name of an option'],
    ]),
    ...(examples.length === 0
      ? []
      : [`Examples\n${examples.map((each) => `  ${exampleLine(id, each.input, files)}`).join('\n')}`]),
  ].join('\n\n');
}

/** An example with the files that it cannot do without, which it tells nothing of. */
function exampleLine(id: string, input: Record<string, unknown>, files: readonly FileField[]): string {
  const uploads = input.dryrun === true ? [] : uploadsOf(files, input);
  return [callLine(id, input), ...uploads.map((field) => `--${field} FILE`)].join(' ');
}

function fileRowOf(file: FileField): [string, string] {
  const { field, kind, required, types } = file;
  const form = `${kind === 'image' ? 'a picture' : 'a file'}${types ? ` (${types.join(', ')})` : ''}`;
  const source = `${form}, or "-" for standard input`;
  const parts = [source, required ? 'required' : '', describeFile(file) ?? ''];
  return [`--${field} FILE`, parts.filter(Boolean).join('; ')];
}

function rowOf({ name, schema, required, allowed }: ParameterProperty): [string, string] {
  const flag = schema.type === 'boolean' ? `--${name}` : `--${name} VALUE`;
  const preset = schema.default === undefined ? '' : `default ${JSON.stringify(schema.default)}`;
  const what = typeof schema.description === 'string' ? schema.description : '';
  return [flag, [allowed, required ? 'required' : preset, what].filter(Boolean).join('; ')];
}

function section(title: string, rows: readonly [string, string][]): string {
  const width = Math.max(...rows.map(([flag]) => flag.length));
  return [title, ...rows.map(([flag, what]) => `  ${flag.padEnd(width)}  ${what}`)].join('\n');
}
