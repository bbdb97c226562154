import { readBytes, readNumber } from './forms.js';
import { type Variable, v } from './variable.js';

const heldSize = 'a number of bytes, at most 1024 GB, such as 268435456, 256MB or 1GB';

/** The variables that bound what arrives and what leaves. */
export const flowVariables: readonly Variable[] = [
  v(
    'HELPER_ARRIVING',
    'arriving',
    '2000',
    'a whole number from 2 to 100000',
    readNumber,
    'Bodies and downloads on their way at a time; a tenant may have half of them.',
  ),
  v(
    'HELPER_INPUT_BYTES',
    'inputBytes',
    '256MB',
    heldSize,
    readBytes,
    'Memory for bodies and downloads, on their way and waiting; a tenant may hold half.',
  ),
  v(
    'HELPER_OUTPUT_BYTES',
    'outputBytes',
    '256MB',
    heldSize,
    readBytes,
    'Memory for answers that clients have not taken yet; a tenant may hold half.',
  ),
];
