import { userInfo } from 'node:os';

import type { KeyAdmin } from '../keys/admin.js';
import { type Answer, answer, type JsonOption, type Terminal } from './output.js';
import { asTyped } from './typed.js';

/** What the commands work on; opened by each command, and closed at its end. */
export interface OpenedKeys {
  admin: KeyAdmin;
  /** The ids of all helpers. */
  services: readonly string[];
  close(): Promise<void>;
}

export interface OpenOptions {
  /** Whether the command derives signing secrets. */
  signs?: boolean;
}

export type OpenKeys = (options?: OpenOptions) => Promise<OpenedKeys>;

/** Opens the keys, does the work, closes them and prints the answer. */
export async function withKeys(
  open: OpenKeys,
  terminal: Terminal,
  options: JsonOption & OpenOptions,
  work: (admin: KeyAdmin, actor: string, services: readonly string[]) => Promise<Answer>,
): Promise<void> {
  await answer(terminal, options.json === true, async () => {
    const { admin, services, close } = await open({ signs: options.signs === true });
    try {
      return await work(admin, actorName(), services);
    } catch (error) {
      throw asTyped(error, options.json === true);
    } finally {
      await close();
    }
  });
}

/** Who the audit log names for what is done on the command line. */
export function actorName(): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    // A container's user may have a number and no name.
    return `cli:${process.getuid?.() ?? 'unknown'}`;
  }
}
