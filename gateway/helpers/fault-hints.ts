import type { Thrown } from '../../pool/thrown.js';

/** Whose time it was that was up, for the author of a helper, after what callers read; empty where it is not known how long it was. */
export function timeHint(cause: unknown): string {
  const { ms } = (cause ?? {}) as { ms?: unknown };
  if (typeof ms !== 'number') return '';
  const whose = 'timeoutMs of its declaration, else HELPER_TASK_TIMEOUT_MS';
  return ` It had worked for ${Math.round(ms)} ms; ${whose}, says how long it may.`;
}

/** Of a thread that is gone nothing tells why; there is one usual reason. */
export function exitHint({ causes = [] }: Pick<Thrown, 'causes'>): string {
  return causes.some(({ message }) => message.startsWith('worker exited with code'))
    ? '; a plugin must not call process.exit'
    : '';
}
