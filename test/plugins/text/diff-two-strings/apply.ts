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
