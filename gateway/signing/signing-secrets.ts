import { hkdfSync, randomBytes } from 'node:crypto';
import { type FileHandle, link, open, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { GatewayError } from '../errors.js';
import { makeFolder } from '../file-system.js';

export const signingSecretPrefix = 'hgs_';
export const webhookSecretPrefix = 'whsec_';

export type SigningSecrets = ReturnType<typeof createSigningSecrets>;

/** The secrets by this configuration; the file of the master secret is made where it is needed and missing. */
export async function openSigning(options: MasterOptions): Promise<SigningSecrets> {
  return createSigningSecrets(await openMasters(options));
}

/**
 * All secrets that are derived from the gateway's master secrets, so that the database alone forges nothing: those that urls are
 * signed with, by a key's id and its version (`hgs_` and 43 characters), and `webhooks`, by a tenant's id and its version
 * (`whsec_` and base64, as Standard Webhooks has it). The first master signs, and all verify; undefined where there is none.
 */
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
  };
}

interface DerivedKind {
  /** Makes this kind differ from all others, in the derivation. */
  purpose: string;
  /** The secret as people see it. */
  write: (bytes: Buffer) => string;
  /** What a gateway without a master secret cannot do. */
  without: string;
}

const maxCached = 10_000;

export type DerivedSecrets = ReturnType<typeof createDerivedSecrets>;

/**
 * Derives secrets of one kind from master secrets, which no database holds, one for each owner and its version: HKDF-SHA256
 * (RFC 5869) with the purpose, the version and the owner's id as info.
 */
function createDerivedSecrets(
  masters: readonly string[] | undefined,
  { purpose, write, without }: DerivedKind,
) {
  const derived = new LRUCache<string, readonly string[]>({ max: maxCached });

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

interface MasterOptions {
  signingSecret?: readonly string[];
  databaseUrl?: string;
  dataDir: string;
}

/** The file that holds the master secret where no variable does. */
export const masterFile = 'signing-secret';

const remedy = 'HELPER_SIGNING_SECRET can take its place.';
const masterPattern = /^[\x21-\x7e]{32,1024}$/;

/**
 * The master secrets: those of `HELPER_SIGNING_SECRET`, else the one in the data folder, which is made when it is first needed.
 * Undefined with PostgreSQL, where each gateway would make another. Throws an `Error` that names a file that cannot be used.
 */
export async function openMasters({
  signingSecret,
  databaseUrl,
  dataDir,
}: MasterOptions): Promise<readonly string[] | undefined> {
  if (signingSecret) return signingSecret;
  if (databaseUrl !== undefined) return undefined;
  const file = join(dataDir, masterFile);
  return [(await readMaster(file)) ?? (await makeMaster(dataDir, file))];
}

async function readMaster(file: string): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch((error) => {
    if (error.code === 'ENOENT') return undefined;
    throw new Error(`The signing secret ${file} cannot be read (${error.code}). ${remedy}`);
  });
  if (text === undefined) return undefined;
  const secret = text.trim();
  if (masterPattern.test(secret)) return secret;
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

/** Root's commands make what a gateway of another user, whose folder it is, has to read; SQLite does so with its own files. */
async function giveToOwner(dataDir: string, handle: FileHandle): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await stat(dataDir);
  await handle.chown(uid, gid);
}
