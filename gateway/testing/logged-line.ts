import type { LogLine } from '../../pool/context/messages.js';
import { levelName } from '../helpers/helper-log.js';
import type { LoggedLine } from './types.js';

/** A line of a handler's log as a test reads it. */
export function readLine({ text }: LogLine): LoggedLine {
  const { level, ...fields } = JSON.parse(text) as Record<string, unknown>;
  return { level: levelName(level), ...fields };
}
