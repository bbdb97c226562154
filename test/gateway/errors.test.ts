import { expect } from 'chai';
import {
  errorTable,
  GatewayError,
  inputError,
  readHandlerError,
  toGatewayError,
} from '../../gateway/errors.js';
import { PoolError } from '../../pool/errors.js';
import { ImageError } from '../../pool/image/engine.js';

describe('what was thrown in the gateway', () => {
  it("is the pool's, in the table's words, with the time after which to come back", () => {
    const busy = { code: 'busy', status: 503, retryAfter: 7 };
    const thrown = new PoolError('busy', 'no place in the pool', { retryAfter: 7 });
    const error = toGatewayError(thrown);
    expect(error).to.include({ ...busy, message: errorTable.busy.message, cause: thrown });
    const exact = new PoolError('busy', 'text/x cannot be loaded', { retryAfter: 7, expose: true });
    expect(toGatewayError(exact)).to.include({ ...busy, message: 'text/x cannot be loaded' });
    expect(toGatewayError(new PoolError('internal', 'died'))).to.include({ code: 'internal' });
  });

  it("is a picture's, in its own words", () => {
    const said = { code: 'bad_image', message: 'A GIF that is none.' };
    expect(toGatewayError(new ImageError('bad_image', said.message))).to.include(said);
  });

  it('is a fault for all else, whatever code it bears', () => {
    const others = [undefined, null, 'text', new Error('x'), { code: 'ECONNRESET' }, { code: 'exists' }];
    for (const cause of others) expect(toGatewayError(cause)).to.include({ code: 'internal', cause });
  });
});

describe('the message of an error', () => {
  const width = { field: 'width', problem: 'must be an integer from 0 to 5000, but is 7.5' };
  const color = { field: 'color', problem: 'is required' };

  it('is the one problem of the input, else the table’s, where the thrower gives none', () => {
    const { invalid_input, source_refused } = errorTable;
    for (const [error, message] of [
      [inputError([width]), 'width must be an integer from 0 to 5000, but is 7.5'],
      [inputError([{ ...color, field: '*' }]), 'The input is required'],
      [inputError([width, color]), invalid_input.message],
      [readHandlerError({ code: 'invalid_input', details: [color] }), 'color is required'],
      [new GatewayError('invalid_input', { message: 'Own words.', details: [width] }), 'Own words.'],
      [new GatewayError('source_refused', { details: [width] }), source_refused.message],
    ] as const)
      expect(error.message).to.equal(message);
  });
});

describe('what a handler has thrown', () => {
  const details = [{ field: 'a', problem: 'must be b' }];
  const thrown = (code: string) => ({ code, message: 'own words', details });

  it('says that the input is at fault, or that it took too long, and nothing of the gateway', () => {
    const isOwn = (code: string) => readHandlerError(thrown(code)).code !== 'internal';
    const accepted = [...Object.keys(errorTable), 'result_too_large'].filter(isOwn).join(' ');
    expect(accepted).to.equal('invalid_input bad_image image_too_large helper_timeout result_too_large');
    expect(readHandlerError(thrown('result_too_large')).code).to.equal('too_large');
  });

  it('has the author’s words where they are exposed, and is a fault where they are not', () => {
    for (const [code, status] of [
      ['not_found', 404],
      ['conflict', 409],
      ['upstream_failed', 502],
    ] as const) {
      const exposed = readHandlerError({ ...thrown(code), expose: true });
      expect(exposed).to.include({ code, status, message: 'own words' });
      expect(readHandlerError(thrown(code))).to.include({ code: 'internal' });
    }
    const saying = (message: string) => readHandlerError({ code: 'conflict', message, expose: true }).message;
    expect(saying('x'.repeat(5000))).to.have.length(1002);
    expect(saying(' ')).to.equal(errorTable.conflict.message);
  });

  it('is the gateway’s own word where that is what it did not catch', () => {
    const refusal = { code: 'source_refused', message: 'not this one' };
    expect(readHandlerError(thrown('x'), refusal)).to.include({ status: 400, ...refusal });
    expect(readHandlerError(thrown('source_refused'))).to.include({ code: 'internal' });
    expect(readHandlerError(thrown('x'), { code: 'internal', message: 'x' }).message).to.equal(
      errorTable.internal.message,
    );
  });

  it('has the words of the table, of the error, or its details', () => {
    for (const [code, hasOwnWords, hasDetails] of [
      ['helper_timeout', false, false],
      ['bad_image', true, false],
      ['invalid_input', false, true],
    ] as const) {
      const error = readHandlerError(thrown(code));
      expect(error.message === 'own words', code).to.equal(hasOwnWords);
      expect(error.details !== undefined, code).to.equal(hasDetails);
    }
  });

  it('publishes of its details fields and problems, no longer than a person reads; others are a fault', () => {
    const read = (given: unknown) => readHandlerError({ code: 'invalid_input', details: given });
    const long = { field: 'a', problem: 'x'.repeat(5000), stack: 'at home' };
    expect(read([long]).details).to.deep.equal([{ field: 'a', problem: `${'x'.repeat(1000)} …` }]);
    for (const bad of [undefined, {}, [null], [{ field: 1, problem: 'x' }]])
      expect(read(bad)).to.include({ code: 'internal' });
  });
});
