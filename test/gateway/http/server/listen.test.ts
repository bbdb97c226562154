import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { listen } from '../../../../gateway/http/server/listen.js';

describe('listen', () => {
  it('gives the url of the port that was free', async () => {
    const server = createServer();
    const url = await listen(server, { host: '127.0.0.1', port: 0, variable: 'PORT' });
    expect(url).to.equal(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.close();
  });

  it('names the variable of a port that is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    for (const variable of ['PORT', 'CONNECT_PORT']) {
      const error = await listen(createServer(), { host: '127.0.0.1', port, variable }).catch(
        (thrown) => thrown,
      );
      expect(error.message).to.equal(
        `Cannot listen on 127.0.0.1:${port}: something listens there already. Choose another port with ${variable}.`,
      );
    }
    other.close();
  });

  it('says that a machine has no such address', async () => {
    const error = await listen(createServer(), { host: '192.0.2.1', port: 0, variable: 'PORT' }).catch(
      (thrown) => thrown,
    );
    expect(error.message).to.equal('Cannot listen on 192.0.2.1:0: this machine has no such address.');
  });
});
