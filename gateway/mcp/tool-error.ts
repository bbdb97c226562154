import type { CallToolResult } from '@modelcontextprotocol/server';
import { type GatewayError, sentenceOf } from '../errors.js';

/** Bytes of an error's text as JSON. */
const mostBytes = 3600;

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
    // For whoever is told of it: the log has the rest under it.
    ...(isFault ? [`Request ${requestId}.`] : []),
  ];
  return { isError: true, content: [{ type: 'text', text: joined(lines) }] };
}

/** As many of the lines as make an answer of at most 4 KB, as every error's; a model needs no more to mend its call. */
function joined(lines: readonly string[]): string {
  const shown: string[] = [];
  let bytes = 0;
  for (const line of lines) {
    bytes += Buffer.byteLength(JSON.stringify(line));
    if (bytes > mostBytes) break;
    shown.push(line);
  }
  const rest = lines.length - shown.length;
  if (rest === 0) return lines.join('\n');
  if (shown.length === 0) return `${(lines[0] ?? '').slice(0, mostBytes / 6)}…`;
  return `${shown.join('\n')}\n… and ${rest} more.`;
}
