import { Ajv } from 'ajv';
import { expect } from 'chai';
import { failureSchema, successSchema } from '../../../../gateway/docs/openapi/responses.js';

const meta = { service: 'text/a', dryrun: false, request_id: '1' };
const ajv = new Ajv({ strict: true, allowUnionTypes: true });

describe('the envelope’s schemas', () => {
  const success = ajv.compile(successSchema({ type: 'object' }));
  const failure = ajv.compile(failureSchema);
  const error = { code: 'invalid_input', message: 'No.', details: [{ field: 'a', problem: 'is required' }] };

  it('know a success', () => {
    expect(success({ ok: true, data: {}, meta })).to.equal(true);
    expect(success({ ok: true, data: [], meta })).to.equal(false);
    expect(success({ ok: false, data: {}, meta })).to.equal(false);
    expect(success({ ok: true, data: {}, meta: { ...meta, extra: 1 } })).to.equal(false);
  });

  it('know a failure, also where no helper is', () => {
    expect(failure({ ok: false, error, meta: { ...meta, service: null } })).to.equal(true);
    expect(failure({ ok: false, error: { ...error, details: undefined, stack: '' }, meta })).to.equal(false);
    expect(failure({ ok: false, error: { message: 'No.' }, meta })).to.equal(false);
  });
});
