import plugin from '../../../../plugins/text/remove-stopwords/index.js';

/** Calls the helper as the gateway does, defaults filled in. */
export function remove(
  text: string,
  options: { language?: string; keep?: string[]; also?: string[] } = {},
): string {
  const input = { text, language: 'eng', keep: [], also: [], ...options };
  const result = plugin.handler(input, { service: 'text/remove-stopwords', request_id: 'test' });
  return (result as { text: string }).text;
}
