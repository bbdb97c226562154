import type { FieldProblem } from '../../../schemas/field-problem.js';
import { fieldName } from '../../../schemas/quote.js';

const maxNameBytes = 200;

/** The names of a form's parts, and what is wrong with them. */
export interface PartNames {
  /** Each once. */
  problems: FieldProblem[];
  tell(field: string, problem: string): void;
  /** A part's name as text; undefined where it cannot be read, which is told. */
  read(bytes: string): string | undefined;
  /** The same of a name that may come once; undefined too where it has come already, which is told. */
  readOnce(bytes: string): string | undefined;
  /** Names that have come more often than they may. */
  twice: ReadonlySet<string>;
}

export function createPartNames(): PartNames {
  const problems: FieldProblem[] = [];
  const seen = new Set<string>();
  const twice = new Set<string>();

  function tell(field: string, problem: string): void {
    if (!problems.some((told) => told.field === field && told.problem === problem)) {
      problems.push({ field, problem });
    }
  }

  function read(bytes: string): string | undefined {
    const name = bytes.length > maxNameBytes ? undefined : decodeName(bytes);
    if (name !== undefined) return name;
    const isLong = bytes.length > maxNameBytes;
    tell(
      'body',
      isLong
        ? `must not have names of more than ${maxNameBytes} bytes`
        : 'must have names that are UTF-8 text',
    );
    return undefined;
  }

  return {
    problems,
    twice,
    tell,
    read,
    readOnce(bytes) {
      const name = read(bytes);
      if (name === undefined || !seen.has(name)) {
        if (name !== undefined) seen.add(name);
        return name;
      }
      tell(fieldName(name), 'must be given once, but is given more than once');
      twice.add(name);
      return undefined;
    },
  };
}

/** The text of bytes that are one character each; undefined where they are not UTF-8. */
function decodeName(bytes: string): string | undefined {
  try {
    return utf8.decode(Buffer.from(bytes, 'latin1'));
  } catch {
    return undefined;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
