import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'chai';
import type { ToProcess } from '../../../gateway/supervisor/messages.js';
import { createPorts } from '../../../gateway/supervisor/ports.js';

describe('createPorts', () => {
  it('ends a connection that a process declines after the port was closed', async () => {
    const sent: ToProcess[] = [];
    const child = { send: (message: ToProcess) => sent.push(message) } as unknown as ChildProcess;
    let able = [child];
    const ports = createPorts(() => able);
    const url = await ports.open(child, 'api', { host: '127.0.0.1', port: 0 });
    const client = connect(Number(new URL(url ?? '').port), '127.0.0.1');
    const closed = once(client, 'close');
    while (sent.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const [message] = sent;
    able = [];
    ports.close('api');
    if (message?.kind !== 'connection') expect.fail(message?.kind);
    ports.accepted(message.id, false);
    await closed;
  });
});
