/** Whether the words of a command line name a gateway that is to do the work. */
export function namesServer(words: readonly string[]): boolean {
  const end = words.indexOf('--');
  return words
    .slice(0, end < 0 ? undefined : end)
    .some((word, at) => /^--server(?:=|$)/.test(word) && words[at - 1] !== '--set');
}
