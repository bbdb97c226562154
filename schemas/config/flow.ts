import { bytes, integer } from './numbers.js';
import type { Variables } from './variable.js';

const held = bytes({ max: 1024 ** 4, such: '268435456, 256MB or 1GB' });

/** The variables that bound what arrives and what leaves. */
export const flowVariables = {
  arriving: {
    name: 'HELPER_ARRIVING',
    reader: 'flow',
    form: integer({ min: 2, max: 100_000 }),
    default: '2000',
    description: 'Bodies and downloads on their way at a time; a tenant may have half of them.',
  },
  inputBytes: {
    name: 'HELPER_INPUT_BYTES',
    reader: 'flow',
    form: held,
    default: '256MB',
    description: 'Memory for bodies and downloads, on their way and waiting; a tenant may hold half.',
  },
  outputBytes: {
    name: 'HELPER_OUTPUT_BYTES',
    reader: 'flow',
    form: held,
    default: '256MB',
    description: 'Memory for answers that clients have not taken yet; a tenant may hold half.',
  },
} satisfies Variables;
