import type { CallToolResult } from '@modelcontextprotocol/server';
import { type GatewayError, sentenceOf } from '../errors.js';

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
  return { isError: true, content: [{ type: 'text', text: lines.join('\n') }] };
}
