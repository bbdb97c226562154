import * as stopword from 'stopword';

interface RemoveOptions {
  /** A name out of `languages`. */
  language: string;
  /** Words that stay although they are on the list, or in `also`. */
  keep: readonly string[];
  /** Words that go although they are not on the list. */
  also: readonly string[];
}

/**
 * The text without its stopwords; everything between words stays as it is. Own code around the lists of the package `stopword`,
 * whose own function works on a list of words and so loses what stands between them.
 */
export function removeStopwords(text: string, { language, keep, also }: RemoveOptions): string {
  const list = stopwordsOf(language);
  const kept = normalizeList(keep);
  const more = normalizeList(also);
  const segment = createSegmenter(language);
  const removed = (word: string): boolean => {
    const form = normalizeWord(word);
    return form !== undefined && (list.has(form) || more.has(form)) && !kept.has(form);
  };
  return text.replace(new RegExp(wordPattern, 'gu'), (word) => {
    if (removed(word)) return '';
    const pieces = segment?.(word) ?? [word];
    return pieces.length === 1 ? word : pieces.filter((piece) => !removed(piece)).join('');
  });
}

/** Apostrophes that join the parts of a word: typewriter, typographic, modifier letter. */
const apostrophes = /['’ʼ]/g;

/** ʼ is a letter to Unicode; here it joins like the others and is not part of a run. */
const wordRun = '(?:(?!ʼ)[\\p{L}\\p{M}\\p{N}_])+';

/** A word as a source for `RegExp` with the flag `u`: runs of letters, marks, digits and `_`, joined by inner apostrophes. */
export const wordPattern = `${wordRun}(?:['’ʼ]${wordRun})*`;

/**
 * Longer words, in UTF-16 units, are on no list. It keeps `normalize`, whose time grows with the square of the number of
 * marks on one letter, away from hostile words.
 */
const longestWord = 256;

/** The form in which words are compared: lower case, typewriter apostrophes, composed. Undefined for what no list has. */
function normalizeWord(word: string): string | undefined {
  if (word.length > longestWord) return undefined;
  return word.toLowerCase().replace(apostrophes, "'").normalize('NFC');
}

const wholeWord = new RegExp(`^${wordPattern}$`, 'u');

/** The words of a list in the form in which they are compared, without the entries that can never be a word. */
function normalizeList(entries: readonly string[]): Set<string> {
  const words = new Set<string>();
  for (const entry of entries) {
    const word = entry.trim();
    const normal = wholeWord.test(word) ? normalizeWord(word) : undefined;
    if (normal !== undefined) words.add(normal);
  }
  return words;
}

/**
 * The English stop word list of the Snowball project, https://snowballstem.org/algorithms/english/stop.txt, without
 * its comments. Copyright (c) 2001, Dr Martin Porter, and (c) 2002, Richard Boulton; licensed under the 3-clause BSD
 * licence, https://snowballstem.org/license.html.
 */
const snowballEnglish: readonly string[] = `
i me my myself we our ours ourselves you your yours yourself yourselves
he him his himself she her hers herself it its itself they them their theirs themselves
what which who whom this that these those
am is are was were be been being have has had having do does did doing would should could ought
i'm you're he's she's it's we're they're i've you've we've they've
i'd you'd he'd she'd we'd they'd i'll you'll he'll she'll we'll they'll
isn't aren't wasn't weren't hasn't haven't hadn't doesn't don't didn't
won't wouldn't shan't shouldn't can't cannot couldn't mustn't
let's that's who's what's here's there's when's where's why's how's
a an the and but if or because as until while
of at by for with about against between into through during before after above below
to from up down in out on off over under again further then once
here there when where why how all any both each few more most other some such
no nor not only own same so than too very
`
  .trim()
  .split(/\s+/);

/**
 * What that list names in its comments and leaves out: *us*, *will*, *shall* and *just*, the first three for a noun
 * or a name that is spelled the same. The list of the `stopword` package, which it completes here, takes in their like
 * (*can*, *might*, *must*, *well*). The negations are the ones the list calls rare or doubtful.
 */
const snowballOmitted: readonly string[] = "us will shall just daren't needn't oughtn't mightn't".split(' ');

/** Contractions that follow the list's pattern and are not on it. */
const moreContractions: readonly string[] = `
it'd it'll that'd that'll there'd there'll this'll these're those're
who'd who'll who're who've what'd what'll what're what've where'd where're how'd how'll how're when'd why'd
could've should've would've might've must've ain't
`
  .trim()
  .split(/\s+/);

/** Every list of the `stopword` package by its name there. */
const packaged = new Map<string, readonly string[]>(
  Object.entries(stopword).filter((entry): entry is [string, string[]] => Array.isArray(entry[1])),
);

/** The names of the lists: ISO 639-3 codes with a few additions (`porBr`, `panGu`, `lggNd`), and `_123` for digits. */
export const languages: readonly string[] = [...packaged.keys()].sort();

const prepared = new Map<string, Set<string>>();

/** The list of a language in the form in which words are compared; for `eng` the one that Snowball completes. */
export function stopwordsOf(language: string): Set<string> {
  const known = prepared.get(language);
  if (known) return known;
  const entries = packaged.get(language) ?? [];
  const list = normalizeList(
    language === 'eng' ? [...entries, ...snowballEnglish, ...snowballOmitted, ...moreContractions] : entries,
  );
  prepared.set(language, list);
  return list;
}

/** The languages here whose script puts no spaces between words, so that a run of letters is a whole clause. */
const unspaced: ReadonlySet<string> = new Set(['jpn', 'mya', 'tha', 'zho']);

const unspacedScript = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Myanmar}]/u;

/** UTF-16 units segmented at once: the time that `Intl.Segmenter` takes grows with the square of the length. */
const chunkLength = 500;

/**
 * Splits a run of letters into the words that a dictionary knows, for the languages that are written without spaces; undefined for the
 * others. The pieces put together are the run.
 */
function createSegmenter(language: string): ((run: string) => string[]) | undefined {
  if (!unspaced.has(language)) return undefined;
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

/** Characters up to which a text is cleaned in less than a millisecond, whatever is in it. */
const mostCharacters = 4_000;

/** The same where a dictionary finds the words: a piece of one character takes about 2 µs. */
const mostCharactersSegmented = 500;

/** Words in `keep` and `also` together: each is normalized, which takes up to 3 µs. */
const mostWords = 50;

/** Whether the removal is work for the main thread. */
export function isShort({ text, language, keep, also }: RemoveOptions & { text: string }): boolean {
  const most = unspaced.has(language) ? mostCharactersSegmented : mostCharacters;
  return text.length <= most && keep.length + also.length <= mostWords;
}
