/** A logger that keeps its messages, for tests to read. */
export function createQuietLog() {
  const lines: { level: 'info' | 'warn' | 'error'; message: string }[] = [];
  const at = (level: 'info' | 'warn' | 'error') => (_fields: unknown, message?: string) =>
    void lines.push({ level, message: message ?? '' });
  return { lines, info: at('info'), warn: at('warn'), error: at('error') };
}
