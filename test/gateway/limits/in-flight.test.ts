import { expect } from 'chai';
import { createInFlight } from '../../../gateway/limits/in-flight.js';
import { tenantWith } from './gateways.js';

describe('tasks in flight', () => {
  it('refuses what passes the limit until a place is given back', () => {
    const inFlight = createInFlight();
    const tenant = tenantWith({ inFlight: 2 });
    const leave = inFlight.enter(tenant);
    inFlight.enter(tenant);
    expect(inFlight.enter(tenant)).to.equal(undefined);
    leave?.();
    expect(inFlight.enter(tenant)).to.be.a('function');
  });

  it('gives a place back once', () => {
    const inFlight = createInFlight();
    const tenant = tenantWith({ inFlight: 2 });
    const leave = inFlight.enter(tenant);
    inFlight.enter(tenant);
    leave?.();
    leave?.();
    expect(inFlight.count(tenant.id)).to.equal(1);
  });

  it('keeps tenants apart, and lets one without a limit in always', () => {
    const inFlight = createInFlight();
    const limited = tenantWith({ inFlight: 0 });
    const free = tenantWith({});
    expect(inFlight.enter(limited)).to.equal(undefined);
    for (let place = 0; place < 100; place += 1) expect(inFlight.enter(free)).to.be.a('function');
    expect(inFlight.count(free.id)).to.equal(100);
  });
});
