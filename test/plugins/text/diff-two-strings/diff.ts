import plugin from '../../../../plugins/text/diff-two-strings/index.js';
import { callContext } from '../../call-context.js';

/** Calls the helper as the gateway does, defaults filled in. */
export function diff(a: string, b: string, options: { context?: number; patch?: boolean } = {}): string {
  const input = { a, b, context: 3, patch: false, ...options };
  const result = plugin.handler(input, callContext('text/diff-two-strings'));
  return (result as { diff: string }).diff;
}

/** Removed and added lines of a diff without file headers. */
export function countEdits(text: string): number {
  return text.split('\n').filter((line) => /^[-+]/.test(line)).length;
}
