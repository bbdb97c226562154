const plain = /^[A-Za-z0-9_./:=@%+,-]+$/;

/** A text as one word of a POSIX shell's command line. */
export function quoteWord(text: string): string {
  return plain.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
