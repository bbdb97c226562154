import { expect } from 'chai';
import { hostProblem } from '../../../../gateway/mcp/http/host-verdict.js';

const known = {
  host: '0.0.0.0',
  apiUrl: 'https://api.example.com:8443/x',
  corsOrigins: ['https://app.example'],
};

describe('the host and origin of agents', () => {
  const isRefused = (host: string, origin = '', by = known) =>
    hostProblem({ host, origin }, by) !== undefined;

  for (const host of [
    'localhost',
    'LOCALHOST:8080',
    '127.0.0.1:8080',
    '[::1]:8080',
    '192.168.1.7',
    'api.example.com',
  ]) {
    it(`are known: ${host}`, () => {
      expect(isRefused(host)).to.equal(false);
    });
  }

  for (const host of [
    '',
    'evil.example',
    'evil.example:8080',
    'localhost.evil.example',
    'a@localhost',
    'localhost/x',
    'local host',
    '127.0.0.1.nip.io',
  ]) {
    it(`are foreign: ${JSON.stringify(host)}`, () => {
      expect(isRefused(host)).to.equal(true);
    });
  }

  it('may be the name that the gateway listens on', () => {
    expect(isRefused('gateway.internal', '', { ...known, host: 'gateway.internal' })).to.equal(false);
  });

  it('may be a page of its own, or one that may call the API', () => {
    for (const origin of ['http://localhost:8080', 'https://api.example.com:8443', 'https://app.example']) {
      expect(isRefused('localhost:8080', origin), origin).to.equal(false);
    }
    for (const origin of [
      'http://localhost:3000',
      'http://evil.example',
      'null',
      'https://app.example.evil',
    ]) {
      expect(isRefused('localhost:8080', origin), origin).to.equal(true);
    }
    expect(isRefused('localhost', 'http://any.example', { ...known, corsOrigins: ['*'] })).to.equal(false);
  });

  it('are named where they are refused, with the variable that would help', () => {
    expect(hostProblem({ host: 'evil.example', origin: '' }, known)).to.match(
      /"evil\.example".*HELPER_API_URL/,
    );
    expect(hostProblem({ host: 'localhost', origin: 'http://evil.example' }, known)).to.match(
      /"http:\/\/evil\.example".*HELPER_CORS_ORIGINS/,
    );
  });
});
