import type { Logger } from 'pino';
import type { DeclaredHelper } from '../../schemas/declared-helper.js';
import type { Config } from '../config.js';
import type { Registry } from './registry.js';

/** A figure of a declaration that is above what the operator allows: the operator's counts. */
export interface CutLimit {
  /** Its place in the declaration. */
  field: string;
  declared: number;
  most: number;
  /** Where the operator sets it. */
  variable: string;
}

/** What the operator allows. */
export type MostAllowed = Pick<Config, 'taskTimeoutMs' | 'maxImageBytes'>;

/** Which figures of a declaration are cut. */
export function cutLimits(
  { timeoutMs, files }: Pick<DeclaredHelper, 'timeoutMs' | 'files'>,
  { taskTimeoutMs, maxImageBytes }: MostAllowed,
): CutLimit[] {
  const asked = [
    { field: 'timeoutMs', declared: timeoutMs, most: taskTimeoutMs, variable: 'HELPER_TASK_TIMEOUT_MS' },
    ...files.map(({ field, maxBytes }) => ({
      field: `files.${field}.maxBytes`,
      declared: maxBytes,
      most: maxImageBytes,
      variable: 'HELPER_MAX_IMAGE_BYTES',
    })),
  ];
  return asked.filter((each): each is CutLimit => each.declared !== undefined && each.declared > each.most);
}

/** Says, at a start, which helpers ask for more than they get. */
export function logCutLimits(registry: Registry, most: MostAllowed, logger: Pick<Logger, 'warn'>): void {
  for (const { id: service, declaration } of registry.values()) {
    for (const cut of cutLimits(declaration, most)) {
      logger.warn({ service, ...cut }, `a helper asks for more than ${cut.variable} allows, and gets that`);
    }
  }
}
