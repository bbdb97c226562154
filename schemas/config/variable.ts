import type { Config } from '../config.js';
import type { ReadSetting } from './forms.js';

/** One environment variable: the table from which configuration, messages and documentation come. */
export interface Variable {
  name: string;
  setting: keyof Config;
  /** As it would be written in the environment; undefined where it is optional or counted at the start. */
  default?: string;
  /** What is wanted, as messages end: `must be …`. */
  form: string;
  read: ReadSetting;
  description: string;
}

/** Writes an entry of the table. */
export function v(
  name: string,
  setting: keyof Config,
  preset: string | undefined,
  form: string,
  read: ReadSetting,
  description: string,
): Variable {
  return { name, setting, ...(preset === undefined ? {} : { default: preset }), form, read, description };
}
