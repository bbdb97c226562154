import { hkdfSync, randomBytes } from 'node:crypto';
import { type FileHandle, link, open, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { GatewayError } from '../errors.js';
import { makeFolder } from '../file-system.js';

/** What signs urls by this configuration; the file of the master secret is made where it is needed and missing. */
export async function openSigning(options: MasterOptions): Promise<SigningSecrets> {
  return createSigningSecrets(await openMasters(options));
}

/**
 * What follows from the gateway's master secrets, so that the database alone forges nothing. Itself the secrets that urls are signed
 * with, by a key's id and its version: `hgs_` and 43 characters.
 */
export interface SigningSecrets extends DerivedSecrets {
  /** What webhooks are signed with, by a tenant's id and its version: `whsec_` and base64, as Standard Webhooks has it. */
  readonly webhooks: DerivedSecrets;
}

/** What tells them from keys. */
export const signingSecretPrefix = 'hgs_';
export const webhookSecretPrefix = 'whsec_';

/** Of `masters` the first signs urls, and all verify them; undefined where this gateway has none. */
export function createSigningSecrets(masters: readonly string[] | undefined): SigningSecrets {
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

/** Secrets of one kind that follow from the gateway's master secrets, one for each owner and its version. */
export interface DerivedSecrets {
  /** Whether there is a master secret to derive them from. */
  readonly available: boolean;
  /** Throws a `GatewayError` that names HELPER_SIGNING_SECRET where there is none. */
  requireMaster(): void;
  /** The one to sign with. Throws as `requireMaster` does. */
  current(ownerId: string, version: number): string;
  /** One for each master secret, that of the first at the head; throws likewise. */
  all(ownerId: string, version: number): readonly string[];
}

interface DerivedKind {
  /** Tells this kind from all others, in the derivation. */
  purpose: string;
  /** The secret as people see it. */
  write: (bytes: Buffer) => string;
  /** What a gateway without a master secret cannot do. */
  without: string;
}

const maxCached = 10_000;

/**
 * Derives secrets from master secrets, which no database holds: HKDF-SHA256 (RFC 5869) with the purpose, the version and the owner's
 * id as info. `masters` is undefined where this gateway has none.
 */
function createDerivedSecrets(
  masters: readonly string[] | undefined,
  { purpose, write, without }: DerivedKind,
): DerivedSecrets {
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
    available: masters !== undefined,
    requireMaster,
    all,
    current: (ownerId, version) => all(ownerId, version)[0] as string,
  };
}

/** What says where the master secrets of signed urls are. */
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
 * The master secrets: those of `HELPER_SIGNING_SECRET`, else the one in the data folder, which is made when it is first asked for.
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
