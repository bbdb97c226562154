import type { Command } from 'commander';
import { auditColumns, requestColumns, toCsv, usageColumns } from '../usage/csv.js';
import { type OpenKeys, withKeys } from './open.js';
import { type Answer, formatTable, type JsonOption, jsonOption, type Terminal } from './output.js';

interface RecordFlags extends JsonOption {
  csv?: boolean;
  by?: string;
  limit?: string;
  [filter: string]: unknown;
}

/** Adds `usage`, `requests` and `audit`: what was called, and what was changed. */
export function registerRecordCommands(program: Command, open: OpenKeys, terminal: Terminal): void {
  withCalls(program.command('usage'))
    .description('Show calls, errors, CPU and durations: by day, or by what --by names.')
    .option('--by <names>', 'one or two of day, tenant, key, service, outcome, code, with a comma', 'day')
    .action((flags: RecordFlags) =>
      withKeys(open, terminal, flags, async (_, __, ___, reports) => {
        const usage = await reports.usage(filtersOf(flags));
        const columns = usageColumns(flags.by ?? 'day');
        return answerRows('usage', columns, usage, 'No calls in these days.', flags.csv);
      }),
    );

  withCalls(program.command('requests'))
    .description('Show the last calls, the newest first, or the one with this request id.')
    .argument('[id]', 'the x-request-id of an answer')
    .option('--status <status>', 'only calls answered with it, such as 429 or 5xx')
    .option('--code <code>', 'only calls with this error')
    .option('--limit <count>', 'how many, 1 to 1000', '50')
    .action((id: string | undefined, flags: RecordFlags) =>
      withKeys(open, terminal, flags, async (_, __, ___, reports) => {
        const query = { ...filtersOf(flags), ...(id !== undefined && { request_id: id }) };
        const { requests } = await reports.requests(query);
        const columns = flags.csv ? requestColumns : requestColumns.filter((name) => name !== 'dryrun');
        const none = id === undefined ? 'No such calls are stored.' : `No call with the id ${id} is stored.`;
        return answerRows('requests', columns, requests, none, flags.csv);
      }),
    );

  withPeriod(program.command('audit'))
    .description('Show who changed what, the newest first.')
    .option('--actor <text>', 'only what was done by whom contains this')
    .option('--action <action>', 'only this action, e.g. key.rotate')
    .option('--tenant <tenant>', 'only what concerns this tenant')
    .option('--key <id>', 'only what concerns this key')
    .option('--limit <count>', 'how many, 1 to 1000', '50')
    .action((flags: RecordFlags) =>
      withKeys(open, terminal, flags, async (admin) => {
        const { entries } = await admin.audit(filtersOf(flags));
        const columns = flags.csv ? auditColumns : ['at', 'actor', 'tenant', 'text'];
        return answerRows('entries', columns, entries, 'No such entries.', flags.csv);
      }),
    );
}

function withCalls(command: Command): Command {
  return withPeriod(command)
    .option('--tenant <tenant>', 'only calls of this tenant')
    .option('--key <id>', 'only calls with this key')
    .option('--service <helper>', 'only calls of this helper');
}

function withPeriod(command: Command): Command {
  return command
    .option('--from <day>', 'first day (UTC), such as 2030-01-31')
    .option('--to <day>', 'last day, included')
    .option('--csv', 'print CSV')
    .option(...jsonOption);
}

/** The filters as the JSON API has them. */
function filtersOf({ json: _json, csv: _csv, limit, ...filters }: RecordFlags): object {
  return { ...filters, ...(limit !== undefined && { limit: Number(limit) }) };
}

/** A list under its name, as a table with these columns or as CSV; `none` is said where it is empty. */
export function answerRows(
  name: string,
  columns: readonly string[],
  rows: readonly object[],
  none: string,
  csv = false,
): Answer {
  const data = { [name]: rows };
  // The last line break is the terminal's.
  if (csv) return { data, result: toCsv(columns, rows).trimEnd() };
  if (rows.length === 0) return { data, notes: [none] };
  const texts = rows.map((row) => columns.map((column) => cellOf((row as Record<string, unknown>)[column])));
  const headings = columns.map((column) => column.toUpperCase().replaceAll('_', ' '));
  return { data, result: formatTable(headings, texts) };
}

const isoTime = /^\d{4}-\d\d-\d\dT/;

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  // To the second is enough for people, and the zone stays on it.
  return typeof value === 'string' && isoTime.test(value) ? `${value.slice(0, 19)}Z` : String(value);
}
