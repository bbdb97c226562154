/** Steps of a match at most, about: ten milliseconds. */
const mostSteps = 1_000_000;
/** Characters that a pattern may ask for, repeated ones counted. */
const largest = 500;

/** What a part of a pattern may cost: in how many ways it can match, and how many characters it asks for. */
interface Cost {
  ways: number;
  size: number;
}

const repetition = /(?:([*+?])|\{(\d+)(,(\d*))?\})\??/y;

/**
 * Why a pattern cannot be let loose on strangers' texts of so many characters; undefined where it can. Regular expressions of V8 try
 * every way to match, so the ways are counted, as if no text ended one early: `(a+)+` has 2 to the power of the length. What looks
 * around or back is refused, because its ways are not counted.
 */
export function patternProblem(pattern: string, longest: number): string | undefined {
  try {
    new RegExp(pattern, 'u');
  } catch (error) {
    return `must be a regular expression: ${(error as Error).message}`;
  }
  let at = 0;
  let refused: string | undefined;
  const branches: Cost[] = [];
  const whole = alternatives(branches);
  if (refused !== undefined) return refused;
  const starts = pattern.startsWith('^') && branches.length === 1 ? 1 : longest;
  if (whole.size <= largest && whole.ways * whole.size * starts <= mostSteps) return undefined;
  return (
    'could take too long: begin it with ^, repeat no group that has a repetition or alternatives in it, repeat less, ' +
    'or allow fewer characters by maxLength'
  );

  function alternatives(found: Cost[] = []): Cost {
    found.push(sequence());
    while (pattern[at] === '|') {
      at += 1;
      found.push(sequence());
    }
    return found.reduce((sum, { ways, size }) => ({ ways: sum.ways + ways, size: sum.size + size }));
  }

  function sequence(): Cost {
    const sum = { ways: 1, size: 1 };
    while (at < pattern.length && pattern[at] !== '|' && pattern[at] !== ')') {
      const part = repeated(atom());
      sum.ways *= part.ways;
      sum.size += part.size;
    }
    return sum;
  }

  function repeated({ ways, size }: Cost): Cost {
    repetition.lastIndex = at;
    const found = repetition.exec(pattern);
    if (found === null) return { ways, size };
    at = repetition.lastIndex;
    const [, sign, first, comma, last] = found;
    const least = Number(first ?? (sign === '+' ? 1 : 0));
    const isEndless = sign === '*' || sign === '+' || (comma !== undefined && last === '');
    const most = isEndless ? Math.max(least, longest) : Number(sign === '?' ? 1 : last || least);
    let all = 0;
    // However many times it is repeated, each time has its own ways.
    for (let times = least; times <= most && all <= mostSteps; times += 1) all += ways ** times;
    return { ways: all, size: size * Math.max(1, isEndless ? least : most) };
  }

  function atom(): Cost {
    const one = { ways: 1, size: 1 };
    const character = pattern[at];
    at += 1;
    if (character === '\\') {
      if (/[1-9k]/.test(pattern[at] ?? '')) refused = 'must not refer back to a group';
      at += 1;
    } else if (character === '[') {
      while (pattern[at] !== ']') at += pattern[at] === '\\' ? 2 : 1;
      at += 1;
    } else if (character === '(') {
      if (pattern[at] === '?' && pattern[at + 1] !== ':')
        refused = 'must have plain groups alone: (…) or (?:…)';
      if (pattern[at] === '?') at += 2;
      const inner = alternatives();
      at += 1;
      return inner;
    }
    return one;
  }
}
