import { join } from 'node:path';
import Libsql from 'libsql';
import pg from 'pg';
import type { DatabaseKind } from '../../../gateway/database/database.js';
import { slices } from '../../../gateway/database/rows.js';
import { connect } from '../../gateway/databases.js';

export type Value = string | number | null;
export type Row = Record<string, Value>;

/** Where a gateway's database lies: its data folder, or a PostgreSQL URL. */
export type SeedPlace = { dataDir: string } | { databaseUrl: string };

/** Writes many rows past the gateway, whose own writers would need minutes for them. */
export interface BulkWriter {
  kind: DatabaseKind;
  insert(table: string, columns: readonly string[], rows: readonly Value[][]): Promise<void>;
  run(statement: string): Promise<void>;
  /** Commits all, and renews the planner's statistics. */
  finish(): Promise<void>;
}

/** Rows of one statement on PostgreSQL. */
const rowsAStatement = 5_000;

/** Opens a database for bulk writes; makes it where it is missing. */
export async function openBulkWriter(place: SeedPlace): Promise<BulkWriter> {
  const isFile = 'dataDir' in place;
  const address = isFile
    ? ({ kind: 'sqlite', location: place.dataDir } as const)
    : ({ kind: 'postgres', location: place.databaseUrl } as const);
  // The gateway's own migrations make the tables.
  await (await connect(address)).close();
  return isFile ? writeSqlite(join(place.dataDir, 'gateway.db')) : writePostgres(place.databaseUrl);
}

/** Inserts rows that have the columns of the first one. */
export async function insertRows(writer: BulkWriter, table: string, rows: readonly Row[]): Promise<void> {
  const columns = Object.keys(rows[0] ?? {});
  const values = rows.map((row) => columns.map((column) => row[column] ?? null));
  if (rows.length > 0) await writer.insert(table, columns, values);
}

function writeSqlite(file: string): BulkWriter {
  const db = new Libsql(file);
  db.exec('pragma synchronous = off; pragma cache_size = -200000; begin immediate');
  return {
    kind: 'sqlite',
    async insert(table, columns, rows) {
      const marks = columns.map(() => '?').join(', ');
      const statement = db.prepare(`insert into ${table} (${columns.join(', ')}) values (${marks})`);
      for (const row of rows) statement.run(row);
    },
    async run(statement) {
      db.exec(statement);
    },
    async finish() {
      db.exec('commit; analyze');
      db.close();
    },
  };
}

async function writePostgres(databaseUrl: string): Promise<BulkWriter> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query('set synchronous_commit = off; begin');
  const { rows: found } = await client.query<{ name: string; type: string }>(
    `select table_name || '.' || column_name as name, udt_name as type from information_schema.columns
      where table_schema = current_schema()`,
  );
  const types = new Map(found.map(({ name, type }) => [name, type]));
  return {
    kind: 'postgres',
    async insert(table, columns, rows) {
      const given = columns.map((column, at) => `$${at + 1}::${types.get(`${table}.${column}`)}[]`);
      for (const part of slices(rows, rowsAStatement)) {
        await client.query(
          `insert into ${table} (${columns.join(', ')}) select * from unnest(${given.join(', ')})`,
          columns.map((_, at) => part.map((row) => row[at])),
        );
      }
    },
    async run(statement) {
      await client.query(statement);
    },
    async finish() {
      await client.query('commit');
      await client.query('analyze');
      await client.end();
    },
  };
}
