import { expect } from 'chai';
import type { KeyVerdict } from '../../../gateway/keys/verifier.js';
import { rejection } from './key-store-contract.js';
import { createVerifierWorld, startTime, type VerifierWorld } from './verifier-world.js';

describe('keys/verifier, of what is signed', () => {
  let world: VerifierWorld;
  let id: string;
  beforeEach(async () => {
    world = await createVerifierWorld();
    ({ id } = await world.admin.issueKey('acme', { scopes: ['text/*'] }, 'ann'));
  });
  afterEach(() => world.close());

  /** Judged as if it was signed by this version of the key's signing secret. */
  const verify = async (by = 1, kid = id): Promise<KeyVerdict> =>
    world.verifier.verifySigned(kid, (version) => version === by);
  const state = async (by = 1, kid = id) => (await verify(by, kid)).state;

  it('tells whose key signed and what it may do, from one read', async () => {
    await world.verifier.refresh();
    const { reads } = world.store;
    const began = reads();
    const verdict = await verify();
    expect(verdict).to.deep.include({ state: 'active', key: { id, label: null, scopes: ['text/*'] } });
    expect(verdict).to.have.nested.property('tenant.name', 'acme');
    await Promise.all(Array.from({ length: 50 }, () => verify()));
    await world.pass(10_000);
    expect(await state()).to.equal('active');
    expect(reads()).to.equal(began + 1);
  });

  it('tells nothing of a key that did not sign', async () => {
    await world.admin.revokeKey(id, 'ann');
    expect(await state(9)).to.equal('unknown');
    expect(await state(1)).to.equal('revoked');
    expect(await state(1, 'key_nobody')).to.equal('unknown');
    expect(await state(1, 'no id')).to.equal('malformed');
  });

  it('minds no rotation of the key, with a grace or without', async () => {
    expect(await state()).to.equal('active');
    await world.admin.rotateKey(id, { grace_seconds: 0 }, 'ann');
    await world.elsewhere.rotateKey(id, {}, 'ann');
    await world.pass(100_000);
    expect(await state()).to.equal('active');
  });

  it('ends what was signed with its own process’s rotation at once, and another’s by the next poll', async () => {
    await state();
    await world.admin.rotateSigning(id, 'ann');
    expect([await state(1), await state(2)]).to.deep.equal(['unknown', 'active']);
    await world.elsewhere.rotateSigning(id, 'ann');
    expect(await state(2)).to.equal('active');
    await world.verifier.refresh();
    expect([await state(2), await state(3)]).to.deep.equal(['unknown', 'active']);
  });

  it('takes the new secret of another process at once, though the feed has not told of it', async () => {
    await state();
    await world.elsewhere.rotateSigning(id, 'ann');
    expect(await state(2)).to.equal('active');
    expect(await state(1)).to.equal('unknown');
  });

  it('does not take a read for new that began before the rotation', async () => {
    await state();
    await world.verifier.refresh();
    await state();
    const release = world.store.holdAnswers();
    world.elapsed += 4_000;
    const early = verify(1);
    await world.store.held();
    // What is cached is believed again, while that read still goes on.
    await world.verifier.refresh();
    await world.elsewhere.rotateSigning(id, 'ann');
    const late = verify(2);
    release();
    await early;
    expect((await late).state).to.equal('active');
  });

  it('reads nothing for a flood of wrong signatures by a key that it knows', async () => {
    await state();
    const before = world.store.reads();
    for (let n = 0; n < 100; n += 1) expect(await state(7)).to.equal('unknown');
    expect(world.store.reads()).to.equal(before);
  });

  it('revokes at once here, and by the next poll what another process did', async () => {
    await state();
    await world.elsewhere.revokeKey(id, 'ann');
    await world.verifier.refresh();
    expect(await state()).to.equal('revoked');
  });

  it('expires with the key', async () => {
    const expires_at = new Date(startTime + 5_000).toISOString();
    const issued = await world.admin.issueKey('acme', { expires_at }, 'ann');
    expect(await state(1, issued.id)).to.equal('active');
    await world.pass(5_000);
    expect(await state(1, issued.id)).to.equal('expired');
  });

  it('does not rely on polls that do not come: after three seconds it looks for itself', async () => {
    await state();
    await world.elsewhere.revokeKey(id, 'ann');
    world.elapsed += 3_001;
    expect(await state()).to.equal('revoked');
  });

  it('goes on for five minutes without a database, with the keys it knows', async () => {
    await state();
    world.store.fail(true);
    await world.pass(300_000);
    expect(await state()).to.equal('active');
    expect(await rejection(verify(1, 'key_nobody'))).to.include({ code: 'keys_unavailable' });
    await world.pass(1_000);
    expect(await rejection(verify())).to.include({ code: 'keys_unavailable' });
    world.store.fail(false);
    await world.pass(1_000);
    expect(await state()).to.equal('active');
  });

  it('keeps good keys through a flood of invented ids, in few reads', async () => {
    await state();
    const before = world.store.reads();
    const flood = Array.from({ length: 4_000 }, (_, n) => state(1, `key_invented${n}`));
    expect(new Set(await Promise.all(flood))).to.deep.equal(new Set(['unknown']));
    const read = world.store.reads();
    expect(read - before).to.be.at.most(41);
    expect([await state(), await state(1, 'key_invented3999')]).to.deep.equal(['active', 'unknown']);
    expect(world.store.reads()).to.equal(read);
  });

  it('notes that the key was used', async () => {
    await state();
    await state(5);
    world.wall += 7_000;
    await state();
    await world.verifier.close();
    expect((await world.store.key(id))?.last_used_at).to.equal(startTime + 7_000);
  });
});
