import { expect } from 'chai';
import fc from 'fast-check';
import { localPath } from '../../../../gateway/site/pages/sign-in.js';

describe('site/pages: the way back after signing in', () => {
  it('keeps a path with its query', () => {
    expect(localPath('/tenants/acme/usage?days=7')).to.equal('/tenants/acme/usage?days=7');
  });

  it('drops what is no path', () => {
    for (const text of [
      undefined,
      '',
      'tenants',
      'https://evil.example',
      'javascript:alert(1)',
      `/${'a'.repeat(500)}`,
    ]) {
      expect(localPath(text)).to.equal(undefined);
    }
  });

  it('never leads to another site, however it is written', () => {
    const part = fc.constantFrom(
      '/',
      '\\',
      '\t',
      '\n',
      '\r',
      '.',
      '..',
      '@',
      ':',
      '%2f',
      '%5c',
      'evil.example',
      '?',
      '#',
      ' ',
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(part, fc.string())), (parts) => {
        const path = localPath(`/${parts.join('')}`);
        if (path === undefined) return;
        expect(new URL(path, 'https://site.example').origin).to.equal('https://site.example');
        expect(path).to.match(/^\/(?![/\\])/);
      }),
    );
  });
});
