import { resolve } from 'node:path';
import { expect } from 'chai';
import { greeting } from '../../../gateway/commands/greeting.js';
import type { Gateway } from '../../../gateway/gateway.js';

function started(parts: Partial<Gateway>): Gateway {
  return {
    url: 'http://127.0.0.1:8080',
    connectUrl: 'http://127.0.0.1:8081',
    registry: new Map([['text/x', { id: 'text/x', declaration: { summary: 'X.' } }]]),
    engine: { engine: 'sharp' },
    firstKey: undefined,
    demoTenant: undefined,
    firstOperator: undefined,
    ...parts,
  } as Gateway;
}

const first = {
  firstKey: { tenant: 'demo', id: 'key_1', key: 'hg_abc' },
  demoTenant: 'demo',
  firstOperator: { email: 'operator@gateway.local', password: 'pass-word' },
};
const embedded = { dataDir: '.data' };

describe('the greeting', () => {
  it('shows the first key and sign-in, and says nothing of new ones', () => {
    expect(greeting(started(first), embedded))
      .to.include('hg_abc')
      .and.include('pass-word')
      .and.not.match(/keys issue|operator reset/);
  });

  it('says on a later start how to get a key and into the site', () => {
    expect(greeting(started({ demoTenant: 'demo' }), embedded))
      .to.match(/npx helper-gateway keys issue demo\n/)
      .and.match(/npx helper-gateway operator reset\n/);
  });

  it('lets no plugin control the terminal', () => {
    const declaration = { summary: '\u001b]0;title\u0007\u009b31m' };
    const registry = new Map([['text/x', { id: 'text/x', declaration }]]) as unknown as Gateway['registry'];
    expect(greeting(started({ registry }), embedded)).to.include('\\u{1b}]0;title\\u{7}\\u{9b}31m');
  });

  it('names no tenant that is not there', () => {
    expect(greeting(started({}), embedded)).to.match(/npx helper-gateway keys issue TENANT\n/);
  });

  it('says where the database lies, and never its address', () => {
    expect(greeting(started(first), embedded)).to.include(` ${resolve('.data')}.\n`);
    const databaseUrl = 'postgres://user:secret@db.example/gateway';
    expect(greeting(started(first), { ...embedded, databaseUrl }))
      .to.include('PostgreSQL')
      .and.not.include('secret');
  });
});
