import { Command } from 'commander';
import { registerKeyCommands } from '../../../gateway/commands/keys.js';
import type { OpenKeys } from '../../../gateway/commands/open.js';
import type { Terminal } from '../../../gateway/commands/output.js';
import { registerSign } from '../../../gateway/commands/sign.js';
import { registerTenantCommands } from '../../../gateway/commands/tenants.js';
import { createKeyAdmin } from '../../../gateway/keys/admin.js';
import { createSigningSecrets } from '../../../gateway/signing/signing-secrets.js';
import { createSqliteDatabase, type TestDatabase } from '../databases.js';
import { signing } from '../signing/signing.js';

export const services = ['text/remove-stopwords', 'media/add-border'];

/** A key database of its own, with the tenant `acme`. Only commands that sign get the master secret. */
export async function createKeys(): Promise<{ database: TestDatabase; open: OpenKeys }> {
  const database = await createSqliteDatabase();
  const open: OpenKeys = async ({ signs = false } = {}) => {
    const store = await database.open();
    const secrets = signs ? signing : createSigningSecrets(undefined);
    const admin = createKeyAdmin({ store, signing: secrets, services: () => services });
    return { admin, services, close: () => store.close() };
  };
  await run(open, 'tenants', 'create', 'acme');
  return { database, open };
}

export interface Ran {
  stdout: string;
  stderr: string;
  exitCode: number;
}

/** Runs one command line as a script would, and gives back what it wrote. */
export function run(open: OpenKeys, ...args: string[]): Promise<Ran> {
  return runAt(open, { isTTY: false }, ...args);
}

/** The same where stdout is a person's terminal, or is not. */
export async function runAt(open: OpenKeys, { isTTY }: { isTTY: boolean }, ...args: string[]): Promise<Ran> {
  const ran: Ran = { stdout: '', stderr: '', exitCode: 0 };
  const setExitCode = (code: number) => {
    ran.exitCode = code;
  };
  const terminal: Terminal = {
    stdout: { write: (text) => (ran.stdout += text), isTTY },
    stderr: { write: (text) => (ran.stderr += text) },
    setExitCode,
    exit(code) {
      setExitCode(code);
      throw exitThrown;
    },
  };
  const program = new Command('helper-gateway');
  registerTenantCommands(program, open, terminal);
  registerKeyCommands(program, open, terminal);
  registerSign(program, open, terminal);
  await program.parseAsync(args, { from: 'user' }).catch((error) => {
    if (error !== exitThrown) throw error;
  });
  return ran;
}

const exitThrown = new Error('exit');
