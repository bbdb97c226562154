import type { CallToolResult } from '@modelcontextprotocol/server';
import { type Answer, type BodyAnswer, jsonText } from '../../pool/answer.js';
import type { CallPrice } from '../../pool/costs.js';
import type { JsonSchema } from '../../schemas/json-schema.js';
import { type GatewayError, sentenceOf } from '../errors.js';
import { essenceOf } from '../http/body.js';
import type { PreviewRequest } from '../pipeline/run-helper.js';
import type { Helper } from '../plugins/registry.js';

type Content = CallToolResult['content'][number];

/** Where the whole of an answer is, and how it is had there. */
export interface FullResult {
  uri?: string;
  /** One or more sentences. */
  words: string;
}

interface ToolAnswer {
  answer: Answer;
  /** Of a picture that cannot be shown whole. */
  preview: BodyAnswer | undefined;
  /** Whose answer it is. */
  helper: Pick<Helper, 'id' | 'declaration'>;
  /** Where the whole is; asked of files alone. */
  whole: (answer: BodyAnswer, name: string) => Promise<FullResult> | FullResult;
  /** Whether each file is saved there, so that every one is linked. */
  saved?: boolean;
  /** Of a dry run, for the client: a model is shown no more than the answer. */
  cost: CallPrice | undefined;
}

/**
 * A call's answer as its tool's result: data structured and as text, text as text, a picture as one that a model can look at,
 * and other files as far as they are small. What is too large for that is linked; its bytes stand in a result once, or not at all.
 */
export async function toolResult(found: ToolAnswer): Promise<CallToolResult> {
  const result = await resultOf(found);
  return found.cost ? { ...result, _meta: { cost: found.cost } } : result;
}

async function resultOf(found: ToolAnswer): Promise<CallToolResult> {
  const { answer } = found;
  if (answer.kind === 'json') {
    const text = jsonText(answer);
    return { content: [{ type: 'text', text }], structuredContent: JSON.parse(text) };
  }
  const content = await fileContent(found, answer);
  if (found.helper.declaration.output === undefined) return { content };
  // Clients refuse a result without structured content where its schema is declared.
  const file = { type: answer.type, bytes: answer.bytes.byteLength };
  return { content, structuredContent: { file } };
}

async function fileContent(
  { helper, preview, saved, whole }: ToolAnswer,
  answer: BodyAnswer,
): Promise<Content[]> {
  if (isText(answer.type)) return [{ type: 'text', text: readText(answer) }];
  const mimeType = essenceOf(answer.type);
  const size = answer.bytes.byteLength;
  const name = nameOf(helper, mimeType);

  /** Where the whole is, in words for the model and as a link for its client. */
  async function describeWhole(shown = ''): Promise<Content[]> {
    const { uri, words } = await whole(answer, name);
    const amount = size < 1_000_000 ? `${Math.ceil(size / 1000)} kB` : `${(size / 1e6).toFixed(1)} MB`;
    const facts = `The result is a file of ${amount} (${mimeType}).`;
    const text: Content = { type: 'text', text: `${facts} ${shown}${words}` };
    if (uri === undefined) return [text];
    return [text, { type: 'resource_link', uri, name, mimeType, size, description: 'The whole result.' }];
  }

  if (isPicture(answer)) {
    if (isShownWhole(answer)) return [image(answer), ...(saved ? await describeWhole() : [])];
    if (preview) return [image(preview), ...(await describeWhole('This is a preview of it. '))];
    const why = isOfShownType(answer) ? 'too large' : 'of a type not';
    return describeWhole(`It is ${why} to be shown here. `);
  }
  if (saved || size > mostFileBytes) return describeWhole();
  const { uri = `result:${name}` } = await whole(answer, name);
  return [{ type: 'resource', resource: { uri, mimeType, blob: base64(answer) } }];
}

function image(answer: BodyAnswer): Content {
  return { type: 'image', data: base64(answer), mimeType: essenceOf(answer.type) };
}

function base64({ bytes: { buffer, byteOffset, byteLength } }: BodyAnswer): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64');
}

/** Documents of text, whatever they are called. */
function isText(type: string): boolean {
  return /^(?:text\/|application\/(?:[\w.-]+\+)?(?:json|xml)\s*(?:;|$)|image\/svg\+xml)/i.test(type);
}

function readText({ bytes, type }: BodyAnswer): string {
  const [, charset = 'utf-8'] = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(type) ?? [];
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

const extensions: Record<string, string> = {
  'image/jpeg': 'jpg',
  'application/pdf': 'pdf',
  'application/zip': 'zip',
  'audio/mpeg': 'mp3',
};

/** `add-border.png`. */
function nameOf({ id }: ToolAnswer['helper'], mimeType: string): string {
  const subtype = mimeType.split('/')[1] ?? '';
  const end = extensions[mimeType] ?? (/^[a-z0-9]{1,8}$/.test(subtype) ? subtype : 'bin');
  return `${id.slice(id.lastIndexOf('/') + 1)}.${end}`;
}

/** Bytes of an error's text as JSON. */
const mostErrorBytes = 3600;

/**
 * A call's error as its tool's result, so that the model reads it and can mend its call: in the words of the envelope, each
 * problem on a line of its own where there are several.
 */
export function errorResult(
  { code, message, details = [], retryAfter, isFault }: GatewayError,
  requestId: string,
): CallToolResult {
  const lines = [
    `${code}: ${message}`,
    ...details.map(sentenceOf).filter((line) => line !== message),
    ...(retryAfter === undefined ? [] : [`Try again in ${retryAfter} s.`]),
    // The log has the details under this id.
    ...(isFault ? [`Request ${requestId}.`] : []),
  ];
  return { isError: true, content: [{ type: 'text', text: joinLines(lines) }] };
}

/** As many of the lines as make an answer of at most 4 KB, as every error's; a model needs no more to mend its call. */
function joinLines(lines: readonly string[]): string {
  const shown: string[] = [];
  let bytes = 0;
  for (const line of lines) {
    bytes += Buffer.byteLength(JSON.stringify(line));
    if (bytes > mostErrorBytes) break;
    shown.push(line);
  }
  const rest = lines.length - shown.length;
  if (rest === 0) return lines.join('\n');
  if (shown.length === 0) return `${(lines[0] ?? '').slice(0, mostErrorBytes / 6)}…`;
  return `${shown.join('\n')}\n… and ${rest} more.`;
}

/** The schema of what stands for a file in the structured content of a tool that declares its data, and answers bytes all the same. */
export const fileFactsSchema: JsonSchema = {
  type: 'object',
  description: 'What stands for a file, which the content holds or links.',
  properties: {
    file: {
      type: 'object',
      properties: { type: { type: 'string' }, bytes: { type: 'integer' } },
      required: ['type', 'bytes'],
    },
  },
  required: ['file'],
  additionalProperties: false,
};

/** Bytes of a picture that is sent whole: clients end a result of more than 1 MiB, and base64 makes four of three. */
const mostPictureBytes = 750_000;

/** Bytes of any other file that is sent whole. */
const mostFileBytes = 256 * 1024;

function isPicture({ type }: BodyAnswer): boolean {
  return /^image\/(?!svg)/i.test(type);
}

/** Whether it has a type that models accept. */
function isOfShownType({ type }: BodyAnswer): boolean {
  return /^image\/(?:png|jpeg|webp|gif)\s*(?:;|$)/i.test(type);
}

function isShownWhole(answer: BodyAnswer): boolean {
  return isOfShownType(answer) && answer.bytes.byteLength <= mostPictureBytes;
}

/** A larger picture is shown by a preview, which is enough for a model and does not fill its context. */
export function previewRules(): PreviewRequest {
  return {
    needsPreview: (answer) => isPicture(answer) && !isShownWhole(answer),
    maxBytes: 256 * 1024,
  };
}
