const numbers = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

export function count(value: number): string {
  return numbers.format(value);
}

/** Bytes as the configuration counts them: 1 MB is 1024 × 1024. */
export function bytes(value: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB'];
  const power = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(value) / 10));
  return `${numbers.format(value / 1024 ** power)} ${units[power]}`;
}

export function seconds(ms: number): string {
  return ms < 1000 ? `${numbers.format(ms)} ms` : `${numbers.format(ms / 1000)} s`;
}
