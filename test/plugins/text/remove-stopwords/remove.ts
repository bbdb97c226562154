import plugin from '../../../../plugins/text/remove-stopwords/index.js';
import { callContext } from '../../call-context.js';

/** Calls the helper as the gateway does, defaults filled in. */
export function remove(
  text: string,
  options: { language?: string; keep?: string[]; also?: string[] } = {},
): string {
  const input = { text, language: 'eng', keep: [], also: [], ...options };
  const result = plugin.handler(input, callContext('text/remove-stopwords'));
  return (result as { text: string }).text;
}
