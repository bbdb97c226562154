import { boundProblems, type FieldProblem, fieldName } from '../field-problem.js';
import type { ParameterChecker } from '../parameters/parameters.js';
import { looksLikeJson, readJsonObject, readUtf8 } from './json.js';
import { parseUrlencoded, type QueryText } from './urlencoded.js';

/** The text of a body as it came: nothing of it has been decoded or judged. */
export type BodyText = { kind: 'json' | 'form'; bytes: Uint8Array } | FieldsText;

/** The text fields of an upload. */
interface FieldsText {
  kind: 'fields';
  fields: ReadonlyMap<string, Uint8Array>;
  problems: readonly FieldProblem[];
  /** Whether a file came under another name than the file field's; that is among the problems. */
  hasLostFile?: boolean;
}

/** What a call brought, all in plain data that can be sent to another thread. */
export interface RawInput {
  query: QueryText;
  body?: BodyText | undefined;
  /** Multipart fields that brought a file. */
  uploaded?: readonly string[] | undefined;
}

export interface ValidatedInput {
  /** In normal form, with defaults; to be used only where there is no problem. */
  input: Record<string, unknown>;
  dryrun: boolean;
  /** Every problem at once, at most 51. */
  problems: FieldProblem[];
}

/**
 * Makes one input object of query and body, the body winning, and judges it by the helper's parameters. Text is read as the
 * type that the schema wants; JSON stays as it is. Pure: it runs on the main thread for what is light, in a worker for what is
 * not. `runsDry` says that a dry run does the work all the same, and so needs what it always needs.
 */
export function validateRawInput(
  parameters: Pick<ParameterChecker, 'coerce' | 'check' | 'files'>,
  { query, body, uploaded = [] }: RawInput,
  { runsDry }: { runsDry: boolean },
): ValidatedInput {
  const read = readBody(body);
  if ('refused' in read) return { input: {}, dryrun: false, problems: read.refused };
  const { files } = parameters;
  const isFile = (name: string) => files.some(({ field }) => field === name);
  // What nobody touched is sent empty by many forms, be it the file's field or the one of its url.
  const isUntouched = (name: string, value: string) =>
    value === '' && files.some(({ field, parameter }) => field === name || parameter === name);
  const raw = new Map<string, unknown>();
  for (const text of [query, read.text]) {
    for (const [name, value] of text?.values ?? []) {
      if (!isUntouched(name, value)) raw.set(name, parameters.coerce(name, value));
    }
  }
  for (const [name, value] of Object.entries(read.json ?? {})) raw.set(name, value);

  const dryrun = raw.get('dryrun') === true;
  const unread = [...query.problems, ...(read.text?.problems ?? [])];
  const named = new Set(unread.map(({ field }) => field));
  const { input, problems } = parameters.check(Object.fromEntries(raw), {
    dryrun: dryrun && !runsDry,
    // One that came twice, or as what it may not be, has its problem; that there is none would be another, and so would be that a
    // url which came twice is there besides itself.
    uploaded: [
      ...uploaded,
      ...unread.map(({ field }) => field).filter((name) => isFile(name) && !raw.has(name)),
    ],
    hasLostFile: body?.kind === 'fields' && body.hasLostFile === true,
  });
  // What was sent and could not be read is not missing too.
  const all = [...unread, ...problems.filter(({ field }) => raw.has(field) || !named.has(field))];
  return { input, dryrun, problems: boundProblems(all) };
}

type ReadBody = { refused: FieldProblem[] } | { text?: QueryText; json?: Record<string, unknown> };

function readBody(body: BodyText | undefined): ReadBody {
  if (!body) return {};
  if (body.kind === 'fields') return { text: readFields(body.fields, body.problems) };
  const text = readUtf8(body.bytes);
  if ('problems' in text) return { refused: text.problems };
  if (text.value.trim() === '') return {};
  if (body.kind === 'form') {
    if (looksLikeJson(text.value) || meantAsJson.test(text.value)) return { refused: [sentAsForm] };
    return { text: parseUrlencoded(text.value, 'body') };
  }
  const json = readJsonObject(text.value);
  return 'problems' in json ? { refused: json.problems } : { json: json.value };
}

/** Encoded, or with what a shell has made of the quotes, `{a:1}` or `'{a:1}'`: no form where no name has a value. */
const meantAsJson = /^(?:%7B%22|\s{0,100}'?[{[][^=]*$)/i;

/** What curl's `-d` makes of JSON where nobody says that it is JSON. */
const sentAsForm: FieldProblem = {
  field: 'body',
  problem:
    "looks like JSON, but was sent as a form: send it with Content-Type: application/json (curl: -H 'content-type: application/json')",
};

function readFields(fields: ReadonlyMap<string, Uint8Array>, problems: readonly FieldProblem[]): QueryText {
  const read: QueryText = { values: new Map(), problems: [...problems] };
  for (const [name, bytes] of fields) {
    const text = readUtf8(bytes, fieldName(name));
    if ('problems' in text) read.problems.push(...text.problems);
    else read.values.set(name, text.value);
  }
  return read;
}

/** Bytes of text that are decoded, parsed and judged in some milliseconds at the most. */
export const lightBytes = 64 * 1024;

/** Elements of lists likewise: to say what is wrong with one takes longer than to read it, 10 to 25 µs. */
const lightElements = 500;

const comma = 0x2c;

/** Whether an input may be judged where others wait: it is small, and holds few elements as far as its commas tell. */
export function isLight({ query, body }: Pick<RawInput, 'query' | 'body'>): boolean {
  const pieces = body === undefined ? [] : body.kind === 'fields' ? [...body.fields.values()] : [body.bytes];
  if (pieces.reduce((sum, { length }) => sum + length, 0) > lightBytes) return false;
  let commas = 0;
  for (const bytes of pieces) for (const byte of bytes) if (byte === comma) commas += 1;
  for (const value of query.values.values()) commas += value.split(',', lightElements + 2).length - 1;
  return commas <= lightElements;
}
