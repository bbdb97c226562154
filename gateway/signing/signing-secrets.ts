import { hkdfSync, randomBytes } from 'node:crypto';
import { type FileHandle, link, open, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { GatewayError } from '../errors.js';
import { makeFolder } from '../file-system.js';

export const signingSecretPrefix = 'hgs_';
export const webhookSecretPrefix = 'whsec_';
/** In place of a tenant's id: what goes to the operator is signed by a secret of its own, of version 1. */
export const operatorReceiver = 'operator';

export type SigningSecrets = ReturnType<typeof createSigningSecrets>;

/** The secrets by this configuration; the file of the master secret is made where it is needed and missing. */
export async function openSigning(options: MasterOptions): Promise<SigningSecrets> {
  return createSigningSecrets(await openMasters(options));
}

/** Secrets for urls and webhooks from master secrets, which no database holds; the first signs, all verify. */
export function createSigningSecrets(masters: readonly string[] | undefined) {
  return {
    ...createDerivedSecrets(masters, {
      purpose: 'signing',
      write: (bytes) => `${signingSecretPrefix}${bytes.toString('base64url')}`,
      without: 'sign urls or verify them',
    }),
    webhooks: createDerivedSecrets(masters, {
      purpose: 'webhook',
      write: (bytes) => `${webhookSecretPrefix}${bytes.toString('base64')}`,
      without: 'sign webhooks',
    }),
    accounts: createDerivedSecrets(masters, {
      purpose: 'account',
      write: (bytes) => bytes.toString('base64'),
      without: 'seal secrets of accounts',
    }),
  };
}

interface DerivedKind {
  purpose: string;
  /** The secret as people see it. */
  write: (bytes: Buffer) => string;
  /** What a gateway without a master secret cannot do. */
  without: string;
}

export type DerivedSecrets = ReturnType<typeof createDerivedSecrets>;

/** One secret for each owner and version: HKDF-SHA256 (RFC 5869) with the purpose, version and owner's id as info. */
function createDerivedSecrets(
  masters: readonly string[] | undefined,
  { purpose, write, without }: DerivedKind,
) {
  const derived = new LRUCache<string, readonly string[]>({ max: 10_000 });

  function requireMaster(): readonly string[] {
    if (masters !== undefined) return masters;
    const remedy = 'with DATABASE_URL, set HELPER_SIGNING_SECRET to the same on all gateways.';
    throw new GatewayError('storage_unavailable', { message: `This gateway cannot ${without}: ${remedy}` });
  }

  function all(ownerId: string, version: number): readonly string[] {
    const masters = requireMaster();
    const info = `helper-gateway ${purpose} ${version} ${ownerId}`;
    const known = derived.get(info);
    if (known) return known;
    const secrets = masters.map((master) => write(Buffer.from(hkdfSync('sha256', master, '', info, 32))));
    derived.set(info, secrets);
    return secrets;
  }

  return {
    /** Whether there is a master secret to derive them from. */
    available: masters !== undefined,
    /** Throws a `GatewayError` that names HELPER_SIGNING_SECRET where there is none. */
    requireMaster: (): void => void requireMaster(),
    /** One for each master secret, that of the first at the head; throws likewise. */
    all,
    /** The one to sign with; throws likewise. */
    current: (ownerId: string, version: number): string => all(ownerId, version)[0] as string,
  };
}

type MasterOptions = { signingSecret?: readonly string[]; databaseUrl?: string; dataDir: string };

/** The file that holds the master secret where no variable does. */
export const masterFile = 'signing-secret';

const remedy = 'HELPER_SIGNING_SECRET can take its place.';
const masterPattern = /^[\x21-\x7e]{32,1024}$/;

/** From HELPER_SIGNING_SECRET, else a file; undefined with PostgreSQL, where gateways' files would differ. */
export async function openMasters({ signingSecret, databaseUrl, dataDir }: MasterOptions) {
  if (signingSecret) return signingSecret;
  if (databaseUrl !== undefined) return undefined;
  const file = join(dataDir, masterFile);
  return [(await readMaster(file)) ?? (await makeMaster(dataDir, file))];
}

/** The master secret of a file; undefined where there is no such file. */
export async function readMaster(file: string): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch((error) => {
    if (error.code === 'ENOENT') return undefined;
    throw new Error(`The signing secret ${file} cannot be read (${error.code}). ${remedy}`);
  });
  const secret = text?.trim();
  if (secret === undefined || masterPattern.test(secret)) return secret;
  throw new Error(
    `The signing secret ${file} is not one: it must hold at least 32 printable characters without spaces. Restore it from a back-up, or delete it to make a new one, which ends every signed url.`,
  );
}

/** Written aside and linked whole, so that of two processes which start at once both have the one that was first. */
async function makeMaster(dataDir: string, file: string): Promise<string> {
  await makeFolder(dataDir, { mode: 0o700 });
  const aside = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`;
  try {
    const handle = await open(aside, 'wx', 0o600);
    try {
      await handle.writeFile(`${randomBytes(32).toString('hex')}\n`);
      await giveToOwner(dataDir, handle);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await link(aside, file).catch((error) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } catch (error) {
    const { code = 'unknown reason' } = error as NodeJS.ErrnoException;
    throw new Error(`The signing secret ${file} cannot be written (${code}). ${remedy}`, { cause: error });
  } finally {
    await rm(aside, { force: true });
  }
  const made = await readMaster(file);
  if (made === undefined) throw new Error(`The signing secret ${file} is a link to a file that is missing.`);
  return made;
}

/** Root's commands make the file, and a gateway of the folder's owner has to read it. */
async function giveToOwner(dataDir: string, handle: FileHandle): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await stat(dataDir);
  await handle.chown(uid, gid);
}
