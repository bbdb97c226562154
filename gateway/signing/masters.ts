import { randomBytes } from 'node:crypto';
import { type FileHandle, link, open, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../make-folder.js';

/** What says where the master secrets of signed urls are. */
export interface MasterOptions {
  signingSecret?: readonly string[];
  databaseUrl?: string;
  dataDir: string;
}

/** The file that holds the master secret where no variable does. */
export const masterFile = 'signing-secret';

const inPlace = 'HELPER_SIGNING_SECRET can take its place.';
const shape = /^[\x21-\x7e]{32,1024}$/;

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
    throw new Error(`The signing secret ${file} cannot be read (${error.code}). ${inPlace}`);
  });
  if (text === undefined) return undefined;
  const secret = text.trim();
  if (shape.test(secret)) return secret;
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
      await giveTo(dataDir, handle);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await link(aside, file).catch((error) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } catch (error) {
    const { code = 'unknown reason' } = error as NodeJS.ErrnoException;
    throw new Error(`The signing secret ${file} cannot be written (${code}). ${inPlace}`, { cause: error });
  } finally {
    await rm(aside, { force: true });
  }
  const made = await readMaster(file);
  if (made === undefined) throw new Error(`The signing secret ${file} is a link to a file that is missing.`);
  return made;
}

/** Root's commands make what a gateway of another user, whose folder it is, has to read; SQLite does so with its own files. */
async function giveTo(dataDir: string, handle: FileHandle): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await stat(dataDir);
  await handle.chown(uid, gid);
}
