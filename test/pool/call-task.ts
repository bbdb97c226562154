import { pathToFileURL } from 'node:url';
import type { CallTask } from '../../pool/task.js';
import { fixture } from '../fixtures.js';

/** A call of one of the pool's fixture plugins. */
export function callTask(plugin: string, input: Record<string, unknown> = {}): CallTask {
  return {
    kind: 'call',
    plugin: pathToFileURL(fixture(`plugins/pool/${plugin}.mjs`)).href,
    does: 'handler',
    input,
    context: { service: plugin, request_id: 'r' },
  };
}
