import plugin from '../../../plugins/text/diff-two-strings/index.js';
import { callContext } from '../call-context.js';

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

const hunkHeader = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@$/;

/** Applies bare hunks to lines, trusting nothing: positions, counts and every old line are checked. */
export function applyHunks(lines: string[], diff: string): string[] {
  const result: string[] = [];
  let at = 0;
  let read = 0;
  const rest = diff === '' ? [] : diff.split('\n');
  while (read < rest.length) {
    const header = hunkHeader.exec(rest[read++] ?? '');
    if (!header) throw new Error('no hunk header');
    const [, oldStart, oldCount = '1', newStart, newCount = '1'] = header;
    let old = Number(oldCount);
    let fresh = Number(newCount);
    const from = Number(oldStart) - (old > 0 ? 1 : 0);
    while (at < from) result.push(lines[at++] as string);
    if (at !== from) throw new Error('hunks overlap');
    if (result.length !== Number(newStart) - (fresh > 0 ? 1 : 0))
      throw new Error('wrong start in the new text');
    while (old > 0 || fresh > 0) {
      const line = rest[read++] ?? '';
      const content = line.slice(1);
      if (line[0] !== '+') {
        if (lines[at++] !== content) throw new Error(`unexpected old line: ${content}`);
        old--;
      }
      if (line[0] !== '-') {
        result.push(content);
        fresh--;
      }
    }
    if (old !== 0 || fresh !== 0) throw new Error('wrong count');
    if (rest[read]?.startsWith('\\')) throw new Error('unexpected marker');
  }
  return result.concat(lines.slice(at));
}
