import { EventEmitter } from 'node:events';
import type { TLSSocket } from 'node:tls';
import { expect } from 'chai';
import { createSessions } from '../../../gateway/source/sessions.js';

const owner = { tenant: 'a', origin: 'https://example.com' };
const ticket = Buffer.from('ticket');

/** As much of a TLS socket as matters here. */
function handshake(resumed = false) {
  const socket = new EventEmitter();
  return Object.assign(socket, { isSessionReused: () => resumed }) as unknown as TLSSocket;
}

describe('createSessions', () => {
  it('remembers a session once the certificate has been checked, whenever it came', () => {
    for (const order of [
      ['session', 'secureConnect'],
      ['secureConnect', 'session'],
    ]) {
      const sessions = createSessions();
      const socket = handshake();
      sessions.watch(owner, socket, undefined);
      socket.emit(order[0] ?? '', ticket);
      expect(sessions.find(owner)).to.equal(undefined);
      socket.emit(order[1] ?? '', ticket);
      expect(sessions.find(owner)?.ticket).to.equal(ticket);
    }
  });

  it('remembers the last that came, if it is no longer than 16 KB', () => {
    const sessions = createSessions();
    const socket = handshake();
    sessions.watch(owner, socket, undefined);
    socket.emit('secureConnect');
    socket.emit('session', Buffer.from('earlier'));
    socket.emit('session', ticket);
    expect(sessions.find(owner)?.ticket).to.equal(ticket);
    socket.emit('session', Buffer.alloc(20_000));
    expect(sessions.find(owner)).to.equal(undefined);
  });

  it('lets one that came of another live no longer than that, which is five minutes', () => {
    const sessions = createSessions();
    const renew = (checkedAt: number, resumed: boolean) => {
      const socket = handshake(resumed);
      sessions.watch(owner, socket, { ticket, checkedAt });
      socket.emit('secureConnect');
      socket.emit('session', ticket);
      return sessions.find(owner);
    };
    const fourMinutesAgo = performance.now() - 4 * 60_000;
    expect(renew(fourMinutesAgo, true)?.checkedAt).to.equal(fourMinutesAgo);
    expect(renew(performance.now() - 6 * 60_000, true)).to.equal(undefined);
    expect(renew(fourMinutesAgo, false)?.checkedAt).to.be.above(fourMinutesAgo);
  });

  it('holds 4 MB in whole', () => {
    const sessions = createSessions();
    const owners = Array.from({ length: 600 }, (_, index) => ({ ...owner, tenant: String(index) }));
    for (const each of owners) {
      const socket = handshake();
      sessions.watch(each, socket, undefined);
      socket.emit('secureConnect');
      socket.emit('session', Buffer.alloc(10_000));
    }
    expect(owners.filter((each) => sessions.find(each))).to.deep.equal(owners.slice(-419));
  });
});
