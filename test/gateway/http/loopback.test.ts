import { expect } from 'chai';
import { isLoopbackAddress, isLoopbackHost } from '../../../gateway/http/loopback.js';

describe('loopback', () => {
  it('is told of addresses, and of nothing else', () => {
    for (const address of ['127.0.0.1', '127.255.0.9', '::1', '::ffff:127.0.0.1']) {
      expect(isLoopbackAddress(address), address).to.equal(true);
    }
    // A socket that is closed has none.
    for (const address of ['', 'localhost', '10.0.0.1', '0.0.0.0', '::', '::2', '::ffff:10.0.0.1', '127.1']) {
      expect(isLoopbackAddress(address), address).to.equal(false);
    }
  });

  it('is told of host names as URL gives them', () => {
    const hosts = ['localhost', 'keys.localhost', '127.0.0.1', '[::1]', '127.1', '[::ffff:127.0.0.1]'];
    for (const host of hosts) expect(isLoopbackHost(new URL(`http://${host}`).hostname), host).to.equal(true);
    for (const host of ['localhost.example', 'notlocalhost', '10.0.0.1', '[::2]', '127.0.0.1.example']) {
      expect(isLoopbackHost(new URL(`http://${host}`).hostname), host).to.equal(false);
    }
  });
});
