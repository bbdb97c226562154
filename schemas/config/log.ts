import { choice } from './texts.js';
import type { Variables } from './variable.js';

/** The variables of the log. */
export const logVariables = {
  logLevel: {
    name: 'LOG_LEVEL',
    reader: 'log',
    form: choice('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    default: 'info',
    description: 'Least level that is logged.',
  },
} satisfies Variables;
