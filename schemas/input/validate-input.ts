import { boundProblems, type FieldProblem, fieldName } from '../field-problem.js';
import type { ParameterChecker } from '../parameters/parameters.js';
import { looksLikeJson, parseUrlencoded, type QueryText, readJsonObject, readUtf8 } from './parse.js';

/** The text of a body as it was sent: neither decoded nor validated. */
export type BodyText = { kind: 'json' | 'form'; bytes: Uint8Array } | FieldsText;

/** The text fields of an upload. */
interface FieldsText {
  kind: 'fields';
  fields: ReadonlyMap<string, Uint8Array>;
  problems: readonly FieldProblem[];
  /** Whether a file was sent under another name than the file field's, which is among the problems. */
  hasLostFile?: boolean;
}

/** What a call sent, as plain data that can be posted to another thread. */
export interface RawInput {
  query: QueryText;
  body?: BodyText | undefined;
  /** Multipart fields with a file. */
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
 * Makes one input object of query and body, the body winning, and validates it by the helper's parameters. Text is read as the
 * type that the schema wants; JSON stays as it is. Pure: light input is validated on the main thread, other input in a worker.
 * `runsDry`: a dry run does the real work, and so requires what a call requires.
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
  // Many forms send an untouched field empty, be it the file's or that of its url.
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
    // A file that was sent twice, or as text, has its problem: that it is missing must not be another.
    uploaded: [...uploaded, ...[...named].filter((name) => isFile(name) && !raw.has(name))],
    hasLostFile: body?.kind === 'fields' && body.hasLostFile === true,
  });
  // What was sent unreadable is not missing too.
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

/** Encoded, or with quotes as a shell left them, `{a:1}` or `'{a:1}'`: no form, because no name has a value. */
const meantAsJson = /^(?:%7B%22|\s{0,100}'?[{[][^=]*$)/i;

/** What curl's `-d` sends without a content type. */
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

/** Bytes of text that are decoded, parsed and validated in a few milliseconds at most. */
export const lightBytes = 64 * 1024;

/** Elements of lists likewise: to report a problem of one costs 10 to 25 µs. */
const lightElements = 500;

const comma = 0x2c;

/** Whether an input may be validated on the main thread: it is small, and its commas allow few elements. */
export function isLight({ query, body }: Pick<RawInput, 'query' | 'body'>): boolean {
  const texts = body === undefined ? [] : body.kind === 'fields' ? [...body.fields.values()] : [body.bytes];
  if (texts.reduce((sum, { length }) => sum + length, 0) > lightBytes) return false;
  let commas = 0;
  for (const bytes of texts) for (const byte of bytes) if (byte === comma) commas += 1;
  for (const value of query.values.values()) commas += value.split(',', lightElements + 2).length - 1;
  return commas <= lightElements;
}
