type Cell = string | number | boolean | null | undefined;

/** What a spreadsheet would run as a formula. */
const runs = /^[=+\-@\t\r]/;

function cell(value: Cell): string {
  const text = String(value ?? '');
  const safe = typeof value === 'string' && runs.test(text) ? `'${text}` : text;
  return /[",\r\n\t]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Rows as CSV (RFC 4180), below the names of their columns. A text that a spreadsheet would run begins with an apostrophe. */
export function toCsv(columns: readonly string[], rows: readonly object[]): string {
  const lines = rows.map((row) =>
    columns.map((column) => cell((row as Record<string, Cell>)[column])).join(','),
  );
  return [columns.join(','), ...lines].map((line) => `${line}\r\n`).join('');
}

const figures = ['calls', 'errors', 'bytes_in', 'bytes_out', 'cpu_ms', 'p50_ms', 'p95_ms'];

/** Columns of sums by these dimensions. */
export function usageColumns(by: string): string[] {
  const names = by.split(',').flatMap((name) => (name === 'key' ? ['key', 'label'] : [name]));
  return [...names, ...figures];
}

export const requestColumns = [
  ...['at', 'request_id', 'tenant', 'key', 'label', 'service'],
  ...['status', 'code', 'ms', 'dryrun'],
];

export const auditColumns = ['at', 'actor', 'action', 'tenant', 'key_id', 'text'];
