import type { CallToolResult } from '@modelcontextprotocol/server';
import { type Answer, jsonText } from '../../pool/answer.js';
import type { BodyAnswer } from '../../pool/body-answer.js';
import type { Helper } from '../helpers/registry.js';
import { fileFacts } from './schema/file-facts.js';
import { isOfShownType, isPicture, isShownWhole, mostFileBytes } from './sizes.js';

type Content = CallToolResult['content'][number];

/** Where the whole of an answer is, and how it is had there. */
export interface Whole {
  uri?: string;
  /** One or more sentences. */
  words: string;
}

export interface Found {
  answer: Answer;
  /** Of a picture that cannot be shown whole. */
  preview: BodyAnswer | undefined;
  /** Whose answer it is. */
  helper: Pick<Helper, 'id' | 'declaration'>;
  /** Where the whole is; asked of files alone. */
  whole: (answer: BodyAnswer, name: string) => Promise<Whole> | Whole;
  /** Whether each file is kept there, so that every one is linked. */
  kept?: boolean;
}

/**
 * A call's answer as its tool's result: data structured and as text, text as text, a picture as one that a model can look at,
 * and other files as far as they are small. What is too large for that is linked; its bytes stand in a result once, or not at all.
 */
export async function toolResult(found: Found): Promise<CallToolResult> {
  const { answer } = found;
  if (answer.kind === 'json') {
    const text = jsonText(answer);
    return { content: [{ type: 'text', text }], structuredContent: JSON.parse(text) };
  }
  const content = await fileContent(found, answer);
  if (found.helper.declaration.output === undefined) return { content };
  // Clients refuse a result without structured content where its schema is declared.
  return { content, structuredContent: fileFacts(answer) };
}

async function fileContent(found: Found, answer: BodyAnswer): Promise<Content[]> {
  if (isText(answer.type)) return [{ type: 'text', text: readText(answer) }];
  return isPicture(answer) ? picture(found, answer) : file(found, answer);
}

async function picture(found: Found, answer: BodyAnswer): Promise<Content[]> {
  const { preview, kept } = found;
  if (isShownWhole(answer)) return [image(answer), ...(kept ? await told(found, answer) : [])];
  const why = isOfShownType(answer) ? 'too large' : 'of a type not';
  const shown = preview ? 'This is a preview of it. ' : `It is ${why} to be shown here. `;
  return [...(preview ? [image(preview)] : []), ...(await told(found, answer, shown))];
}

async function file(found: Found, answer: BodyAnswer): Promise<Content[]> {
  const isSmall = answer.bytes.byteLength <= mostFileBytes;
  if (!isSmall || found.kept) return told(found, answer);
  const name = nameOf(found, answer);
  const { uri = `result:${name}` } = await found.whole(answer, name);
  return [{ type: 'resource', resource: { uri, mimeType: essence(answer.type), blob: base64(answer) } }];
}

/** Where the whole is, in words for the model and as a link for its client. */
async function told(found: Found, answer: BodyAnswer, shown = ''): Promise<Content[]> {
  const name = nameOf(found, answer);
  const { uri, words } = await found.whole(answer, name);
  const text = `The result is ${sizeOf(answer)}. ${shown}${words}`;
  const description = 'The whole result.';
  const size = answer.bytes.byteLength;
  return [
    { type: 'text', text },
    ...(uri === undefined
      ? []
      : [{ type: 'resource_link' as const, uri, name, mimeType: essence(answer.type), size, description }]),
  ];
}

function image(answer: BodyAnswer): Content {
  return { type: 'image', data: base64(answer), mimeType: essence(answer.type) };
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

function essence(type: string): string {
  return (type.split(';', 1)[0] ?? type).trim().toLowerCase();
}

const extensions: Record<string, string> = {
  'image/jpeg': 'jpg',
  'application/pdf': 'pdf',
  'application/zip': 'zip',
  'audio/mpeg': 'mp3',
};

/** `add-border.png`. */
function nameOf({ helper: { id } }: Found, { type }: BodyAnswer): string {
  const subtype = essence(type).split('/')[1] ?? '';
  const end = extensions[essence(type)] ?? (/^[a-z0-9]{1,8}$/.test(subtype) ? subtype : 'bin');
  return `${id.slice(id.lastIndexOf('/') + 1)}.${end}`;
}

function sizeOf({ type, bytes: { byteLength } }: BodyAnswer): string {
  const size =
    byteLength < 1_000_000 ? `${Math.ceil(byteLength / 1000)} kB` : `${(byteLength / 1e6).toFixed(1)} MB`;
  return `a file of ${size} (${essence(type)})`;
}
