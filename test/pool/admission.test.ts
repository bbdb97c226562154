import { expect } from 'chai';
import { Admission, type Ticket } from '../../pool/admission.js';

function take(admission: Admission, tenant: string, evicted: string[] = [], weight = 1): Ticket | string {
  return admission.take(tenant, weight, () => evicted.push(tenant));
}

describe('Admission', () => {
  it('gives places until there are none, then says busy to a tenant that is alone', () => {
    const admission = new Admission(2);
    take(admission, 'a');
    take(admission, 'a');
    expect(take(admission, 'a')).to.equal('busy');
  });

  it('gives a released place to the next', () => {
    const admission = new Admission(1);
    const ticket = take(admission, 'a') as Ticket;
    ticket.release();
    ticket.release();
    expect(take(admission, 'b')).to.be.an('object');
    expect(admission.size).to.equal(1);
  });

  it('takes a waiting place from the largest holder for a tenant that has less', () => {
    const admission = new Admission(3);
    const evicted: string[] = [];
    for (let i = 0; i < 3; i += 1) take(admission, 'noisy', evicted);
    expect(take(admission, 'quiet', evicted)).to.be.an('object');
    expect(evicted).to.deep.equal(['noisy']);
    expect(admission.size).to.equal(3);
  });

  it('tells the largest holder that it is its own load', () => {
    const admission = new Admission(4);
    for (let i = 0; i < 3; i += 1) take(admission, 'noisy');
    take(admission, 'quiet');
    expect(take(admission, 'noisy')).to.equal('tenant_busy');
  });

  it('never takes a place whose work has started', () => {
    const admission = new Admission(2);
    const evicted: string[] = [];
    for (let i = 0; i < 2; i += 1) (take(admission, 'noisy', evicted) as Ticket).start();
    expect(take(admission, 'quiet', evicted)).to.equal('busy');
    expect(evicted).to.deep.equal([]);
  });

  it('counts a heavier tenant as holding less', () => {
    const admission = new Admission(4);
    const evicted: string[] = [];
    for (let i = 0; i < 2; i += 1) take(admission, 'light', evicted, 1);
    for (let i = 0; i < 2; i += 1) take(admission, 'heavy', evicted, 4);
    expect(take(admission, 'heavy', evicted, 4)).to.be.an('object');
    expect(evicted).to.deep.equal(['light']);
  });
});
