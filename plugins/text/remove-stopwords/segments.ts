/** The languages here whose script puts no spaces between words, so that a run of letters is a whole clause. */
const unspaced: ReadonlySet<string> = new Set(['jpn', 'mya', 'tha', 'zho']);

const unspacedScript = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Myanmar}]/u;

/** UTF-16 units segmented at once: the time that `Intl.Segmenter` takes grows with the square of the length. */
const chunkLength = 500;

/** Whether a dictionary finds the words of a language. */
export function needsDictionary(language: string): boolean {
  return unspaced.has(language);
}

/**
 * What takes a run of letters apart into the words that a dictionary knows, for the languages that are written without
 * spaces; undefined for the others. The pieces put together are the run.
 */
export function createSegmenter(language: string): ((run: string) => string[]) | undefined {
  if (!needsDictionary(language)) return undefined;
  const segmenter = new Intl.Segmenter(language, { granularity: 'word' });
  return function segment(run) {
    if (!unspacedScript.test(run)) return [run];
    const pieces: string[] = [];
    for (let start = 0; start < run.length; ) {
      const end = chunkEnd(run, start);
      for (const { segment } of segmenter.segment(run.slice(start, end))) pieces.push(segment);
      start = end;
    }
    return pieces;
  };
}

/** Never between the two halves of a character. */
function chunkEnd(run: string, start: number): number {
  const end = start + chunkLength;
  if (end >= run.length) return run.length;
  return (run.codePointAt(end - 1) as number) > 0xffff ? end - 1 : end;
}
