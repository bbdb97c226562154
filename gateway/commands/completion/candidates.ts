/** A word that may stand where the cursor is. */
export interface Candidate {
  value: string;
  description?: string | undefined;
}

/** What a shell is told: its own files are completed where `rest` says so, by the directives that cobra's shells know. */
export interface Completion {
  candidates: Candidate[];
  rest: 'nothing' | 'files' | 'folders';
}

const directives = { files: 0, nothing: 4, folders: 16 } as const;
const longest = 80;

export const nothing: Completion = { candidates: [], rest: 'nothing' };
export const files: Completion = { candidates: [], rest: 'files' };
export const folders: Completion = { candidates: [], rest: 'folders' };

/** Those that go on from what is typed. */
export function beginningWith(typed: string, candidates: readonly Candidate[]): Completion {
  return { candidates: candidates.filter(({ value }) => value.startsWith(typed)), rest: 'nothing' };
}

/** The same with what stands before the value in one word with it. */
export function prefixed(prefix: string, { candidates, rest }: Completion): Completion {
  return { rest, candidates: candidates.map((each) => ({ ...each, value: prefix + each.value })) };
}

/** A line for each candidate, `word\tdescription`, and `:directive` as the last. */
export function asLines({ candidates, rest }: Completion): string {
  const lines = candidates.map(({ value, description }) =>
    description ? `${oneLine(value)}\t${shortened(oneLine(description))}` : oneLine(value),
  );
  return [...lines, `:${directives[rest]}`, ''].join('\n');
}

function oneLine(text: string): string {
  return text.replace(/\p{C}+/gu, ' ');
}

function shortened(text: string): string {
  return text.length > longest ? `${text.slice(0, longest - 1)}…` : text;
}
