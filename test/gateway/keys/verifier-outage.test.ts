import { expect } from 'chai';

import { createKey } from '../../../gateway/keys/key-format.js';
import { createKeyVerifier } from '../../../gateway/keys/verifier.js';
import { rejection } from './key-store-contract.js';
import { createVerifierWorld, type VerifierWorld } from './verifier-world.js';

const minute = 60_000;

describe('keys/verifier, while the database is down', () => {
  let world: VerifierWorld;
  beforeEach(async () => {
    world = await createVerifierWorld();
  });
  afterEach(() => world.close());

  it('goes on for five minutes with the keys it knows, and says so once', async () => {
    const { key } = await world.admin.issueKey('acme', {}, 'ann');
    await world.state(key);
    world.store.fail(true);
    await world.pass(5 * minute);
    expect(await world.state(key)).to.equal('active');
    await world.pass(1_000);
    expect(await world.failure(key)).to.equal('keys_unavailable');
    world.store.fail(false);
    await world.pass(1_000);
    expect(await world.state(key)).to.equal('active');
    expect(world.log).to.deep.equal(['down', 'up']);
    expect(world.verifier.available()).to.equal(true);
  });

  it('knows a key that was in use when something about it changed', async () => {
    const { id, key } = await world.admin.issueKey('acme', {}, 'ann');
    await world.state(key);
    await world.elsewhere.setLimits('acme', { rate: 9 }, 'ann');
    const { key: second } = await world.elsewhere.rotateKey(id, {}, 'ann');
    await world.state(second);
    await world.verifier.refresh();
    await new Promise(setImmediate);
    world.store.fail(true);
    expect(await world.verifier.verify(key)).to.have.nested.property('tenant.limits.rate', 9);
    expect(await world.state(second)).to.equal('active');
  });

  it('never believes a key that it knows to have changed and could not read again', async () => {
    const { id, key } = await world.admin.issueKey('acme', {}, 'ann');
    await world.state(key);
    await world.elsewhere.revokeKey(id, 'ann');
    world.store.failLookups(true);
    await world.verifier.refresh();
    expect(await world.failure(key)).to.equal('keys_unavailable');
  });

  it('never says unknown, not even of a key that was unknown before', async () => {
    const stranger = createKey();
    await world.state(stranger);
    world.store.fail(true);
    expect(await world.failure(createKey())).to.equal('keys_unavailable');
    expect(await world.failure(stranger)).to.equal('keys_unavailable');
    expect(await world.state('typo')).to.equal('malformed');
  });

  it('speaks of keys, and tells the reason to the log alone', async () => {
    world.store.fail(true);
    const error = await rejection(world.verifier.verify(createKey()));
    expect(error).to.include({ message: 'API keys cannot be checked at the moment.', retryAfter: 5 });
    expect(error).to.have.nested.property('cause.message').that.includes('ECONNREFUSED');
  });

  it('lets nobody wait for it', async () => {
    world.store.fail(true);
    await world.verifier.refresh();
    const before = world.store.reads();
    for (let n = 0; n < 20; n++) await world.failure(createKey());
    expect(world.store.reads()).to.equal(before);
  });

  it('still expires keys on time', async () => {
    const { key } = await world.admin.issueKey('acme', { expires_at: '2030-01-01T00:01:00Z' }, 'ann');
    await world.state(key);
    world.store.fail(true);
    await world.pass(minute);
    expect(await world.state(key)).to.equal('expired');
  });

  it('refuses a key revoked meanwhile as soon as it is back', async () => {
    const { id, key } = await world.admin.issueKey('acme', {}, 'ann');
    await world.state(key);
    world.store.fail(true);
    await world.pass(10_000);
    await world.elsewhere.revokeKey(id, 'ann');
    expect(await world.state(key)).to.equal('active');
    world.store.fail(false);
    await world.pass(1_000);
    expect(await world.state(key)).to.equal('revoked');
  });

  it('starts without it and finds its way when it comes', async () => {
    world.store.fail(true);
    const late = createKeyVerifier({ store: world.store, pollInterval: 5 });
    expect(((await rejection(late.verify(createKey()))) as { code: string }).code).to.equal(
      'keys_unavailable',
    );
    world.store.fail(false);
    await late.refresh();
    expect(await late.verify(createKey())).to.deep.equal({ state: 'unknown' });
    await late.close();
  });

  it('does not keep a known key waiting for a database that hangs', async () => {
    const { key } = await world.admin.issueKey('acme', {}, 'ann');
    await world.state(key);
    world.elapsed += 3_001;
    const release = world.store.hold();
    expect(await world.state(key)).to.equal('active');
    expect(world.log).to.deep.equal(['down']);
    release();
  });
});
