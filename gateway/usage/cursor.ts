import { inputError } from '../errors.js';

/** Where a page of usage ends. */
export interface UsageCursor {
  day: string;
  key: string;
  service: string;
}

/** Opaque to whoever gets it: its form may change. */
export function formatCursor({ day, key, service }: UsageCursor): string {
  return Buffer.from(JSON.stringify([day, key, service])).toString('base64url');
}

/** Reads what `formatCursor` wrote; throws `invalid_input` naming `after` for anything else. */
export function parseCursor(text: string): UsageCursor {
  try {
    const parts: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (Array.isArray(parts) && parts.length === 3) {
      const [day, key, service] = parts;
      // NUL is legal JSON, and an error in PostgreSQL.
      const sound = [day, key, service].every((part) => typeof part === 'string' && !part.includes('\0'));
      if (sound) return { day, key, service };
    }
  } catch {
    // Not JSON: answered below as any other text that is no cursor.
  }
  throw inputError([{ field: 'after', problem: 'must be the next of the page before, unchanged' }]);
}
