import { expect } from 'chai';
import { judgeHostName } from '../../../gateway/source/host-name.js';

describe('judgeHostName', () => {
  const inside = [
    'localhost',
    'localhost.',
    'a.localhost',
    'a.localhost.',
    'printer.local',
    'metadata.google.internal',
    'metadata.google.internal.',
    'nas.home.arpa',
    'a.onion',
    'a.alt',
    'localhost.localdomain',
    'intranet',
    'com',
    'com.',
    'a..b',
    '.a.b',
    'a.b..',
    `${'a'.repeat(64)}.com`,
    `${'a.'.repeat(140)}com`,
  ];
  for (const name of inside) {
    it(`refuses ${name.slice(0, 40)}`, () => expect(judgeHostName(name)).to.be.a('string'));
  }

  for (const name of [
    'example.com',
    'example.com.',
    'notlocalhost.com',
    'local.example.com',
    'mylocal.org',
    'arpa.com',
    'xn--bcher-kva.example',
  ]) {
    it(`leaves ${name} to its addresses`, () => expect(judgeHostName(name)).to.equal(undefined));
  }
});
