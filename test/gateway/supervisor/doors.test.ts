import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'chai';
import { createDoors } from '../../../gateway/supervisor/doors.js';
import type { ToMember } from '../../../gateway/supervisor/messages.js';

describe('createDoors', () => {
  it('ends a connection that a process declines after the port was closed', async () => {
    const sent: ToMember[] = [];
    const child = { send: (message: ToMember) => sent.push(message) } as unknown as ChildProcess;
    let able = [child];
    const doors = createDoors(() => able);
    const { hostname, port } = new URL(await doors.open('api', { host: '127.0.0.1', port: 0 }));
    const client = connect({ host: hostname, port: Number(port) });
    const closed = once(client, 'close');
    while (sent.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const [message] = sent;
    able = [];
    doors.close('api');
    if (message?.kind !== 'connection') expect.fail(message?.kind);
    doors.accepted(message.id, false);
    await closed;
  });
});
