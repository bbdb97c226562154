import { quoteWord } from './quote-word.js';

/** The command line that calls a helper with this input, to be pasted into a shell. */
export function callLine(id: string, input: Record<string, unknown>, command = 'helper-gateway'): string {
  const words = Object.entries(input).map(([name, value]) => {
    if (value === true) return `--${name}`;
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    // Alone it would be standard input.
    if (text === '-') return `--set ${quoteWord(`${name}=-`)}`;
    return text.startsWith('-') ? quoteWord(`--${name}=${text}`) : `--${name} ${quoteWord(text)}`;
  });
  return [`${command} call`, id, ...words].join(' ');
}
